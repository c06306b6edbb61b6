package statebeam

import (
	"context"
	"errors"
	"fmt"
	"strings"

	// The clouds that a checkpoint can be in.
	_ "gocloud.dev/blob/azureblob"
	_ "gocloud.dev/blob/fileblob"
	_ "gocloud.dev/blob/gcsblob"
	_ "gocloud.dev/blob/s3blob"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/cloud/bucketfs"
)

// opened is a checkpoint with what has to be closed after it.
type opened struct {
	*checkpoint.Checkpoint
	close func() error
}

// isURL tells the URL of a bucket from a path.
func isURL(name string) bool { return strings.Contains(name, "://") }

// open opens the checkpoint at a path or at the URL of a bucket.
func open(ctx context.Context, name string) (*opened, error) {
	if !isURL(name) {
		cp, err := checkpoint.Open(name)
		if err != nil {
			return nil, err
		}
		return &opened{cp, cp.Close}, nil
	}
	bucket, root, err := bucketfs.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	cp, err := checkpoint.OpenFS(bucketfs.New(ctx, bucket), root)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), bucket.Close())
	}
	return &opened{cp, func() error { return errors.Join(cp.Close(), bucket.Close()) }}, nil
}

// maxOpen is how many checkpoints a worker's function holds open: tasks of many
// come mixed, and each would otherwise list the logs anew.
const maxOpen = 16

// checkpoints are those that one function works on.
type checkpoints struct {
	open map[string]*opened
	// ctx is that of the requests to buckets: it lives longer than the work on
	// one element.
	ctx    context.Context
	cancel context.CancelFunc
}

// store returns the store of a task.
func (c *checkpoints) store(id StoreID) (*checkpoint.Store, error) {
	if c.ctx == nil {
		c.ctx, c.cancel = context.WithCancel(context.Background())
	}
	cp := c.open[id.Checkpoint]
	if cp == nil {
		if len(c.open) >= maxOpen {
			if err := c.closeAll(); err != nil {
				return nil, err
			}
		}
		var err error
		if cp, err = open(c.ctx, id.Checkpoint); err != nil {
			return nil, err
		}
		if c.open == nil {
			c.open = make(map[string]*opened)
		}
		c.open[id.Checkpoint] = cp
	}
	s, err := cp.Store(id.Operator, id.Store)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", id.Checkpoint, err)
	}
	return s, nil
}

func (c *checkpoints) closeAll() error {
	var errs []error
	for _, cp := range c.open {
		errs = append(errs, cp.close())
	}
	c.open = nil
	return errors.Join(errs...)
}

// teardown closes all; it is for the Teardown of a function.
func (c *checkpoints) teardown() error {
	if c.cancel != nil {
		defer c.cancel()
	}
	return c.closeAll()
}
