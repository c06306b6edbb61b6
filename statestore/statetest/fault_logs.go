package statetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// DropOffsets removes the offset logs of batches: a number is missing between
// others, or commits/ is ahead.
func DropOffsets(batches ...int64) Fault {
	var files []File
	for _, b := range batches {
		files = append(files, OffsetLog(b))
	}
	return as("DropOffsets", Drop(files...))
}

// DropCommits removes the commit logs of batches. Without that of the last one
// the batch is in flight, and its state is not committed.
func DropCommits(batches ...int64) Fault {
	var files []File
	for _, b := range batches {
		files = append(files, CommitLog(b))
	}
	return as("DropCommits", Drop(files...))
}

// TwoWriters exchanges the offset logs of two batches, so that times and
// offsets go back as they do where two queries write to one checkpoint.
func TwoWriters(a, b int64) Fault { return as("TwoWriters", Swap(OffsetLog(a), OffsetLog(b))) }

// ChangeConf changes what the offset log of a batch pins; an empty value takes
// the key out.
func ChangeConf(batch int64, key, value string) Fault {
	f := edit("ChangeConf", OffsetLog(batch), func(b []byte) ([]byte, error) {
		// v1, a line of JSON, and the offset of each source.
		lines := bytes.SplitN(b, []byte("\n"), 3)
		if len(lines) < 3 {
			return nil, errors.New("no offset log")
		}
		var meta map[string]json.RawMessage
		if err := json.Unmarshal(lines[1], &meta); err != nil {
			return nil, err
		}
		conf := map[string]string{}
		if c, ok := meta["conf"]; ok {
			if err := json.Unmarshal(c, &conf); err != nil {
				return nil, err
			}
		}
		if conf[key] == value {
			return nil, errUnchanged
		}
		if conf[key] = value; value == "" {
			delete(conf, key)
		}
		var err error
		if meta["conf"], err = json.Marshal(conf); err != nil {
			return nil, err
		}
		if lines[1], err = json.Marshal(meta); err != nil {
			return nil, err
		}
		return bytes.Join(lines, []byte("\n")), nil
	})
	f.name += fmt.Sprintf(" %s=%s", key, value)
	return f
}
