package unsaferow

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow/decimal128"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// The tests of this file go through the checkpoints of real Spark versions. So
// that they depend on nothing but this package, they bring a small reader of
// state files with them: LZ4 blocks, records, schema files of version 2.

func corpus(t testing.TB) string {
	root := filepath.Join("..", "..", "..", "shared", "corpus")
	if _, err := os.Stat(root); err != nil {
		t.Skip("../shared/corpus is not beside the module: no rows of real checkpoints to read")
	}
	return root
}

// record is a put or, without a value, a removal.
type record struct{ key, value []byte }

var errNotLZ4 = errors.New("not LZ4 blocks")

func readStateFile(path string) ([]record, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var body []byte
	for len(b) > 0 {
		if len(b) < 21 || string(b[:8]) != "LZ4Block" {
			return nil, errNotLZ4
		}
		stored, size := int(binary.LittleEndian.Uint32(b[9:])), int(binary.LittleEndian.Uint32(b[13:]))
		block := b[21 : 21+stored]
		if b[8]>>4 == 2 {
			out := make([]byte, size)
			if _, err := lz4.UncompressBlock(block, out); err != nil {
				return nil, err
			}
			block = out
		}
		body, b = append(body, block...), b[21+stored:]
	}
	next := func() []byte {
		n := int(int32(binary.BigEndian.Uint32(body)))
		body = body[4:]
		if n < 0 {
			return nil
		}
		out := body[:n:n]
		body = body[n:]
		return out
	}
	var out []record
	for {
		key := next()
		if key == nil {
			return out, nil
		}
		out = append(out, record{key, next()})
	}
}

// readSchema reads the key's and the value's schema.
func readSchema(path string) (key, value *sqltype.Type, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	b, ok := bytes.CutPrefix(b, []byte("\x00\x02v2"))
	if !ok {
		return nil, nil, errors.New("not version 2")
	}
	next := func() (*sqltype.Type, error) {
		n := int(binary.BigEndian.Uint32(b))
		b = b[4:]
		var text []byte
		for range n {
			size := int(binary.BigEndian.Uint16(b))
			text, b = append(text, b[2:2+size]...), b[2+size:]
		}
		return sqltype.ParseJSON(text)
	}
	if key, err = next(); err != nil {
		return nil, nil, err
	}
	value, err = next()
	return key, value, err
}

// store is one store of a checkpoint in the corpus.
type store struct {
	root, name string // of the case; path of the store below state
	dirs       map[int]string
	key, value *sqltype.Type
}

// stores finds the stores of the HDFS-backed provider that a test can read: with
// a schema, without row checksums.
func stores(t testing.TB) []store {
	var out []store
	root := corpus(t)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "schema" || strings.Contains(path, "rocksdb") || strings.Contains(path, "row_checksum") {
			return err
		}
		key, value, err := readSchema(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		dir := filepath.Dir(filepath.Dir(path)) // …/ckpt/state/OP/0[/STORE]
		rel, err := filepath.Rel(root, dir)
		if err != nil {
			return err
		}
		parts := strings.Split(filepath.ToSlash(rel), "/")
		s := store{root: filepath.Join(root, parts[0], parts[1]), dirs: map[int]string{}, key: key, value: value}
		sub := filepath.Join(parts[6:]...)
		s.name = filepath.Join(parts[4], sub)
		for p := range 1000 {
			dir := filepath.Join(root, filepath.Join(parts[:5]...), strconv.Itoa(p), sub)
			if _, err := os.Stat(dir); err == nil {
				s.dirs[p] = dir
			}
		}
		if strings.HasSuffix(parts[1], "fmgws_v1") {
			// Format 1 declares the timeout an integer and stores a long.
			fields := slices.Clone(value.Fields)
			fields[len(fields)-1].Type = &sqltype.Type{Kind: sqltype.Long}
			s.value = &sqltype.Type{Kind: sqltype.Struct, Fields: fields}
		}
		out = append(out, s)
		return nil
	})
	require.NoError(t, err)
	return out
}

var stateFile = regexp.MustCompile(`^(\d+)\.(delta|snapshot)$`)

// TestCorpusRoundTrip decodes every key and every value of all delta and
// snapshot files, and writes them again: the bytes are the same.
func TestCorpusRoundTrip(t *testing.T) {
	files, rows, distinct := 0, 0, 0
	for _, s := range stores(t) {
		seen := map[string]*sqltype.Type{}
		for _, dir := range s.dirs {
			names, err := os.ReadDir(dir)
			require.NoError(t, err)
			for _, n := range names {
				if !stateFile.MatchString(n.Name()) {
					continue
				}
				records, err := readStateFile(filepath.Join(dir, n.Name()))
				if errors.Is(err, errNotLZ4) {
					continue
				}
				require.NoError(t, err)
				files++
				var keys, values [][]byte
				for _, r := range records {
					keys = append(keys, r.key)
					seen[string(r.key)] = s.key
					if r.value != nil {
						values = append(values, r.value)
						seen[string(r.value)] = s.value
					}
				}
				rows += len(keys) + len(values)
				for _, side := range []struct {
					typ  *sqltype.Type
					rows [][]byte
				}{{s.key, keys}, {s.value, values}} {
					got, stats, err := decode(t, side.typ, side.rows...)
					require.NoError(t, err, "%s/%s", dir, n.Name())
					require.Zero(t, stats)
					for i, row := range side.rows {
						if err := Validate(row, side.typ); err != nil {
							t.Fatalf("%s/%s: %v", dir, n.Name(), err)
						}
						again, err := Append(nil, side.typ, got[i])
						if err != nil || !bytes.Equal(row, again) {
							t.Fatalf("%s/%s: %v: %v\n%x became\n%x", dir, n.Name(), got[i], err, row, again)
						}
					}
				}
			}
		}
		distinct += len(seen)
	}
	t.Logf("%d files, %d rows, %d of them distinct", files, rows, distinct)
	require.NotZero(t, rows)
}

// load replays the deltas on the newest snapshot.
func load(dir string, version int) (map[string][]byte, error) {
	name := func(v int, kind string) string { return filepath.Join(dir, strconv.Itoa(v)+"."+kind) }
	base := version
	for ; base > 0; base-- {
		if _, err := os.Stat(name(base, "snapshot")); err == nil {
			break
		}
	}
	state := map[string][]byte{}
	for v := base; v <= version; v++ {
		path := name(v, "delta")
		if v == base {
			if path = name(v, "snapshot"); v == 0 {
				continue
			}
		}
		records, err := readStateFile(path)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			if r.value == nil {
				delete(state, string(r.key))
			} else {
				state[string(r.key)] = r.value
			}
		}
	}
	return state, nil
}

// TestCorpusAnswers compares values with those that Spark's own state reader
// gave for the same batch.
func TestCorpusAnswers(t *testing.T) {
	compared := 0
	for _, s := range stores(t) {
		var index struct {
			Reads []struct {
				Options map[string]string
				File    string
			}
		}
		b, err := os.ReadFile(filepath.Join(s.root, "spark", "index.json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(b, &index))
		op, store, _ := strings.Cut(filepath.ToSlash(s.name), "/")
		for _, read := range index.Reads {
			o := read.Options
			batch, err := strconv.Atoi(o["batchId"])
			if err != nil || read.File == "" || o["operatorId"] != op || o["storeName"] != store || o["joinSide"] != "" {
				continue
			}
			// Spark's answer, and ours in the same words.
			var want, got []string
			b, err := os.ReadFile(filepath.Join(s.root, "spark", read.File))
			require.NoError(t, err)
			for line := range strings.Lines(string(b)) {
				want = append(want, canonical(t, line))
			}
			lz4 := true
			for partition, dir := range s.dirs {
				state, err := load(dir, batch+1)
				if errors.Is(err, errNotLZ4) {
					lz4 = false
					break
				}
				require.NoError(t, err)
				var keys, values [][]byte
				for k, v := range state {
					keys, values = append(keys, []byte(k)), append(values, v)
				}
				ks, _, err := decode(t, s.key, keys...)
				require.NoError(t, err)
				vs, _, err := decode(t, s.value, values...)
				require.NoError(t, err)
				for i := range ks {
					if strings.HasSuffix(s.root, "fmgws_v1") {
						// Spark reads the long as the integer it is declared.
						last := len(vs[i]) - 1
						vs[i][last] = int64(int32(vs[i][last].(int64)))
					}
					got = append(got, fmt.Sprintf(`{"key":%s,"value":%s,"partition_id":%d}`, toJSON(s.key, ks[i]), toJSON(s.value, vs[i]), partition))
				}
			}
			if !lz4 {
				continue
			}
			slices.Sort(want)
			for i := range got {
				got[i] = canonical(t, got[i])
			}
			slices.Sort(got)
			require.Len(t, got, len(want), "%s %v", s.root, o)
			for i := range want {
				if want[i] != got[i] {
					t.Fatalf("%s %v:\n%s where Spark says\n%s", s.root, o, got[i], want[i])
				}
			}
			compared += len(want)
		}
	}
	t.Logf("%d rows", compared)
	require.NotZero(t, compared)
}

// canonical writes JSON anew with all numbers in one form, and the entries of
// objects in the order they have, since names may repeat.
func canonical(t testing.TB, text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var b strings.Builder
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := tok.(json.Number); ok && strings.ContainsAny(n.String(), ".eE-") {
			r, ok := new(big.Rat).SetString(n.String())
			if !ok {
				t.Fatalf("%s is not a number", n)
			}
			if r.Sign() == 0 && strings.HasPrefix(n.String(), "-") {
				b.WriteByte('-')
			}
			tok = r.RatString()
		}
		fmt.Fprintf(&b, "%v ", tok)
	}
}

// toJSON writes a value as Spark's to_json does.
func toJSON(t *sqltype.Type, v any) string {
	if v == nil {
		return "null"
	}
	text := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			panic(err)
		}
		return string(b)
	}
	float := func(f float64, bits int) string {
		switch {
		case math.IsNaN(f):
			return `"NaN"`
		case math.IsInf(f, 1):
			return `"Infinity"`
		case math.IsInf(f, -1):
			return `"-Infinity"`
		}
		return strconv.FormatFloat(f, 'g', -1, bits)
	}
	switch t = t.Resolved(); t.Kind {
	case sqltype.Boolean:
		return strconv.FormatBool(v.(bool))
	case sqltype.Float:
		return float(float64(v.(float32)), 32)
	case sqltype.Double:
		return float(v.(float64), 64)
	case sqltype.String:
		return text(v.(string))
	case sqltype.Binary:
		return text(base64.StdEncoding.EncodeToString(v.([]byte)))
	case sqltype.Date:
		return text(time.Unix(v.(int64)*86400, 0).UTC().Format(time.DateOnly))
	case sqltype.Timestamp, sqltype.TimestampNTZ:
		return text(time.UnixMicro(v.(int64)).UTC().Format("2006-01-02 15:04:05.000000"))
	case sqltype.Decimal:
		r := new(big.Rat).SetFrac(v.(decimal128.Num).BigInt(), pow10(int64(t.Scale)))
		return r.FloatString(t.Scale)
	case sqltype.YearMonthInterval:
		return text(fmt.Sprintf("INTERVAL '%d-%d' YEAR TO MONTH", v.(int64)/12, v.(int64)%12))
	case sqltype.DayTimeInterval:
		n, sign := v.(int64), ""
		if n < 0 {
			n, sign = -n, "-"
		}
		seconds := strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%09.6f", float64(n%60e6)/1e6), "0"), ".")
		return text(fmt.Sprintf("INTERVAL '%s%d %02d:%02d:%s' DAY TO SECOND", sign, n/86400e6, n/3600e6%24, n/60e6%60, seconds))
	case sqltype.CalendarInterval:
		i := v.(Interval)
		return text(fmt.Sprintf("%d years %d months %d days %d hours %d minutes %v seconds",
			i.Months/12, i.Months%12, i.Days, i.Microseconds/3600e6, i.Microseconds/60e6%60, float64(i.Microseconds%60e6)/1e6))
	case sqltype.Struct:
		var parts []string
		for i, f := range t.Fields {
			parts = append(parts, text(f.Name)+":"+toJSON(f.Type, v.([]any)[i]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case sqltype.Array:
		var parts []string
		for _, e := range v.([]any) {
			parts = append(parts, toJSON(t.Element, e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case sqltype.Map:
		var parts []string
		for _, e := range v.([][2]any) {
			parts = append(parts, text(fmt.Sprint(e[0]))+":"+toJSON(t.Value, e[1]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return fmt.Sprint(v)
}
