package statetest

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Files is a checkpoint that can be damaged: what [Dir] and [Map] return. Names
// are slash-separated and relative to its root. A file system of one's own
// serves as well.
type Files interface {
	Sink
	// FS reads the files and lists the directories.
	fs.FS
	// Remove removes a file, or a directory without any.
	Remove(name string) error
}

func (d dir) Open(name string) (fs.File, error) { return os.DirFS(string(d)).Open(name) }

func (d dir) Remove(name string) error {
	return os.Remove(filepath.Join(string(d), filepath.FromSlash(name)))
}

func (m inMap) Open(name string) (fs.File, error) { return m.m.Open(path.Join(m.root, name)) }

// Remove removes a file. A map has no directories of their own, so the last
// file of one takes it along.
func (m inMap) Remove(name string) error {
	full := path.Join(m.root, name)
	if m.m[full] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	delete(m.m, full)
	return nil
}

// Fault is one kind of damage to the files of a checkpoint, ready to be done
// by [Damage]. There is a function for each kind; it is named for what happened
// to the files, and its result can be used on any number of checkpoints.
//
// A fault is that of a disk, a copy or a killed task: it does not touch the
// .crc files of what it damages, which are what may give it away. [DropSidecars]
// takes them away, as copies do, and [RenewSidecars] has them agree with the
// damaged file, as if Spark had written it so.
type Fault struct {
	name string
	do   func(Files) error
}

// String says what is damaged and how, as in "FlipByte state/0/1/3.delta".
func (f Fault) String() string { return f.name }

// Damage does the faults one after the other. It stops at the first that
// cannot be done, because what it is about is not there or not as it must be;
// none leaves the checkpoint as it was without saying so.
//
//	err := statetest.Damage(statetest.Dir("checkpoint"),
//		statetest.DropDelta(0, "default", 2, 7),
//		statetest.FlipByte(statetest.Snapshot(1, "default", 0, 6), 100, 0x10))
func Damage(files Files, faults ...Fault) error {
	for _, f := range faults {
		if err := f.do(files); err != nil {
			return fmt.Errorf("statetest: %s: %w", f, err)
		}
	}
	return nil
}

// fault makes a fault that concerns some files.
func fault(kind string, do func(Files) error, files ...File) Fault {
	for _, f := range files {
		kind += " " + f.name
	}
	return Fault{kind, do}
}

// edit makes a fault that writes one file anew.
func edit(kind string, f File, change func(old []byte) ([]byte, error)) Fault {
	return fault(kind, func(files Files) error {
		old, err := fs.ReadFile(files, f.name)
		if err != nil {
			return err
		}
		// Whether a file system hands out its own bytes is its own affair.
		b, err := change(slices.Clone(old))
		if err != nil {
			return err
		}
		if slices.Equal(b, old) {
			return errUnchanged
		}
		return files.WriteFile(f.name, b)
	}, f)
}
