package statetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
)

// Log is what the logs say of one batch. The zero value of every field is what
// a query without a watermark has.
type Log struct {
	// TimestampMs is the wall clock when the batch was planned, in milliseconds
	// since 1970; 0 stands for 2026-01-05T08:00Z for the first batch, and a
	// minute more for each after it.
	TimestampMs int64
	// WatermarkMs is the watermark in force during the batch, in milliseconds
	// since 1970; 0 stands for the one that the batch before led to.
	WatermarkMs int64
	// NextWatermarkMs is the watermark that the batch leads to; 0 stands for the
	// one in force.
	NextWatermarkMs int64
	// Offsets are the end offsets of the sources, each in its own JSON, "" for
	// none yet. nil stands for those of the file sources that were written with
	// ReadFiles, or else for one source that counts the batches.
	Offsets []string
}

const (
	firstBatchMs = 1767600000000
	batchMs      = 60_000
)

// SetLog says what the logs shall say of the batch that is committed next.
func (w *Writer) SetLog(l Log) {
	l.WatermarkMs = max(l.WatermarkMs, w.log.WatermarkMs)
	w.log = l
}

// InputFile is a file that a file source has read.
type InputFile struct {
	// URL is where the file is, as file:///data/part-0.json, with its escapes.
	URL string
	// ModifiedMs is when it was changed, in milliseconds since 1970.
	ModifiedMs int64
}

// fileSource is the log of a file source.
type fileSource struct {
	read    []sourceEntry // all so far
	pending int           // those at the end that the next batch reads
	last    int64         // the last batch of the log, which counts by itself
}

type sourceEntry struct {
	Path      string `json:"path"`
	Timestamp int64  `json:"timestamp"`
	Batch     int64  `json:"batchId"`
}

// compactEvery is the number of batches after which a source's log has all
// files in one.
const compactEvery = 10

// ReadFiles has the batch that is committed next read files from the source of
// that number, which is a file source: a directory of text, JSON or Parquet. A
// query that is started from the checkpoint does not read them again.
func (w *Writer) ReadFiles(source int, files ...InputFile) {
	if w.sources == nil {
		w.sources = make(map[int]*fileSource)
	}
	s := w.sources[source]
	if s == nil {
		s = &fileSource{last: -1}
		w.sources[source] = s
	}
	for _, f := range files {
		s.read = append(s.read, sourceEntry{f.URL, f.ModifiedMs, s.last + 1})
		s.pending++
	}
}

// sourceLogs writes what the file sources read for the batch, and returns their
// offsets; nil if there are none.
func (w *Writer) sourceLogs() []string {
	var offsets []string
	for id, s := range w.sources {
		if s.pending > 0 {
			s.last++
			name, lines := strconv.FormatInt(s.last, 10), s.read[len(s.read)-s.pending:]
			if s.last%compactEvery == compactEvery-1 {
				name, lines = name+".compact", s.read
			}
			b := []byte("v1")
			for _, e := range lines {
				j, err := json.Marshal(e)
				if err != nil {
					w.fail(err)
				}
				b = append(append(b, '\n'), j...)
			}
			w.file(path.Join("sources", strconv.Itoa(id), name), b)
			s.pending = 0
		}
		if id >= len(offsets) {
			offsets = append(offsets, make([]string, id+1-len(offsets))...)
		}
		if s.last >= 0 {
			offsets[id] = fmt.Sprintf(`{"logOffset":%d}`, s.last)
		}
	}
	return offsets
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
		if w.release.hasMetadata() {
			for i, op := range w.q.Operators {
				w.metadata(i, op)
			}
		}
	}
	offsets := w.sourceLogs()
	switch {
	case w.log.Offsets != nil:
		offsets = slices.Clone(w.log.Offsets)
	case offsets == nil:
		offsets = []string{strconv.FormatInt(w.batch, 10)}
	}
	l := struct {
		Watermark int64             `json:"batchWatermarkMs"`
		Timestamp int64             `json:"batchTimestampMs"`
		Conf      map[string]string `json:"conf"`
		Sources   *struct{}         `json:"sourceMetadataInfo,omitempty"`
	}{w.log.WatermarkMs, w.log.TimestampMs, w.q.conf(w.release), nil}
	version := "v1\n"
	if w.q.OffsetLogV2 {
		version, l.Sources = "v2\n", &struct{}{}
	}
	if l.Timestamp == 0 {
		l.Timestamp = firstBatchMs + batchMs*w.batch
	}
	b, err := json.Marshal(l)
	if err != nil {
		w.fail(err)
		return
	}
	b = append([]byte(version), b...)
	for i, o := range offsets {
		if o == "" {
			o = "-"
		}
		if w.q.OffsetLogV2 {
			o = strconv.Itoa(i) + ":" + o
		}
		b = append(append(b, '\n'), o...)
	}
	w.file(fmt.Sprintf("offsets/%d", w.batch), b)
}

// committed writes the commit log and goes on to the next batch.
func (w *Writer) committed() {
	next := max(w.log.NextWatermarkMs, w.log.WatermarkMs)
	if w.release.hasNextWatermark() {
		w.file(fmt.Sprintf("commits/%d", w.batch), fmt.Appendf(nil, "v1\n{\"nextBatchWatermarkMs\":%d}", next))
	} else {
		w.file(fmt.Sprintf("commits/%d", w.batch), []byte("v1\n{}"))
	}
	w.log = Log{WatermarkMs: next}
	w.batch++
}

// metadata writes an operator's metadata, of version 1: version 2 is that of
// operators with column families.
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
