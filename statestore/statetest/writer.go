package statetest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/sparkstate/sparkstate/statestore/placement"
	"github.com/sparkstate/sparkstate/statestore/sidecar"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// Writer writes a checkpoint batch by batch. Errors stick: after the first,
// every call does nothing and Commit returns it.
type Writer struct {
	q       Query
	release release
	sink    Sink
	batch   int64
	stores  map[storeID]*storeState
	order   []storeID
	log     Log
	sources map[int]*fileSource
	err     error
}

type storeID struct {
	operator int
	name     string
}

// storeState is a store of the query that is being written.
type storeState struct {
	Store
	id         storeID
	partitions int
	hasher     *placement.Hasher   // nil for one task
	unplaced   error               // why the keys cannot be placed, except with PutAt
	changes    [][]byte            // of the batch, by partition: the body of a delta
	rows       []map[string][]byte // by partition
}

// NewWriter starts a checkpoint. Nothing is written before the first Commit.
func NewWriter(q Query, sink Sink) *Writer {
	w := &Writer{q: q, sink: sink, stores: make(map[storeID]*storeState)}
	w.release, w.err = parseRelease(q.Spark)
	if q.RowChecksums && w.err == nil && !w.release.hasRowChecksums() {
		w.err = fmt.Errorf("statetest: Spark %s knows no row checksums; 4.2 does", q.Spark)
	}
	if q.OffsetLogV2 && w.err == nil && !w.release.hasOffsetLogV2() {
		w.err = fmt.Errorf("statetest: Spark %s knows no version 2 of the offset log; 4.2 does", q.Spark)
	}
	for id, op := range q.Operators {
		if op.err != nil && w.err == nil {
			w.err = op.err
		}
		for _, s := range op.Stores {
			if w.err != nil {
				return w
			}
			st := &storeState{Store: s, id: storeID{id, s.name()}, partitions: q.partitions()}
			if op.OneTask {
				st.partitions = 1
			} else {
				st.hasher, st.unplaced = s.hasher()
			}
			st.changes = make([][]byte, st.partitions)
			st.rows = make([]map[string][]byte, st.partitions)
			for p := range st.rows {
				st.rows[p] = make(map[string][]byte)
			}
			w.stores[st.id] = st
			w.order = append(w.order, st.id)
		}
	}
	return w
}

func (w *Writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *Writer) store(operator int, name string) *storeState {
	if name == "" {
		name = "default"
	}
	s := w.stores[storeID{operator, name}]
	if s == nil {
		w.fail(fmt.Errorf("statetest: operator %d has no store %s", operator, name))
	}
	return s
}

// Put inserts or replaces a row: a value for each column of the store, or what
// the operator's function says. Any Go integer stands for an integer of any
// width, a time.Time for a timestamp or a date, []any for a struct or an array;
// package unsaferow, Append, has the table of all types. Nil stands for columns
// that can only be null.
func (w *Writer) Put(operator int, store string, key, value []any) {
	s := w.store(operator, store)
	if w.err != nil {
		return
	}
	var err error
	if s.row != nil {
		if value, err = s.row(key, value); err != nil {
			w.fail(err)
			return
		}
	}
	k := w.encode(s, "key", s.Key, key)
	v := w.encode(s, "value", s.Value, value)
	w.PutRow(operator, store, k, v)
}

// Remove removes a row.
func (w *Writer) Remove(operator int, store string, key []any) {
	s := w.store(operator, store)
	if w.err != nil {
		return
	}
	w.RemoveRow(operator, store, w.encode(s, "key", s.Key, key))
}

// encode returns the row of some values, which are the key or the value of one
// of the store.
func (w *Writer) encode(s *storeState, side string, t *sqltype.Type, values []any) []byte {
	b, err := appendValues(nil, t, values)
	if err != nil {
		w.fail(fmt.Errorf("statetest: operator %d (%s), store %s, batch %d: %s: %w", s.id.operator, w.q.Operators[s.id.operator].Name, s.id.name, w.batch, side, err))
	}
	return b
}

// appendValues appends a row as unsaferow.Append does, and knows of columns that
// can only be null. Values of another number are an error that lists the columns.
func appendValues(dst []byte, t *sqltype.Type, values []any) ([]byte, error) {
	if values == nil && !slices.ContainsFunc(t.Fields, func(f sqltype.Field) bool { return f.Type.Resolved().Kind != sqltype.Void }) {
		values = make([]any, len(t.Fields))
	}
	b, err := unsaferow.Append(dst, t, values)
	if err != nil && len(values) != len(t.Fields) {
		err = fmt.Errorf("%w; the columns are %s", err, t.DDL())
	}
	return b, err
}

// PutRow inserts or replaces a row given as bytes.
func (w *Writer) PutRow(operator int, store string, key, value []byte) {
	s := w.store(operator, store)
	if p, ok := w.place(s, key); ok {
		w.put(s, p, key, value)
	}
}

// RemoveRow removes a row given as bytes.
func (w *Writer) RemoveRow(operator int, store string, key []byte) {
	s := w.store(operator, store)
	if p, ok := w.place(s, key); ok {
		w.remove(s, p, key)
	}
}

// PutAt inserts a row into a partition of the caller's choice, whatever its
// hash says.
func (w *Writer) PutAt(operator int, store string, partition int, key, value []byte) {
	if s := w.at(operator, store, partition); s != nil {
		w.put(s, partition, key, value)
	}
}

// RemoveAt removes a row from a partition of the caller's choice.
func (w *Writer) RemoveAt(operator int, store string, partition int, key []byte) {
	if s := w.at(operator, store, partition); s != nil {
		w.remove(s, partition, key)
	}
}

func (w *Writer) at(operator int, store string, partition int) *storeState {
	s := w.store(operator, store)
	if w.err == nil && (partition < 0 || partition >= s.partitions) {
		w.fail(fmt.Errorf("statetest: operator %d has no partition %d", operator, partition))
	}
	if w.err != nil {
		return nil
	}
	return s
}

func (w *Writer) place(s *storeState, key []byte) (int, bool) {
	if w.err != nil || s == nil {
		return 0, false
	}
	if s.unplaced != nil {
		w.fail(s.unplaced)
		return 0, false
	}
	if s.hasher == nil {
		return 0, true
	}
	h, err := s.hasher.Hash(key)
	if err != nil {
		w.fail(err)
		return 0, false
	}
	return placement.Partition(h, s.partitions), true
}

func (w *Writer) put(s *storeState, partition int, key, value []byte) {
	s.rows[partition][string(key)] = bytes.Clone(value)
	s.changes[partition] = w.appendPut(s.changes[partition], key, value)
}

func (w *Writer) remove(s *storeState, partition int, key []byte) {
	delete(s.rows[partition], string(key))
	if w.q.RowChecksums {
		key = append(rowSum(key), key...)
	}
	s.changes[partition] = append(appendFramed(s.changes[partition], key), endMark...) // a value length of -1
}

func (w *Writer) appendPut(b, key, value []byte) []byte {
	if w.q.RowChecksums {
		value = append(rowSum(key, value), value...)
	}
	return appendFramed(appendFramed(b, key), value)
}

func appendFramed(b, row []byte) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(row))), row...)
}

// endMark ends the records of a state file.
var endMark = []byte{0xff, 0xff, 0xff, 0xff}

// Commit ends a batch: it writes the offset log, a delta for every partition of
// every store, and the commit log.
func (w *Writer) Commit() error {
	w.plan()
	for _, id := range w.order {
		s := w.stores[id]
		for p := range s.partitions {
			w.state(s, p, fmt.Sprintf("%d.delta", w.batch+1), append(s.changes[p], endMark...))
			s.changes[p] = s.changes[p][:0]
		}
	}
	w.committed()
	return w.err
}

// Snapshot writes all of the last committed version of a store as snapshots;
// without partitions, of all of them.
func (w *Writer) Snapshot(operator int, store string, partitions ...int) error {
	s := w.store(operator, store)
	if w.err != nil {
		return w.err
	}
	if w.batch == 0 {
		w.fail(errors.New("statetest: there is no committed version to snapshot"))
		return w.err
	}
	if len(partitions) == 0 {
		for p := range s.partitions {
			partitions = append(partitions, p)
		}
	}
	for _, p := range partitions {
		if w.at(operator, store, p) == nil {
			return w.err
		}
		keys := make([]string, 0, len(s.rows[p]))
		for k := range s.rows[p] {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		var body []byte
		for _, k := range keys {
			body = w.appendPut(body, []byte(k), s.rows[p][k])
		}
		w.state(s, p, fmt.Sprintf("%d.snapshot", w.batch), append(body, endMark...))
	}
	return w.err
}

// dir is the directory of a partition of the store.
func (s *storeState) dir(partition int) string {
	return storeDir(s.id.operator, s.id.name, partition)
}

// state writes a delta or snapshot.
func (w *Writer) state(s *storeState, partition int, name string, body []byte) {
	packed, err := pack(body, w.q.codec(), w.q.BlockSize)
	if err != nil {
		w.fail(err)
		return
	}
	full := path.Join(s.dir(partition), name)
	w.file(full, packed)
	if w.release.hasJSONSums() {
		w.file(sidecar.SparkName(full), sparkSum(packed, firstBatchMs+batchMs*w.batch))
	}
}

// schema writes a store's schema file.
func (w *Writer) schema(s *storeState) {
	if s.NoSchema || w.err != nil || !w.release.hasSchema() {
		return
	}
	key, value := s.recorded(w.release)
	b := appendUTF(nil, "v1")
	if w.release.schemaV2() {
		b = appendUTF(nil, "v2")
	}
	for _, j := range []string{key.JSON(), value.JSON()} {
		chunks := split(j)
		if w.release.schemaV2() {
			b = binary.BigEndian.AppendUint32(b, uint32(len(chunks)))
		} else if len(chunks) > 1 {
			w.fail(fmt.Errorf("statetest: Spark %s cannot record so long a schema", w.q.Spark))
			return
		}
		for _, c := range chunks {
			b = appendUTF(b, c)
		}
	}
	w.file(path.Join(s.dir(0), "_metadata", "schema"), b)
}
