package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/checkpoint/parquetexport"
	"github.com/sparkstate/sparkstate/skew"
	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// workVerb is the first argument of a process that is measured: what follows is
// what to do, with how many processors, and the checkpoint.
const workVerb = "work"

var works = map[string]func(dir string, workers int) error{
	"limit":   limit,
	"counts":  counts,
	"records": records,
	"parquet": parquet,
	"skew":    analysis,
}

func work(args []string) error {
	if len(args) == 3 && args[0] == "write" {
		var l statetest.Large
		if err := json.Unmarshal([]byte(args[1]), &l); err != nil {
			return err
		}
		return l.Write(statetest.Dir(args[2]))
	}
	if len(args) != 3 || works[args[0]] == nil {
		return errors.New("usage: bench work limit|counts|records|parquet|skew PROCESSORS CHECKPOINT")
	}
	workers, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(workers)
	return works[args[0]](args[2], workers)
}

// limit decompresses all state files and verifies their checksums.
func limit(dir string, workers int) error {
	var files []string
	err := filepath.WalkDir(filepath.Join(dir, "state", "0"), func(name string, e fs.DirEntry, err error) error {
		if ext := filepath.Ext(name); ext == ".delta" || ext == ".snapshot" {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	errs := make([]error, workers)
	var running sync.WaitGroup
	for w := range workers {
		running.Go(func() {
			for i := w; i < len(files); i += workers {
				errs[w] = errors.Join(errs[w], decompress(files[i]))
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

func decompress(name string) (err error) {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	r, err := codec.NewReader(f, st.Size())
	if err != nil {
		return err
	}
	for {
		if _, err = r.Next(); err == io.EOF {
			return r.Close()
		} else if err != nil {
			return err
		}
	}
}

// open opens the store of a large state.
func open(dir string) (*checkpoint.Checkpoint, *checkpoint.Store, error) {
	cp, err := checkpoint.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	s, err := cp.Store(0, "default")
	if err != nil {
		return nil, nil, errors.Join(err, cp.Close())
	}
	return cp, s, nil
}

func counts(dir string, workers int) error {
	cp, s, err := open(dir)
	if err != nil {
		return err
	}
	c, err := s.Counts(context.Background(), checkpoint.Workers(workers))
	if err != nil {
		return err
	}
	total := int64(0)
	for _, n := range c.Rows() {
		total += n
	}
	fmt.Println(total)
	return cp.Close()
}

// records makes Arrow records of all rows and lets go of them.
func records(dir string, workers int) error {
	cp, s, err := open(dir)
	if err != nil {
		return err
	}
	total := int64(0)
	for rec, err := range s.Records(context.Background(), checkpoint.Workers(workers), checkpoint.RecycleBuffers()) {
		if err != nil {
			return err
		}
		total += rec.NumRows()
		rec.Release()
	}
	fmt.Println(total)
	return cp.Close()
}

// analysis judges the skew: with the largest keys, the values of every column,
// and what other numbers of partitions would do.
func analysis(dir string, workers int) error {
	cp, s, err := open(dir)
	if err != nil {
		return err
	}
	r, err := skew.Analyze(context.Background(), s, skew.Options{Workers: workers})
	if err != nil {
		return err
	}
	fmt.Println(int64(r.Summary.Total))
	return cp.Close()
}

// parquet writes all rows as Parquet files, one for each partition, into a
// directory that is removed again.
func parquet(dir string, workers int) (err error) {
	cp, s, err := open(dir)
	if err != nil {
		return err
	}
	schema, err := s.Schema()
	if err != nil {
		return err
	}
	out, err := os.MkdirTemp(filepath.Dir(dir), "parquet")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(out)) }()
	total := int64(0)
	for n, err := range checkpoint.Walk(context.Background(), s, func(ctx context.Context, p int, emit func(int64) bool) error {
		n, err := parquetFile(ctx, s, schema, p, filepath.Join(out, fmt.Sprintf("part-%05d.parquet", p)))
		emit(n)
		return err
	}, checkpoint.Workers(workers)) {
		if err != nil {
			return err
		}
		total += n
	}
	fmt.Println(total)
	return cp.Close()
}

func parquetFile(ctx context.Context, s *checkpoint.Store, schema *arrow.Schema, partition int, name string) (rows int64, err error) {
	f, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	w, err := parquetexport.NewWriter(f, schema)
	if err != nil {
		return 0, errors.Join(err, f.Close())
	}
	defer func() { err = errors.Join(err, w.Close(), f.Close()) }()
	for rec, err := range s.Records(ctx, checkpoint.Partitions(partition), checkpoint.Workers(1), checkpoint.RecycleBuffers(),
		checkpoint.BatchSize(parquetexport.BatchRows, parquetexport.BatchBytes)) {
		if err != nil {
			return rows, err
		}
		err := w.Write(rec)
		rows += rec.NumRows()
		rec.Release()
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}
