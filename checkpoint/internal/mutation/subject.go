package mutation

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// Subject is an undamaged checkpoint, compressed in one way, with or without
// its .crc files.
type Subject struct {
	// Name is that of the checkpoint, such as 4.1.4/ad_billing.
	Name string
	// Codec is how the state files are compressed.
	Codec codec.Codec
	// Sidecars says whether the .crc files are there.
	Sidecars bool
	// RowSums says that rows carry checksums of their own.
	RowSums bool

	load func() (map[string][]byte, error)
}

// String names the subject as the command's flag -subject takes it:
// 4.1.4/ad_billing:snappy:sums.
func (s *Subject) String() string {
	sums := "bare"
	if s.Sidecars {
		sums = "sums"
	}
	return fmt.Sprintf("%s:%s:%s", s.Name, s.Codec, sums)
}

// codecs are all that a state file can be in.
var codecs = append(codec.Compressions(), codec.None)

// Subjects returns every checkpoint of testdata, which Spark wrote, and those
// of statetest, each in every compression and with and without .crc files. The
// rows of a checkpoint are the same in all of them.
func Subjects(testdata fs.FS) ([]*Subject, error) {
	sources, err := spark(testdata)
	if err != nil {
		return nil, err
	}
	sources = append(sources, made()...)
	var out []*Subject
	for _, from := range sources {
		for _, c := range codecs {
			for _, sums := range []bool{true, false} {
				if !from.hdfs && c != from.codec {
					continue // what the library does not read stays as it is
				}
				s := &Subject{Name: from.name, Codec: c, Sidecars: sums, RowSums: from.rowSums}
				s.load = func() (map[string][]byte, error) { return s.files(from) }
				out = append(out, s)
			}
		}
	}
	return out, nil
}

// source is where the files of a subject are from.
type source struct {
	name    string
	codec   codec.Codec
	hdfs    bool
	rowSums bool
	files   func() (map[string][]byte, error)
}

// spark lists the cases of testdata: a directory or a zip file each, by the
// version of Spark.
func spark(testdata fs.FS) ([]source, error) {
	found, err := fs.Glob(testdata, "[0-9]*/*")
	if err != nil {
		return nil, err
	}
	var out []source
	for _, name := range found {
		s := source{name: strings.TrimSuffix(name, ".zip"), codec: codec.LZ4}
		s.hdfs = !strings.HasPrefix(path.Base(name), "rocksdb")
		s.rowSums = strings.Contains(name, "row_checksum")
		s.files = func() (map[string][]byte, error) {
			if path.Ext(name) != ".zip" {
				return readTree(testdata, path.Join(name, "checkpoint"))
			}
			b, err := fs.ReadFile(testdata, name)
			if err != nil {
				return nil, err
			}
			z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				return nil, err
			}
			return readTree(z, "checkpoint")
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no checkpoints in the test data: %w", fs.ErrNotExist)
	}
	return out, nil
}

// files makes the subject's files of those of its source.
func (s *Subject) files(from source) (map[string][]byte, error) {
	files, err := from.files()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s, err)
	}
	t := damage(newTree(files))
	for name := range files {
		var faults []statetest.Fault
		f := statetest.Path(name)
		switch {
		case !from.hdfs:
		case classOf(name) == State && codecOf(files[name]) != s.Codec:
			faults = append(faults, statetest.WrongCodec(f, s.Codec), statetest.RenewSidecars(f))
		case classOf(name) == Offsets && !bytes.Contains(files[name], fmt.Appendf(nil, "%q:%q", checkpoint.ConfCodec, s.Codec)):
			faults = append(faults, changeCodec(f, s.Codec), statetest.RenewSidecars(f))
		}
		if err := statetest.Damage(t, faults...); err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
	}
	maps.Copy(files, t.changed)
	if !s.Sidecars {
		maps.DeleteFunc(files, func(name string, _ []byte) bool { return classOf(name) == Sidecar })
	}
	return files, nil
}

func changeCodec(f statetest.File, c codec.Codec) statetest.Fault {
	var batch int64
	if _, err := fmt.Sscanf(f.String(), "offsets/%d", &batch); err != nil {
		batch = -1 // and the fault says that there is no such log
	}
	return statetest.ChangeConf(batch, checkpoint.ConfCodec, c.String())
}

func codecOf(b []byte) codec.Codec {
	return codec.Sniff(b[:min(len(b), codec.HeadLen)], int64(len(b)))
}

// Class is what a file of a checkpoint is for.
type Class string

// The classes of files that are damaged.
const (
	State    Class = "state"
	Sidecar  Class = "sidecar"
	Schema   Class = "schema"
	Metadata Class = "metadata"
	Offsets  Class = "offsets"
	Commits  Class = "commits"
	Other    Class = "other"
)

// Classes lists those that are damaged.
var Classes = []Class{State, Sidecar, Schema, Metadata, Offsets, Commits}

func classOf(name string) Class {
	dir, base := path.Split(name)
	kind, _ := hdfs.ParseName(base)
	switch {
	case strings.HasSuffix(base, ".crc"):
		return Sidecar
	case strings.HasSuffix(dir, "_metadata/") && base == "schema", strings.Contains(dir, "/_stateSchema/"):
		return Schema
	case strings.Contains(dir, "_metadata/"), name == "metadata":
		return Metadata
	case dir == "offsets/":
		return Offsets
	case dir == "commits/":
		return Commits
	case strings.HasPrefix(dir, "state/") && (kind == provider.DeltaFile || kind == provider.SnapshotFile):
		return State
	}
	return Other
}

// byClass sorts the names of the files into their classes.
func byClass(files map[string][]byte) map[Class][]string {
	out := make(map[Class][]string)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		c := classOf(name)
		out[c] = append(out[c], name)
	}
	return out
}
