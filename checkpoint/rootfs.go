package checkpoint

import (
	"io/fs"
	"os"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// rootFS is the file system of an os.Root. Listing a directory of it asks for
// the type of every entry with a call of its own, which is most of what opening
// a checkpoint of many files would cost; so types are asked for one by one.
type rootFS struct{ rooted }

// rooted is what the file system of an os.Root is documented to be.
type rooted interface {
	fs.StatFS
	fs.ReadDirFS
	fs.ReadFileFS
	fs.ReadLinkFS
}

var _ provider.NamesOnly = rootFS{}

func (rootFS) NamesOnly() {}

func fsOf(r *os.Root) fs.FS {
	if f, ok := r.FS().(rooted); ok {
		return rootFS{f}
	}
	return r.FS()
}
