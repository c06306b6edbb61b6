package checkpoint_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/codec"
)

// tree is a checkpoint in memory, to be damaged.
type tree struct {
	t testing.TB
	m fstest.MapFS
}

// fixture loads a checkpoint of testdata: a directory, or a zip file.
func fixture(t testing.TB, name string) tree {
	t.Helper()
	full := filepath.Join("..", "testdata", filepath.FromSlash(name))
	fsys, root := os.DirFS(full), "checkpoint"
	if filepath.Ext(full) == ".zip" {
		z, err := zip.OpenReader(full)
		require.NoError(t, err)
		defer z.Close()
		fsys = z
	}
	m := fstest.MapFS{}
	require.NoError(t, fs.WalkDir(fsys, root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(fsys, p)
		m[strings.TrimPrefix(p, root+"/")] = &fstest.MapFile{Data: b}
		return err
	}))
	return tree{t, m}
}

func (r tree) open(opts ...checkpoint.OpenOption) *checkpoint.Checkpoint {
	r.t.Helper()
	cp, err := checkpoint.OpenFS(r.m, ".", opts...)
	require.NoError(r.t, err)
	return cp
}

func (r tree) check(level checkpoint.CheckLevel) *checkpoint.CheckReport {
	r.t.Helper()
	report, err := r.open().Check(context.Background(), level)
	require.NoError(r.t, err)
	return report
}

func (r tree) get(name string) []byte {
	r.t.Helper()
	require.Contains(r.t, r.m, name)
	return r.m[name].Data
}

// put writes a file, and keeps its sidecars.
func (r tree) put(name string, b []byte) { r.m[name] = &fstest.MapFile{Data: b} }

// edit changes a file, and keeps its sidecars.
func (r tree) edit(name string, fn func([]byte) []byte) { r.put(name, fn(bytes.Clone(r.get(name)))) }

// unsum removes the sidecars of a file.
func (r tree) unsum(name string) {
	d, b := path.Split(name)
	for _, n := range []string{d + "." + b + ".crc", name + ".crc", d + "." + b + ".crc.crc"} {
		delete(r.m, n)
	}
}

// remove removes files, and their sidecars.
func (r tree) remove(names ...string) {
	r.t.Helper()
	for _, n := range names {
		r.get(n)
		delete(r.m, n)
		r.unsum(n)
	}
}

// removeAll removes whatever lies below a directory.
func (r tree) removeAll(dir string) {
	for n := range r.m {
		if strings.HasPrefix(n, dir+"/") {
			delete(r.m, n)
		}
	}
}

// rename moves a file without its sidecars, which go.
func (r tree) rename(from, to string) {
	b := r.get(from)
	r.remove(from)
	r.put(to, b)
}

// plain returns the decompressed bytes of a state file.
func (r tree) plain(name string) []byte {
	r.t.Helper()
	d, err := codec.NewReader(bytes.NewReader(r.get(name)), int64(len(r.get(name))))
	require.NoError(r.t, err)
	var out []byte
	for {
		b, err := d.Next()
		if err != nil {
			return out
		}
		out = append(out, b...)
	}
}

// pack writes a state file anew, and takes its sidecars away.
func (r tree) pack(name string, c codec.Codec, body []byte) {
	r.t.Helper()
	var out bytes.Buffer
	w, err := codec.NewWriter(&out, c, 0)
	require.NoError(r.t, err)
	_, err = w.Write(body)
	require.NoError(r.t, err)
	require.NoError(r.t, w.Close())
	r.put(name, out.Bytes())
	r.unsum(name)
}

func (r tree) confChange(batch int, key, from, to string) {
	name := fmt.Sprintf("offsets/%d", batch)
	r.edit(name, func(b []byte) []byte {
		old := fmt.Sprintf("%q:%q", key, from)
		require.Contains(r.t, string(b), old)
		return []byte(strings.Replace(string(b), old, fmt.Sprintf("%q:%q", key, to), 1))
	})
	r.unsum(name)
}

const (
	info     = checkpoint.Info
	warning  = checkpoint.Warning
	critical = checkpoint.Critical
)

type found map[string]checkpoint.Severity

// checkDamage compares what a check says of damaged checkpoints with what it is
// to say.
func checkDamage(t *testing.T, cases []damageCase) {
	for _, c := range cases {
		if len(c.fixtures) == 0 {
			c.fixtures = billings
		}
		for _, name := range c.fixtures {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				r := fixture(t, name)
				c.damage(r)
				report := r.check(c.level)
				got, infos := found{}, found{}
				for _, f := range report.Findings {
					if f.Severity == info {
						infos[f.ID] = info
					} else {
						got[f.ID] = max(got[f.ID], f.Severity)
					}
				}
				require.Equal(t, c.want, got, "%+v", report.Findings)
				for _, id := range c.infos {
					assert.Contains(t, infos, id)
				}
				for _, id := range c.none {
					assert.NotContains(t, infos, id)
				}
				if len(report.Findings) > 0 {
					first := report.Findings[0]
					text := first.What + " | " + first.Do
					for _, f := range report.Findings[1:] {
						if f.Severity > info {
							text += " | " + f.What + " | " + f.Do
						}
					}
					for _, s := range c.says {
						assert.Contains(t, text, s)
					}
					if c.file != "" {
						assert.Equal(t, c.file, first.File)
					}
				}
				for j := range checkpoint.Judges {
					a := report.Answers[j]
					if c.restarts != "" {
						want := c.restarts[min(int(j), len(c.restarts)-1)] == 'y'
						assert.Equal(t, want, a.Restarts, "%v: %v", j, a.Why)
						assert.Equal(t, want, a.Why == nil, "%v: %v", j, a.Why)
					}
					if len(c.newest) > 0 {
						assert.Equal(t, c.newest[min(int(j), len(c.newest)-1)], a.Newest, "%v", j)
					}
				}
			})
		}
	}
}

func TestCheckFindsDamage(t *testing.T) { checkDamage(t, damageCases) }
