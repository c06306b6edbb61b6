package statetest

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Drop removes files and their .crc files, as if they had never been written.
func Drop(files ...File) Fault {
	return fault("Drop", func(to Files) error {
		for _, f := range files {
			if err := to.Remove(f.name); err != nil {
				return err
			}
		}
		return DropSidecars(files...).do(to)
	}, files...)
}

// DropDelta removes the delta that a version begins with.
func DropDelta(operator int, store string, partition int, version int64) Fault {
	return as("DropDelta", Drop(Delta(operator, store, partition, version)))
}

// PartialBatch removes a version's delta from some partitions, and leaves those
// of the others: a sink that did not read every partition to its end.
func PartialBatch(operator int, store string, version int64, without ...int) Fault {
	var gone []File
	for _, p := range without {
		gone = append(gone, Delta(operator, store, p, version))
	}
	return as("PartialBatch", Drop(gone...))
}

// TempLeft gives a file the name back that it had before it was renamed; see
// [File.Temp]. Truncate it as well for one that was not finished.
func TempLeft(f File) Fault {
	return fault("TempLeft", func(files Files) error {
		if err := copyFile(files, f.name, f.Temp().name); err != nil {
			return err
		}
		return Drop(f).do(files)
	}, f)
}

// TwinVersion puts a copy of a file beside it whose name claims the same
// version: 07.delta beside 7.delta.
func TwinVersion(f File) Fault {
	d, base := path.Split(f.name)
	return as("TwinVersion", Copy(f, File{d + "0" + base}))
}

// Swap exchanges the contents of two files; their .crc files stay.
func Swap(a, b File) Fault {
	return fault("Swap", func(files Files) error {
		x, err := fs.ReadFile(files, a.name)
		if err != nil {
			return err
		}
		y, err := fs.ReadFile(files, b.name)
		if err != nil {
			return err
		}
		if slices.Equal(x, y) {
			return errUnchanged
		}
		x = slices.Clone(x) // it may be the file system's own
		return errors.Join(files.WriteFile(a.name, y), files.WriteFile(b.name, x))
	}, a, b)
}

// Copy writes the content of one file to another place, over what is there; no
// .crc file goes along.
func Copy(from, to File) Fault {
	return fault("Copy", func(files Files) error { return copyFile(files, from.name, to.name) }, from, to)
}

// OrphanSidecar removes a file, and leaves its .crc files behind.
func OrphanSidecar(f File) Fault {
	return fault("OrphanSidecar", func(files Files) error {
		if !slices.ContainsFunc(sidecars(f), func(s File) bool { return exists(files, s) }) {
			return errors.New("it has no .crc file")
		}
		return files.Remove(f.name)
	}, f)
}

// DropSidecars removes what is there of the .crc files of some files, as most
// tools that copy a checkpoint do.
func DropSidecars(of ...File) Fault {
	return fault("DropSidecars", func(files Files) error {
		for _, f := range of {
			for _, s := range sidecars(f) {
				if err := files.Remove(s.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
		}
		return nil
	}, of...)
}

// RenewSidecars has those .crc files of a file that are there agree with it.
func RenewSidecars(f File) Fault {
	return fault("RenewSidecars", func(files Files) error {
		b, err := fs.ReadFile(files, f.name)
		if err != nil {
			return err
		}
		if exists(files, f.HadoopCRC()) {
			if err := files.WriteFile(f.HadoopCRC().name, hadoopSums(b)); err != nil {
				return err
			}
		}
		if !exists(files, f.SparkCRC()) {
			return nil
		}
		s := sparkSum(b, firstBatchMs)
		if err := files.WriteFile(f.SparkCRC().name, s); err != nil || !exists(files, f.SparkCRC().HadoopCRC()) {
			return err
		}
		return files.WriteFile(f.SparkCRC().HadoopCRC().name, hadoopSums(s))
	}, f)
}

// WrongHadoopCRC writes a hidden .crc file that was made of other bytes: what a
// crash between two renames, or an edit of the file, leaves.
func WrongHadoopCRC(f File) Fault {
	return fault("WrongHadoopCRC", func(files Files) error {
		b, err := fs.ReadFile(files, f.name)
		if err != nil {
			return err
		}
		return files.WriteFile(f.HadoopCRC().name, hadoopSums(append(slices.Clone(b), 0)))
	}, f)
}

// WrongSparkCRC writes a JSON .crc file that was made of other bytes: that of
// another attempt of the same batch.
func WrongSparkCRC(f File) Fault {
	return fault("WrongSparkCRC", func(files Files) error {
		b, err := fs.ReadFile(files, f.name)
		if err != nil {
			return err
		}
		return files.WriteFile(f.SparkCRC().name, sparkSum(append(slices.Clone(b), 0), firstBatchMs))
	}, f)
}

// DropPartition removes all files of a partition of an operator.
func DropPartition(operator, partition int) Fault {
	dir := path.Join("state", strconv.Itoa(operator), strconv.Itoa(partition))
	return removeAll("DropPartition", dir)
}

// ExtraPartition copies the directory of a partition to a partition that there
// is none of.
func ExtraPartition(operator, from, to int) Fault {
	return moveAll("ExtraPartition", path.Join("state", strconv.Itoa(operator), strconv.Itoa(from)),
		path.Join("state", strconv.Itoa(operator), strconv.Itoa(to)), true)
}

// DropOperator removes all files of an operator.
func DropOperator(operator int) Fault {
	return removeAll("DropOperator", path.Join("state", strconv.Itoa(operator)))
}

// RenameStore moves the directories of a store to another name, in some
// partitions; the default store has none to move.
func RenameStore(operator int, from, to string, partitions ...int) Fault {
	return Fault{fmt.Sprintf("RenameStore operator %d %s %s", operator, from, to), func(files Files) error {
		for _, p := range partitions {
			if err := moveAll("RenameStore", storeDir(operator, from, p), storeDir(operator, to, p), false).do(files); err != nil {
				return err
			}
		}
		return nil
	}}
}

// ForeignFile puts a file into a partition's directory that no provider wrote.
// Spark's listing fails on a name such as notes.txt; one such as 7.zip is of
// RocksDBStateStoreProvider.
func ForeignFile(operator int, store string, partition int, name string) Fault {
	f := File{path.Join(storeDir(operator, store, partition), name)}
	return fault("ForeignFile", func(files Files) error { return files.WriteFile(f.name, []byte("not of this store\n")) }, f)
}

// as gives a fault another name.
func as(kind string, f Fault) Fault {
	_, files, _ := strings.Cut(f.name, " ")
	f.name = kind + " " + files
	return f
}

// sidecars are the .crc files that a file may have.
func sidecars(f File) []File {
	return []File{f.HadoopCRC(), f.SparkCRC(), f.SparkCRC().HadoopCRC()}
}

func exists(files Files, f File) bool {
	_, err := fs.Stat(files, f.name)
	return err == nil
}

func copyFile(files Files, from, to string) error {
	b, err := fs.ReadFile(files, from)
	if err != nil {
		return err
	}
	return files.WriteFile(to, slices.Clone(b))
}

// below lists all files below a directory, and the directories from it on
// downwards.
func below(files Files, dir string) (names, dirs []string, err error) {
	err = fs.WalkDir(files, dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			dirs = append(dirs, name)
		default:
			names = append(names, name)
		}
		return nil
	})
	return names, dirs, err
}

func removeAll(kind, dir string) Fault {
	return fault(kind, func(files Files) error { return removeTree(files, dir) }, File{dir})
}

func removeTree(files Files, dir string) error {
	names, dirs, err := below(files, dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := files.Remove(n); err != nil {
			return err
		}
	}
	for _, d := range slices.Backward(dirs) {
		// A file system without directories of its own has none left.
		if err := files.Remove(d); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func moveAll(kind, from, to string, keep bool) Fault {
	return fault(kind, func(files Files) error {
		names, _, err := below(files, from)
		for _, n := range names {
			err = errors.Join(err, copyFile(files, n, path.Join(to, strings.TrimPrefix(n, from+"/"))))
		}
		if err != nil || keep {
			return err
		}
		return removeTree(files, from)
	}, File{from}, File{to})
}
