package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/sparkstate/sparkstate/statestore"
)

// OffsetLog is one file of offsets/: what was planned for a batch before it
// ran. It is lines of text, without a line break after the last:
//
//	┌───────────────────────────────────────────────────────────────────┐
//	│ v1                                                                │
//	│ {"batchWatermarkMs":…,"batchTimestampMs":…,"conf":{…}}            │
//	│ the end offset of source 0 in its own JSON, or - for none         │  a line for
//	│ …                                                                 │  each source
//	└───────────────────────────────────────────────────────────────────┘
//
// In version 2 each of the latter starts with the source's name and a colon.
type OffsetLog struct {
	// Version is that of the file's first line: 1, or 2 (Spark 4.2).
	Version int
	// WatermarkMs is the event-time watermark in force during the batch, in
	// milliseconds since 1970.
	WatermarkMs int64
	// TimestampMs is the wall clock when the batch was planned, in
	// milliseconds since 1970.
	TimestampMs int64
	// Conf holds the configuration that Spark pins for the query. Absent keys
	// mean the legacy default, not today's.
	Conf map[string]string
	// Sources holds the end offset of each source.
	Sources []SourceOffset
}

// SourceOffset is the end offset of one source in a batch.
type SourceOffset struct {
	// ID is the source's position in the plan, or its name (file version 2).
	ID string
	// JSON is the source's own notation; empty where it has no offset yet.
	JSON string
}

// CommitLog is one file of commits/: written once a batch is done. It is two
// lines of text:
//
//	┌───────────────────────────────┐
//	│ v1                            │
//	│ {"nextBatchWatermarkMs":…}    │
//	└───────────────────────────────┘
type CommitLog struct {
	// Version is that of the file's first line: 1, 2 (checkpoint format 2) or
	// 3.
	Version int
	// NextWatermarkMs is the watermark that the batch leads to, in
	// milliseconds since 1970, and HasNextWatermark whether it is recorded: it
	// is since Spark 2.4.
	NextWatermarkMs  int64
	HasNextWatermark bool
	// StateUniqueIDs holds, by operator id, partition and store, the ids that
	// checkpoint format 2 adds to file names; nil otherwise.
	StateUniqueIDs map[string][][]string
}

// maxLogLines is how many lines a log may have: one for each source of a query,
// and two more.
const maxLogLines = 10_000

// logLines splits a log into its version and the lines after it. Java ends a
// line at any of \n, \r and \r\n, and writes none after the last. More than
// maxLogLines of them are ErrTooLarge.
func logLines(b []byte) (int, []string, error) {
	if bytes.Count(b, []byte("\n"))+bytes.Count(b, []byte("\r")) > 2*maxLogLines {
		return 0, nil, &statestore.FileError{Offset: -1, Kind: statestore.ErrTooLarge, Detail: fmt.Sprintf("more than %d lines", maxLogLines)}
	}
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(b))
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	digits, ok := strings.CutPrefix(lines[0], "v")
	v, err := strconv.Atoi(digits)
	if !ok || err != nil || v < 1 {
		return 0, nil, corruptLog("the first line is %.40q, not a version such as v1", lines[0])
	}
	return v, lines[1:], nil
}

func corruptLog(format string, a ...any) error {
	return &statestore.FileError{Offset: -1, Kind: statestore.ErrCorrupt, Detail: fmt.Sprintf(format, a...)}
}

func unsupportedLog(what string, v int) error {
	return &statestore.FileError{Offset: -1, Kind: statestore.ErrUnsupported,
		Detail: fmt.Sprintf("version %d of the %s log", v, what)}
}

// scalar is a conf value. Spark writes strings; in a log edited by hand it may
// be a bare number or boolean.
type scalar string

// UnmarshalJSON takes strings, numbers and booleans.
func (s *scalar) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && (b[0] == '{' || b[0] == '[') {
		return fmt.Errorf("a conf value is no text: %.40s", b)
	}
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(s))
	}
	*s = scalar(b)
	return nil
}

// ParseOffsetLog parses a file of offsets/. Errors are *statestore.FileError
// without a path.
func ParseOffsetLog(b []byte) (*OffsetLog, error) {
	v, lines, err := logLines(b)
	if err != nil {
		return nil, err
	}
	if v > 2 {
		return nil, unsupportedLog("offset", v)
	}
	o := &OffsetLog{Version: v}
	if len(lines) == 0 {
		return nil, corruptLog("incomplete log file: nothing after the first line")
	}
	if meta := lines[0]; meta != "" { // Spark 2.1 may leave it empty
		var m struct {
			Watermark int64             `json:"batchWatermarkMs"`
			Timestamp int64             `json:"batchTimestampMs"`
			Conf      map[string]scalar `json:"conf"`
		}
		if err := json.Unmarshal([]byte(meta), &m); err != nil {
			return nil, &statestore.FileError{Offset: -1, Kind: statestore.ErrCorrupt, Detail: "the metadata line is no JSON that Spark writes", Err: err}
		}
		o.WatermarkMs, o.TimestampMs = m.Watermark, m.Timestamp
		if m.Conf != nil {
			o.Conf = make(map[string]string, len(m.Conf))
			for k, v := range m.Conf {
				o.Conf[k] = string(v)
			}
		}
	} else if v >= 2 {
		return nil, corruptLog("the metadata line is empty")
	}
	for i, line := range lines[1:] {
		s := SourceOffset{ID: strconv.Itoa(i), JSON: line}
		if v >= 2 {
			var ok bool
			if s.ID, s.JSON, ok = strings.Cut(line, ":"); !ok {
				return nil, corruptLog("source line %d names no source", i)
			}
		}
		if s.JSON == "-" {
			s.JSON = ""
		}
		o.Sources = append(o.Sources, s)
	}
	return o, nil
}

// ParseCommitLog parses a file of commits/. Errors are *statestore.FileError
// without a path.
func ParseCommitLog(b []byte) (*CommitLog, error) {
	v, lines, err := logLines(b)
	if err != nil {
		return nil, err
	}
	if v > 3 {
		return nil, unsupportedLog("commit", v)
	}
	c := &CommitLog{Version: v}
	if len(lines) == 0 || lines[0] == "" {
		return c, nil
	}
	var m struct {
		Next *int64                `json:"nextBatchWatermarkMs"`
		IDs  map[string][][]string `json:"stateUniqueIds"`
	}
	if err := json.Unmarshal([]byte(lines[0]), &m); err != nil {
		return nil, &statestore.FileError{Offset: -1, Kind: statestore.ErrCorrupt, Detail: "the second line is no JSON that Spark writes", Err: err}
	}
	c.StateUniqueIDs = m.IDs
	if m.Next != nil {
		c.NextWatermarkMs, c.HasNextWatermark = *m.Next, true
	}
	return c, nil
}

// OffsetLog reads the offset log of a batch. The error is fs.ErrNotExist where
// there is none.
func (c *Checkpoint) OffsetLog(batch int64) (*OffsetLog, error) {
	return readLog(c, "offsets", batch, ParseOffsetLog)
}

// CommitLog reads the commit log of a batch. The error is fs.ErrNotExist where
// there is none.
func (c *Checkpoint) CommitLog(batch int64) (*CommitLog, error) {
	return readLog(c, "commits", batch, ParseCommitLog)
}

func readLog[T any](c *Checkpoint, dir string, batch int64, parse func([]byte) (*T, error)) (*T, error) {
	if c.at.root == "" {
		return nil, fmt.Errorf("%s/%d: %w", dir, batch, fs.ErrNotExist)
	}
	return readParsed(c, path.Join(c.at.root, dir, strconv.FormatInt(batch, 10)), false, parse)
}

// Batch is what the logs say of one batch.
type Batch struct {
	ID int64
	// Planned and Committed say which of the logs have the batch.
	Planned, Committed bool
	// Offsets is nil where the batch has no offset log.
	Offsets *OffsetLog
	// Commit is nil where the batch has no commit log.
	Commit *CommitLog
}

// Batches returns the ids of the batches in the logs, planned and committed,
// in ascending order each. It opens no file.
func (c *Checkpoint) Batches() (planned, committed []int64) { return c.planned, c.committed }

// Batch reads both logs of a batch. One that is in neither is a *BatchError.
func (c *Checkpoint) Batch(id int64) (*Batch, error) {
	b := &Batch{ID: id}
	o, err := c.OffsetLog(id)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	b.Offsets, b.Planned = o, o != nil
	l, err := c.CommitLog(id)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	b.Commit, b.Committed = l, l != nil
	if o == nil && l == nil {
		return nil, &BatchError{Batch: id, Readable: c.committed, Err: errors.New("neither offsets/ nor commits/ has it")}
	}
	return b, nil
}
