package statetest

import (
	"os"
	"path"
	"path/filepath"
	"testing/fstest"
)

// Sink takes the files of a checkpoint; names are slash-separated and relative
// to its root.
type Sink interface {
	WriteFile(name string, data []byte) error
}

// Dir returns a sink that writes below a directory of the local file system,
// and makes the directories that are missing.
func Dir(root string) Files { return dir(root) }

type dir string

func (d dir) WriteFile(name string, data []byte) error {
	full := filepath.Join(string(d), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
		return err
	}
	return os.WriteFile(full, data, 0o666)
}

// Map returns a sink that writes into a map below root.
func Map(m fstest.MapFS, root string) Files { return inMap{m, root} }

type inMap struct {
	m    fstest.MapFS
	root string
}

func (m inMap) WriteFile(name string, data []byte) error {
	m.m[path.Join(m.root, name)] = &fstest.MapFile{Data: data, Mode: 0o644}
	return nil
}
