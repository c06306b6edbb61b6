package statebeam

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/checkpoint/parquetexport"
	"github.com/sparkstate/sparkstate/examples/cloud/bucketfs"
	"github.com/sparkstate/sparkstate/examples/internal/paths"
)

// File is a Parquet file that was written.
type File struct {
	Task
	Path string `json:"path"` // below the directory that was given
	Rows int64  `json:"numRows"`
}

// ErrInside is returned for a directory within a checkpoint: nothing is ever
// written there.
var ErrInside = errors.New("the directory to export to lies in the checkpoint")

func init() {
	beam.RegisterType(reflect.TypeFor[File]())
	register.DoFn3x1[context.Context, Task, func(File), error](&exportFn{})
	register.Emitter1[File]()
}

// Export writes the rows of each partition that is there as a Parquet file into
// a directory that all workers see, or the URL of a bucket:
// PCollection<Task> → PCollection<File>. The files are those of package
// parquetexport, at
//
//	CHECKPOINT/OPERATOR/STORE/batch=N/part-NNNNN.parquet
//
// where CHECKPOINT is made of the checkpoint's name and unique to it. A file
// appears whole or not at all, and one that a runner tries twice is replaced by
// its like.
func Export(s beam.Scope, to string, tasks beam.PCollection) beam.PCollection {
	return beam.ParDo(s.Scope("statebeam.Export"), &exportFn{To: to}, tasks)
}

// exportFn writes the file of one partition.
type exportFn struct {
	To   string
	from checkpoints
	out  *blob.Bucket
	dir  string // in the bucket
}

func (f *exportFn) ProcessElement(ctx context.Context, t Task, emit func(File)) error {
	s, err := f.from.store(t.StoreID)
	if err != nil {
		return err
	}
	if !slices.Contains(s.Present(), t.Partition) {
		return nil // nothing is known of it
	}
	if err := f.open(t, s.Operator().Checkpoint()); err != nil {
		return err
	}
	label := s.Operator().Label()
	name := path.Join(folder(t.Checkpoint), plain(label), plain(t.Store), fmt.Sprintf("batch=%d", t.Batch), fmt.Sprintf("part-%05d.parquet", t.Partition))
	rows, err := f.write(ctx, s, t, path.Join(f.dir, name))
	if err != nil {
		return fmt.Errorf("%s: %w", t.Checkpoint, err)
	}
	emit(File{Task: t, Path: name, Rows: rows})
	return nil
}

// open opens what is exported to, unless it is open.
func (f *exportFn) open(t Task, cp *checkpoint.Checkpoint) error {
	local := !isURL(f.To)
	if local && !isURL(t.Checkpoint) {
		switch inside, err := paths.Within(f.To, cp.Root()); {
		case err != nil:
			return err
		case inside:
			return fmt.Errorf("%s: %w", f.To, ErrInside)
		}
	}
	if f.out != nil {
		return nil
	}
	var err error
	if local {
		f.out, err = fileblob.OpenBucket(f.To, &fileblob.Options{CreateDir: true, NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	} else {
		f.out, f.dir, err = bucketfs.Open(context.Background(), f.To)
	}
	return err
}

// write writes one file. Before its Close a blob is not there, and it never will
// be if its context has ended first.
func (f *exportFn) write(ctx context.Context, s *checkpoint.Store, t Task, key string) (rows int64, err error) {
	schema, err := s.Schema()
	if err != nil {
		return 0, err
	}
	meta := s.Origin(checkpoint.At{Batch: t.Batch, Version: t.Batch + 1}).Metadata()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := f.out.NewWriter(ctx, key, &blob.WriterOptions{ContentType: "application/vnd.apache.parquet"})
	if err != nil {
		return 0, err
	}
	records := s.Records(ctx, checkpoint.AtBatch(t.Batch), checkpoint.Partitions(t.Partition),
		checkpoint.BatchSize(parquetexport.BatchRows, parquetexport.BatchBytes))
	if rows, err = pour(w, arrow.NewSchema(schema.Fields(), &meta), records); err != nil {
		cancel()
		_ = w.Close() // which gives it up
		return 0, err
	}
	return rows, w.Close()
}

// pour writes records as a Parquet file.
func pour(w io.Writer, schema *arrow.Schema, records iter.Seq2[arrow.Record, error]) (rows int64, err error) {
	pq, err := parquetexport.NewWriter(w, schema)
	if err != nil {
		return 0, err
	}
	for rec, err := range records {
		if err != nil {
			return 0, err
		}
		err = pq.Write(rec)
		rec.Release()
		if err != nil {
			return 0, err
		}
	}
	return pq.Rows(), pq.Close()
}

func (f *exportFn) Teardown() error {
	err := f.from.teardown()
	if f.out != nil {
		err = errors.Join(err, f.out.Close())
		f.out = nil
	}
	return err
}

// folder returns a name for what is exported of a checkpoint: its own, without
// what is special in paths, and some digits of its hash.
func folder(name string) string {
	short := plain(name)
	short = strings.TrimLeft(short[max(0, len(short)-40):], "._-")
	return fmt.Sprintf("%s-%x", short, sha256.Sum256([]byte(name)))[:len(short)+1+12]
}

var special = regexp.MustCompile(`[^A-Za-z0-9_.-]+|^\.+`)

// plain returns a name without what is special in paths.
func plain(name string) string { return special.ReplaceAllString(name, "_") }
