package checkpoint_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
)

// mutate damages one state file, in one of the ways in which files get damaged,
// and returns what it did.
func mutate(r tree, rnd *rand.Rand, files []string) string {
	pick := func() string { return files[rnd.IntN(len(files))] }
	name := pick()
	b := r.m[name]
	if b == nil {
		return "nothing"
	}
	switch rnd.IntN(6) {
	case 0:
		r.remove(name)
		return "remove " + name
	case 1:
		r.edit(name, func(b []byte) []byte { return b[:rnd.IntN(len(b)+1)] })
		return "cut " + name
	case 2:
		r.edit(name, func(b []byte) []byte {
			if len(b) > 0 {
				b[rnd.IntN(len(b))] ^= byte(1 + rnd.IntN(255))
			}
			return b
		})
		return "flip in " + name
	case 3: // without the sidecars that would give it away
		r.edit(name, func(b []byte) []byte {
			if len(b) > 0 {
				b[rnd.IntN(len(b))] ^= byte(1 + rnd.IntN(255))
			}
			return b
		})
		r.unsum(name)
		return "flip, without sidecars, in " + name
	case 4:
		other := pick()
		if o := r.m[other]; o != nil {
			r.m[name], r.m[other] = o, b
		}
		return "swap " + name + " and " + other
	}
	r.edit(name, func(b []byte) []byte { return append(b, byte(rnd.Uint32())) })
	return "append to " + name
}

// What the map says of this library is what reading gives, for every batch and
// partition, whatever is damaged; what loads by a fallback loses nothing in a
// salvage; and what was found has a reason.
func TestMapAgreesWithReading(t *testing.T) {
	ctx := context.Background()
	lost, fallback, whole := 0, 0, 0
	for _, name := range []string{"3.5.9/ad_billing", "4.1.4/ad_billing", "4.1.4/codec_snappy.zip", "3.5.9/codec_zstd.zip", "4.3.0/row_checksum.zip"} {
		rnd := rand.New(rand.NewPCG(6, uint64(len(name))))
		pristine := fixture(t, name)
		var files []string
		for n := range pristine.m {
			if strings.HasSuffix(n, ".delta") || strings.HasSuffix(n, ".snapshot") {
				files = append(files, n)
			}
		}
		slices.Sort(files)
		for range 30 {
			r := tree{t, maps.Clone(pristine.m)} // files are replaced, never changed
			var did []string
			for range 1 + rnd.IntN(3) {
				did = append(did, mutate(r, rnd, files))
			}
			cp := r.open()
			report, err := cp.Check(ctx, checkpoint.DefaultCheck)
			require.NoError(t, err)
			somethingLost := false
			for _, sm := range report.Map.Stores {
				s, err := cp.Store(sm.Operator, sm.Store)
				require.NoError(t, err)
				for _, pm := range sm.Partitions {
					for _, span := range pm.Spans {
						for b := span.First; b <= span.Last; b++ {
							var failed error
							for _, err := range s.Entries(ctx, pm.Partition, checkpoint.AtBatch(b)) {
								failed = err
							}
							switch span.Loading[checkpoint.Library] {
							case checkpoint.Loads:
								whole++
								assert.NoError(t, failed, "%s: %v: batch %d, partition %d", name, did, b, pm.Partition)
							case checkpoint.ByFallback:
								fallback++
								loss := &checkpoint.Loss{}
								for _, err := range s.Salvage(ctx, pm.Partition, loss, checkpoint.AtBatch(b)) {
									require.NoError(t, err)
								}
								assert.True(t, loss.Outdated == 0 || strings.Contains(name, "codec"), "%s: %v: batch %d, partition %d: %+v", name, did, b, pm.Partition, loss)
								assert.Error(t, failed, "%s: %v: batch %d, partition %d", name, did, b, pm.Partition)
							case checkpoint.CleanedUp:
								assert.ErrorIs(t, failed, statestore.ErrCleanedUp, "%s: %v: batch %d, partition %d", name, did, b, pm.Partition)
							default:
								lost++
								somethingLost = true
								assert.Error(t, failed, "%s: %v: batch %d, partition %d", name, did, b, pm.Partition)
							}
							if span.Loading != [checkpoint.Judges]checkpoint.Loading{} {
								assert.Error(t, span.Why)
							}
						}
					}
				}
			}
			if somethingLost {
				worst, _ := report.Worst()
				assert.GreaterOrEqual(t, worst, checkpoint.Warning, "%s: %v", name, did)
			}
			for j, a := range report.Answers {
				if !a.Restarts {
					least := checkpoint.Critical
					if checkpoint.Judge(j) == checkpoint.Spark41 {
						least = checkpoint.Warning // its JSON sidecars prove nothing
					}
					worst, _ := report.Worst()
					assert.GreaterOrEqual(t, worst, least, "%s: %v: %v", name, did, checkpoint.Judge(j))
				}
			}
		}
	}
	t.Logf("states: %d whole, %d by a fallback, %d lost", whole, fallback, lost)
	assert.NotZero(t, lost)
	assert.NotZero(t, fallback)
}
