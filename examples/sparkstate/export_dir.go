package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/internal/paths"
)

// exportNote is the file beside the exported ones that says what they are. Its
// name is one that Spark, pyarrow and Hive take no notice of.
const exportNote = "_sparkstate.json"

// exportMark is the file that says that a folder is complete, as Hadoop's and
// Spark's own writers do. Of a part of the partitions it has the name of the
// shard too.
const exportMark = "_SUCCESS"

// mark returns the name of the mark of a run, "" for one of some partitions only.
func (x *exporting) mark() string {
	switch {
	case len(x.partition) > 0:
		return ""
	case x.shard.of > 1:
		return fmt.Sprintf("%s-%d-of-%d", exportMark, x.shard.i, x.shard.of)
	}
	return exportMark
}

// exported is what the note says: everything that all files of a folder have in
// common.
type exported struct {
	SchemaVersion int    `json:"schemaVersion"`
	Query         string `json:"queryId,omitempty"`
	Operator      int    `json:"operatorId"`
	Name          string `json:"operatorName,omitempty"`
	Store         string `json:"stateStoreName"`
	Side          string `json:"joinSide,omitempty"`
	Batch         int64  `json:"batch"`
	From          *int64 `json:"from,omitempty"` // of changes
	Format        string `json:"format"`
	Key           string `json:"keySchema"`
	Value         string `json:"valueSchema"`
}

// same says whether two notes are of the same state. A copy without its file
// metadata does not know the query's id.
func (e exported) same(o exported) bool {
	if e.Query == "" || o.Query == "" {
		e.Query, o.Query = "", ""
	}
	from, other := e.From, o.From
	if (from == nil) != (other == nil) || from != nil && *from != *other {
		return false
	}
	e.From, o.From = nil, nil
	return e == o
}

// String says what differs from others, for people.
func (e exported) String() string {
	what := fmt.Sprintf("batch %d", e.Batch)
	if e.From != nil {
		what = fmt.Sprintf("the changes of batches %d to %d", *e.From, e.Batch)
	}
	return fmt.Sprintf("%s of query %s, operator %d, store %s, as %s", what, orUnknown(e.Query), e.Operator, e.Store, e.Format)
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// exportDir is the folder of one table.
type exportDir struct {
	path string
	note exported
	ext  string
}

// folder returns the folder of a table, after a look at whether it may be
// written to.
func (x *exporting) folder(cp *checkpoint.Checkpoint, t *table) (*exportDir, error) {
	o := t.origin
	d := &exportDir{
		path: filepath.Join(x.to, fileName(t.store.Operator().Label()), fileName(t.name())),
		ext:  string(x.format),
		note: exported{1, o.Query, o.Operator, o.Name, o.Store, string(o.Side), o.Batch, nil, string(x.format), t.key.JSON(), t.value.JSON()},
	}
	if o.From >= 0 {
		d.path += "-changes"
		d.note.From = &o.From
	}
	inside, err := paths.Within(d.path, cp.Root())
	switch {
	case err != nil:
		return nil, output(err)
	case inside:
		return nil, usagef("-o %s lies in the checkpoint, and nothing is ever written there", x.to)
	}
	_, err = d.check(x.overwrite)
	return d, err
}

// fileName makes one element of a path of a name out of a checkpoint: whatever
// is not harmless everywhere becomes %XX.
func fileName(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' && i > 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

// partFile is the name of what a run writes beside the note.
var partFile = regexp.MustCompile(`^(_SUCCESS(-\d+-of-\d+)?|part-\d{5,}\.(parquet|arrow|csv|jsonl)|\.part-\d{5,}\.(parquet|arrow|csv|jsonl)\.\d+\.tmp)$`)

// check looks at what is in the folder: it returns the files that are in the
// way and may be removed, or an error where some are in the way and may not.
func (d *exportDir) check(overwrite bool) (inTheWay []string, err error) {
	entries, err := os.ReadDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, output(err)
	}
	there, noted, err := d.noted()
	switch {
	case err != nil && !overwrite:
		return nil, usagef("%v; empty the folder, name another one, or clear it with --overwrite", err)
	case noted && there.same(d.note):
		return nil, nil
	}
	whole := false // as opposed to what a run that was killed has left
	for _, e := range entries {
		if partFile.MatchString(e.Name()) {
			inTheWay = append(inTheWay, e.Name())
			whole = whole || e.Name()[0] != '.'
		}
	}
	if overwrite {
		return inTheWay, nil
	}
	instead := "name another folder, or replace them with --overwrite"
	switch {
	case noted:
		return nil, usagef("%s holds %s, and this is %s; %s", d.path, there, d.note, instead)
	case whole:
		return nil, usagef("%s holds files of an export, but no %s tells of which state; %s", d.path, exportNote, instead)
	}
	return nil, nil
}

// noted reads the note in the folder.
func (d *exportDir) noted() (e exported, there bool, err error) {
	b, err := os.ReadFile(filepath.Join(d.path, exportNote))
	if errors.Is(err, fs.ErrNotExist) {
		return e, false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &e)
	}
	if err != nil {
		return e, true, fmt.Errorf("%s: %w", filepath.Join(d.path, exportNote), err)
	}
	return e, true, nil
}

// claim makes the folder and writes the note, and takes away the mark of a run
// before. Of several runs at a time the first one writes it; the others must
// agree with it.
func (d *exportDir) claim(overwrite bool, mark string) error {
	if err := os.MkdirAll(d.path, 0o777); err != nil {
		return output(err)
	}
	inTheWay, err := d.check(overwrite)
	if err != nil {
		return err
	}
	for _, name := range inTheWay {
		if err := os.Remove(filepath.Join(d.path, name)); err != nil {
			return output(err)
		}
	}
	if mark != "" {
		if err := os.Remove(filepath.Join(d.path, mark)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return output(err)
		}
	}
	if there, noted, err := d.noted(); err == nil && noted && there.same(d.note) {
		return nil
	}
	f, err := newTempFile(filepath.Join(d.path, exportNote))
	if err != nil {
		return output(err)
	}
	defer f.discard()
	b, err := json.MarshalIndent(d.note, "", " ")
	if err != nil {
		return err
	}
	if _, err := f.buffered.Write(append(b, '\n')); err != nil {
		return output(err)
	}
	if overwrite {
		_, err = f.keep()
	} else {
		_, err = f.keepFirst()
	}
	if errors.Is(err, fs.ErrExist) {
		_, err = d.check(false)
		return err
	}
	return output(err)
}

// complete marks the folder.
func (d *exportDir) complete(mark string) error {
	if mark == "" {
		return nil
	}
	return replace(filepath.Join(d.path, mark), nil, func(io.Writer) error { return nil })
}

// exportedFile says how large a file has become.
type exportedFile struct{ rows, bytes int64 }

// write writes the file of one partition: whole or not at all.
func (d *exportDir) write(partition int, fill func(*tempFile) (rows int64, err error)) (_ exportedFile, err error) {
	name := fmt.Sprintf("part-%05d.%s", partition, d.ext)
	// What a run that was killed has left of this very file.
	stale, err := filepath.Glob(filepath.Join(globEscape(d.path), "."+name+".*.tmp"))
	for _, s := range stale {
		err = errors.Join(err, os.Remove(s))
	}
	if err != nil {
		return exportedFile{}, output(err)
	}
	f, err := newTempFile(filepath.Join(d.path, name))
	if err != nil {
		return exportedFile{}, output(err)
	}
	defer f.discard()
	rows, err := fill(f)
	if err != nil {
		return exportedFile{}, err
	}
	bytes, err := f.keep()
	return exportedFile{rows, bytes}, output(err)
}

// globEscape quotes what has a meaning in patterns.
func globEscape(path string) string {
	return regexp.MustCompile(`[*?\[\\]`).ReplaceAllString(path, `\$0`)
}
