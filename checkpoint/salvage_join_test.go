package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
)

func joinSide(t *testing.T, r tree, side checkpoint.Side) *checkpoint.JoinSide {
	t.Helper()
	for _, o := range r.open().Operators() {
		if j, err := o.JoinSide(side); err == nil {
			return j
		}
	}
	t.Fatal("no join")
	return nil
}

// sideRows salvages a side: each row with how often, the batches it is known
// from, and whether it is doubtful.
func sideRows(t *testing.T, j *checkpoint.JoinSide) (rows []string, doubtful int, loss *checkpoint.SideLoss) {
	t.Helper()
	loss = &checkpoint.SideLoss{}
	n, _ := j.Operator().Partitions()
	for p := range n {
		for r, err := range j.Salvage(context.Background(), p, loss) {
			require.NoError(t, err)
			rows = append(rows, fmt.Sprintf("%x %x", r.Key, r.Value))
			if r.Doubtful {
				doubtful++
			}
		}
	}
	slices.Sort(rows)
	assert.Equal(t, int64(len(rows)), loss.Yielded)
	assert.Equal(t, int64(doubtful), loss.Doubtful)
	return rows, doubtful, loss
}

// visibleRows counts what Records shows.
func visibleRows(t *testing.T, j *checkpoint.JoinSide) (n int64) {
	t.Helper()
	for rec, err := range j.Records(context.Background(), nil) {
		require.NoError(t, err)
		n += rec.NumRows()
		rec.Release()
	}
	return n
}

func TestSalvageOfJoinSide(t *testing.T) {
	for _, name := range []string{"3.5.9/join_leftOuter.zip", "4.1.4/join_leftOuter.zip"} {
		t.Run(name, func(t *testing.T) {
			pristine := fixture(t, name)
			side := checkpoint.Left
			want := visibleRows(t, joinSide(t, pristine, side))
			if want == 0 {
				side = checkpoint.Right
				want = visibleRows(t, joinSide(t, pristine, side))
			}
			require.NotZero(t, want)
			rows, doubtful, loss := sideRows(t, joinSide(t, pristine, side))
			assert.Len(t, rows, int(want))
			assert.Zero(t, doubtful)
			assert.Equal(t, checkpoint.SideLoss{Rows: checkpoint.Loss{Rows: loss.Rows.Rows}, Numbers: checkpoint.Loss{Rows: loss.Numbers.Rows}, Yielded: want, Leftover: loss.Leftover}, *loss)

			dirOf := func(r tree, store string) (dirs []string) {
				for n := range r.m {
					if d := path.Dir(n); path.Base(d) == string(side)+store && !slices.Contains(dirs, d) {
						dirs = append(dirs, d)
					}
				}
				return dirs
			}
			const numbers, values = "-keyToNumValues", "-keyWithIndexToValue"

			t.Run("without the numbers", func(t *testing.T) {
				r := fixture(t, name)
				for _, d := range dirOf(r, numbers) {
					for n := range r.m {
						if path.Dir(n) == d {
							delete(r.m, n)
						}
					}
				}
				got, doubtful, loss := sideRows(t, joinSide(t, r, side))
				for _, row := range rows {
					assert.Contains(t, got, row, "none is lost")
				}
				assert.Equal(t, len(got), doubtful, "any of them may be left over")
				assert.NotEmpty(t, loss.Files())
				assert.Zero(t, loss.Holes)
			})
			t.Run("without the rows", func(t *testing.T) {
				r := fixture(t, name)
				for _, d := range dirOf(r, values) {
					for n := range r.m {
						if path.Dir(n) == d && !strings.Contains(n, "_metadata") {
							delete(r.m, n)
						}
					}
				}
				got, _, loss := sideRows(t, joinSide(t, r, side))
				assert.Empty(t, got)
				assert.Equal(t, want, loss.Holes, "what is lost is known by number")
			})
			t.Run("with a damaged file of each", func(t *testing.T) {
				r := fixture(t, name)
				cut := 0
				for _, store := range []string{numbers, values} {
					for _, d := range dirOf(r, store) {
						for n := range r.m {
							if path.Dir(n) == d && path.Ext(n) == ".delta" && len(r.m[n].Data) > 60 {
								r.edit(n, func(b []byte) []byte { return b[:len(b)-30] })
								cut++
							}
						}
					}
				}
				require.NotZero(t, cut)
				_, _, loss := sideRows(t, joinSide(t, r, side))
				assert.NotEmpty(t, loss.Files())
				assert.LessOrEqual(t, loss.Outdated, loss.Yielded)
			})
			t.Run("with whatever describes it damaged or gone", func(t *testing.T) {
				for _, damage := range []func(r tree, n string){
					func(r tree, n string) { r.put(n, []byte("?")) },
					func(r tree, n string) { delete(r.m, n) },
				} {
					r := fixture(t, name)
					for n := range r.m {
						if strings.Contains(n, "/_metadata/metadata") || strings.HasSuffix(n, string(side)+values+"/_metadata/schema") {
							r.unsum(n)
							damage(r, n)
						}
					}
					j := joinSide(t, r, side)
					got, doubtful, loss := sideRows(t, j)
					assert.Equal(t, rows, got)
					assert.Zero(t, doubtful)
					assert.Empty(t, loss.Files())
					key, value := j.SalvageTypes()
					assert.NotNil(t, key)
					assert.Nil(t, value)
				}
			})
			t.Run("with no schema at all", func(t *testing.T) {
				r := fixture(t, name)
				for n := range r.m {
					if strings.HasSuffix(n, "/_metadata/schema") {
						delete(r.m, n)
					}
				}
				for _, err := range joinSide(t, r, side).Salvage(context.Background(), 0, &checkpoint.SideLoss{}) {
					assert.True(t, errors.Is(err, statestore.ErrNoSchema), "%v", err)
				}
			})
		})
	}
}
