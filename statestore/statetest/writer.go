package statetest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"

	"github.com/sparkstate/sparkstate/statestore/placement"
	"github.com/sparkstate/sparkstate/statestore/sidecar"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// Writer writes a checkpoint batch by batch. Errors stick: after the first,
// every call does nothing and Commit returns it.
type Writer struct {
	q      Query
	sink   Sink
	batch  int64
	stores map[storeID]*storeState
	order  []storeID
	err    error
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
	hasher     *placement.Hasher
	changes    [][]byte            // of the batch, by partition: the body of a delta
	rows       []map[string][]byte // by partition
}

// NewWriter starts a checkpoint. Nothing is written before the first Commit.
func NewWriter(q Query, sink Sink) *Writer {
	w := &Writer{q: q, sink: sink, stores: make(map[storeID]*storeState)}
	for id, op := range q.Operators {
		for _, s := range op.Stores {
			st := &storeState{Store: s, id: storeID{id, s.name()}, partitions: q.partitions()}
			if op.OneTask {
				st.partitions = 1
			} else if st.hasher, w.err = s.hasher(); w.err != nil {
				return w
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
	s := w.stores[storeID{operator, name}]
	if s == nil {
		w.fail(fmt.Errorf("statetest: operator %d has no store %s", operator, name))
	}
	return s
}

// Put inserts or replaces a row, of values as unsaferow.Append takes them.
func (w *Writer) Put(operator int, store string, key, value []any) {
	s := w.store(operator, store)
	if w.err != nil {
		return
	}
	k, err := unsaferow.Append(nil, s.Key, key)
	if err != nil {
		w.fail(err)
		return
	}
	v, err := unsaferow.Append(nil, s.Value, value)
	if err != nil {
		w.fail(err)
		return
	}
	w.PutRow(operator, store, k, v)
}

// PutRow inserts or replaces a row given as bytes.
func (w *Writer) PutRow(operator int, store string, key, value []byte) {
	s := w.store(operator, store)
	if p, ok := w.place(s, key); ok {
		s.put(p, key, value)
	}
}

// PutAt inserts a row into a partition of the caller's choice, whatever its
// hash says.
func (w *Writer) PutAt(operator int, store string, partition int, key, value []byte) {
	if s := w.store(operator, store); w.err == nil {
		s.put(partition, key, value)
	}
}

// Remove removes a row.
func (w *Writer) Remove(operator int, store string, key []any) {
	s := w.store(operator, store)
	if w.err != nil {
		return
	}
	k, err := unsaferow.Append(nil, s.Key, key)
	if err != nil {
		w.fail(err)
		return
	}
	if p, ok := w.place(s, k); ok {
		delete(s.rows[p], string(k))
		s.changes[p] = append(appendFramed(s.changes[p], k), 0xff, 0xff, 0xff, 0xff)
	}
}

func (w *Writer) place(s *storeState, key []byte) (int, bool) {
	if w.err != nil || s == nil {
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

func (s *storeState) put(partition int, key, value []byte) {
	s.rows[partition][string(key)] = bytes.Clone(value)
	s.changes[partition] = appendFramed(appendFramed(s.changes[partition], key), value)
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

// committed writes the commit log and goes on to the next batch.
func (w *Writer) committed() {
	w.file(fmt.Sprintf("commits/%d", w.batch), []byte("v1\n{\"nextBatchWatermarkMs\":0}"))
	w.batch++
}

// plan writes what comes before the state: the query's id, the schema files
// and the operator metadata of the first batch, and the offset log.
func (w *Writer) plan() {
	if w.batch == 0 {
		id := w.q.ID
		if id == "" {
			id = "00000000-0000-4000-8000-000000000000"
		}
		w.file("metadata", []byte(`{"id":"`+id+`"}`))
		for _, sid := range w.order {
			w.schema(w.stores[sid])
		}
		if w.q.atLeast(4, 0) {
			for i, op := range w.q.Operators {
				w.metadata(i, op)
			}
		}
	}
	conf, err := json.Marshal(w.q.conf())
	if err != nil {
		w.fail(err)
		return
	}
	w.file(fmt.Sprintf("offsets/%d", w.batch), fmt.Appendf(nil, "v1\n{\"batchWatermarkMs\":0,\"batchTimestampMs\":%d,\"conf\":%s}\n%d", 1767600000000+60_000*w.batch, conf, w.batch))
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
		keys := make([]string, 0, len(s.rows[p]))
		for k := range s.rows[p] {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		var body []byte
		for _, k := range keys {
			body = appendFramed(appendFramed(body, []byte(k)), s.rows[p][k])
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
	if w.q.atLeast(4, 1) && !w.q.atLeast(4, 2) {
		w.file(sidecar.SparkName(full), sparkSum(packed, 1767600000000+60_000*w.batch))
	}
}

// schema writes a store's schema file, of version 2.
func (w *Writer) schema(s *storeState) {
	if s.NoSchema || w.err != nil {
		return
	}
	b := appendUTF(nil, "v2")
	for _, j := range []string{s.Key.JSON(), s.Value.JSON()} {
		chunks := split(j)
		b = binary.BigEndian.AppendUint32(b, uint32(len(chunks)))
		for _, c := range chunks {
			b = appendUTF(b, c)
		}
	}
	w.file(path.Join(s.dir(0), "_metadata", "schema"), b)
}

// metadata writes an operator's metadata, of version 1.
func (w *Writer) metadata(id int, op Operator) {
	type store struct {
		Name       string `json:"storeName"`
		Prefix     int    `json:"numColsPrefixKey"`
		Partitions int    `json:"numPartitions"`
	}
	var m struct {
		Operator struct {
			ID   int    `json:"operatorId"`
			Name string `json:"operatorName"`
		} `json:"operatorInfo"`
		Stores []store `json:"stateStoreInfo"`
	}
	m.Operator.ID, m.Operator.Name = id, op.Name
	for _, s := range op.Stores {
		m.Stores = append(m.Stores, store{s.name(), op.PrefixColumns, w.q.partitions()})
	}
	b, err := json.Marshal(m)
	if err != nil {
		w.fail(err)
		return
	}
	w.file(path.Join("state", strconv.Itoa(id), "_metadata", "metadata"), append([]byte("v1\n"), b...))
}

// file writes a file, and Hadoop's sidecar where those are wanted.
func (w *Writer) file(name string, data []byte) {
	if w.err != nil {
		return
	}
	if w.err = w.sink.WriteFile(name, bytes.Clone(data)); w.err != nil || !w.q.Sidecars {
		return
	}
	w.err = w.sink.WriteFile(hadoopPath(name), hadoopSums(data))
}
