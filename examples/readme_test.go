// Package examples has programs below it and no code of its own.
package examples

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/internal/readme"
	"github.com/sparkstate/sparkstate/statestore"
)

func TestReadme(t *testing.T) { readme.Run(t, readme.File{Name: "README.md", Top: ".."}) }

// The README of the whole, but for commands on files that only its readers have.
func TestTopReadme(t *testing.T) {
	readme.Run(t, readme.File{
		Name: "../README.md", Top: "..", Tools: []string{"jq"},
		Before:  `go build -o sparkstate ./examples/sparkstate && PATH=$PWD:$PATH`,
		Without: []string{"/mnt/", "COPY", "https:", "python"},
	})
}

// TestZip: a zip file of a checkpoint answers as the directory does, as a file
// and as a file system.
func TestZip(t *testing.T) {
	const fixture = "../testdata/4.1.4/ad_billing/checkpoint"
	counts := func(cp *checkpoint.Checkpoint, err error) (out [][]statestore.Count) {
		require.NoError(t, err)
		defer cp.Close()
		for _, op := range cp.Operators() {
			for _, s := range op.Stores() {
				c, err := s.Counts(t.Context())
				require.NoError(t, err)
				out = append(out, c.Partitions)
			}
		}
		return out
	}
	want := counts(checkpoint.Open(fixture))
	require.Len(t, want, 2)

	var b bytes.Buffer
	w := zip.NewWriter(&b)
	require.NoError(t, w.AddFS(os.DirFS(fixture)))
	require.NoError(t, w.Close())
	name := filepath.Join(t.TempDir(), "sent.ZIP")
	require.NoError(t, os.WriteFile(name, b.Bytes(), 0o600))
	require.Equal(t, want, counts(checkpoint.Open(name)))

	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	require.Equal(t, want, counts(checkpoint.OpenFS(z, ".")))
}
