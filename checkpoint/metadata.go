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

// OperatorMetadata is what Spark 4.0 and later record of a stateful operator,
// in state/<id>/_metadata/metadata (version 1) or _metadata/v2/<batch>. It is two
// lines of text, of which the second is broken here:
//
//	┌──────────────────────────────────────────────────────────────────────────────┐
//	│ v1                                                                           │
//	│ {"operatorInfo":{"operatorId":1,"operatorName":"dedupe"},"stateStoreInfo":   │
//	│ [{"storeName":"default","numColsPrefixKey":0,"numPartitions":4}]}            │
//	└──────────────────────────────────────────────────────────────────────────────┘
type OperatorMetadata struct {
	// Version is 1 or 2.
	Version int
	ID      int
	Name    string
	Stores  []StoreMetadata
	// Properties is the operator's own JSON (version 2), such as the state
	// variables of transformWithState; empty otherwise.
	Properties string
}

// StoreMetadata describes one store of an operator.
type StoreMetadata struct {
	Name string
	// PrefixColumns is the number of leading key columns that the operator
	// scans by.
	PrefixColumns int
	// Partitions is the number of partitions that was planned when the file
	// was written; operators that run as one task have a single directory all
	// the same.
	Partitions int
	// SchemaPaths are the schema files as they were written (version 2):
	// absolute, and wrong once the checkpoint has been copied.
	SchemaPaths []string
}

// maxStores is how many stores an operator may have; none of Spark's has more
// than four.
const maxStores = 100

// ParseOperatorMetadata parses either version. Errors are
// *statestore.FileError without a path.
func ParseOperatorMetadata(b []byte) (*OperatorMetadata, error) {
	v, lines, err := logLines(b)
	if err != nil {
		return nil, err
	}
	if v > 2 {
		return nil, unsupportedLog("operator metadata", v)
	}
	if len(lines) == 0 {
		return nil, corruptLog("nothing after the first line")
	}
	var m struct {
		Operator *struct {
			ID   int    `json:"operatorId"`
			Name string `json:"operatorName"`
		} `json:"operatorInfo"`
		Stores []struct {
			Name       string   `json:"storeName"`
			Prefix     int      `json:"numColsPrefixKey"`
			Partitions int      `json:"numPartitions"`
			Paths      []string `json:"stateSchemaFilePaths"`
			Path       string   `json:"stateSchemaFilePath"` // builds before 4.0.0
		} `json:"stateStoreInfo"`
		Properties string `json:"operatorPropertiesJson"`
	}
	if err := json.Unmarshal([]byte(lines[0]), &m); err != nil {
		return nil, &statestore.FileError{Offset: -1, Kind: statestore.ErrCorrupt, Detail: "the second line is no JSON that Spark writes", Err: err}
	}
	if m.Operator == nil || m.Operator.Name == "" {
		return nil, corruptLog("no operator is named")
	}
	out := &OperatorMetadata{Version: v, ID: m.Operator.ID, Name: m.Operator.Name, Properties: m.Properties}
	if len(m.Stores) > maxStores {
		return nil, &statestore.FileError{Offset: -1, Kind: statestore.ErrTooLarge, Detail: fmt.Sprintf("an operator with %d stores", len(m.Stores))}
	}
	seen := make(map[string]bool)
	for _, s := range m.Stores {
		// The name is that of a directory, of one level.
		if seen[s.Name] || strings.Contains(s.Name, "/") || !fs.ValidPath(s.Name) || s.Name == "." || s.Partitions < 0 || s.Partitions > maxID || s.Prefix < 0 {
			return nil, corruptLog("store %q with %d partitions and %d prefix columns", s.Name, s.Partitions, s.Prefix)
		}
		seen[s.Name] = true
		st := StoreMetadata{Name: s.Name, PrefixColumns: s.Prefix, Partitions: s.Partitions, SchemaPaths: s.Paths}
		if s.Path != "" {
			st.SchemaPaths = append(st.SchemaPaths, s.Path)
		}
		out.Stores = append(out.Stores, st)
	}
	return out, nil
}

// operatorMetadata reads the metadata of an operator as it was at a batch;
// fs.ErrNotExist where there is none. Spark takes version 2 where its
// directory exists: of its files, the newest that is not newer than the batch.
func (c *Checkpoint) operatorMetadata(dir string, batch int64) (*OperatorMetadata, error) {
	name := path.Join(dir, "_metadata", "metadata")
	batches, err := c.numbered(path.Join(dir, "_metadata", "v2"), false)
	if err != nil {
		return nil, err
	}
	if len(batches) > 0 {
		pick := batches[0]
		for _, b := range batches {
			if b <= batch {
				pick = b
			}
		}
		name = path.Join(dir, "_metadata", "v2", strconv.FormatInt(pick, 10))
	}
	return readParsed(c, name, true, ParseOperatorMetadata)
}

// ID returns the query's id, a UUID, from the file metadata; empty where the
// file is missing, as in a partial copy.
func (c *Checkpoint) ID() (string, error) {
	if c.at.root == "" {
		return "", nil
	}
	name := path.Join(c.at.root, "metadata")
	b, err := c.readSmall(name, true)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var m struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(bytes.TrimSpace(b), &m); err != nil {
		return "", &statestore.FileError{Path: name, Offset: -1, Kind: statestore.ErrCorrupt, Detail: "not the JSON of a query id", Err: err}
	}
	if m.ID == "" {
		return "", &statestore.FileError{Path: name, Offset: -1, Kind: statestore.ErrCorrupt, Detail: fmt.Sprintf("no query id in %.60q", b)}
	}
	return m.ID, nil
}
