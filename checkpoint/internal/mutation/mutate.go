package mutation

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// Kind is what a mutation does to its file.
type Kind string

// The kinds of mutations.
const (
	Flip       Kind = "flip"       // 1 to 8 bytes are others
	Cut        Kind = "cut"        // shorter, at any byte or behind a block
	Zero       Kind = "zero"       // a range of zeros
	Insert     Kind = "insert"     // 1 to 16 bytes more, in the middle or at the end
	Remove     Kind = "remove"     // not there any more
	Partitions Kind = "partitions" // swapped with the same file of another partition
	Versions   Kind = "versions"   // swapped with another file of the same directory
	Duplicate  Kind = "duplicate"  // copied to another name, or over another file
)

// Kinds lists them all.
var Kinds = []Kind{Flip, Cut, Zero, Insert, Remove, Partitions, Versions, Duplicate}

// edits says whether the kind damages the bytes of one file, so that a codec
// with checksums can know. The others leave files that are whole in the wrong
// place.
func (k Kind) edits() bool { return k == Flip || k == Cut || k == Zero || k == Insert }

// Mutation is one damage to one subject.
type Mutation struct {
	// Seed and Number decide everything about it.
	Seed   uint64
	Number int
	Class  Class
	Kind   Kind
	// What says what was done, to which file.
	What string
}

// String names the mutation as the command is told to do it again.
func (m Mutation) String() string {
	return fmt.Sprintf("-seed %d -one %d: %s", m.Seed, m.Number, m.What)
}

// share is how often something is picked.
type share[T any] struct {
	of     T
	weight int
}

var classShares = []share[Class]{{State, 72}, {Sidecar, 8}, {Schema, 5}, {Metadata, 5}, {Offsets, 5}, {Commits, 5}}

var kindShares = []share[Kind]{{Flip, 30}, {Cut, 14}, {Zero, 10}, {Insert, 10}, {Remove, 8}, {Partitions, 10}, {Versions, 10}, {Duplicate, 8}}

func pick[T any](rnd *rand.Rand, from []share[T]) T {
	total := 0
	for _, s := range from {
		total += s.weight
	}
	n := rnd.IntN(total)
	for _, s := range from {
		if n -= s.weight; n < 0 {
			return s.of
		}
	}
	return from[0].of
}

// mutator damages the files of one subject.
type mutator struct {
	tree  *tree
	names map[Class][]string
}

// mutate does the mutation that a seed and a number decide. The generator is
// handed on to whoever decides what is read then.
func (t *mutator) mutate(seed uint64, number int) (*damaged, Mutation, *rand.Rand, error) {
	rnd := rand.New(rand.NewPCG(seed, uint64(number)))
	m := Mutation{Seed: seed, Number: number}
	var last error
	// Not every draw can be done: a file may be empty already, or have no
	// other partition.
	for range 200 {
		m.Class, m.Kind = pick(rnd, classShares), pick(rnd, kindShares)
		names := t.names[m.Class]
		if len(names) == 0 {
			continue
		}
		faults := t.faults(rnd, m, names[rnd.IntN(len(names))])
		if len(faults) == 0 {
			continue
		}
		m.What = fmt.Sprint(faults)
		d := damage(t.tree)
		if last = statetest.Damage(d, faults...); last == nil {
			return d, m, rnd, nil
		}
	}
	return nil, m, nil, fmt.Errorf("mutation %s: nothing can be damaged: %w", m, last)
}

// faults draws the damage to one file; none where the draw has no meaning.
func (t *mutator) faults(rnd *rand.Rand, m Mutation, name string) []statetest.Fault {
	f := statetest.Path(name)
	size := int64(len(t.tree.files[name]))
	switch m.Kind {
	case Remove:
		if _, ok := t.tree.files[f.HadoopCRC().String()]; ok && rnd.IntN(2) == 0 {
			return []statetest.Fault{statetest.OrphanSidecar(f)}
		}
		return []statetest.Fault{statetest.Drop(f)}
	case Cut:
		if m.Class == State && rnd.IntN(5) == 0 {
			return []statetest.Fault{statetest.TruncateAtBlock(f, rnd.IntN(1+int(size)/512))}
		}
		return []statetest.Fault{statetest.Truncate(f, rnd.Int64N(size+1))}
	case Partitions:
		return with(rnd, f, statetest.Swap, t.elsewhere(m.Class, name))
	case Versions:
		return with(rnd, f, statetest.Swap, t.beside(m.Class, name))
	case Duplicate:
		return with(rnd, f, statetest.Copy, t.copies(rnd, m.Class, name))
	}
	if size == 0 {
		return nil
	}
	offset := rnd.Int64N(size)
	if rnd.IntN(4) == 0 { // headers and end marks are short, and matter most
		offset = rnd.Int64N(min(size, 32))
		if rnd.IntN(2) == 0 {
			offset = size - 1 - offset
		}
	}
	switch m.Kind {
	case Zero:
		return []statetest.Fault{statetest.ZeroRange(f, offset, 1+rnd.Int64N(1<<rnd.IntN(13)))}
	case Insert:
		b := make([]byte, 1+rnd.IntN(16))
		switch rnd.IntN(3) {
		case 0:
			for i := range b {
				b[i] = 0xff
			}
		case 1:
			copy(b, t.tree.files[name][offset:])
		default:
			for i := range b {
				b[i] = byte(rnd.Uint32())
			}
		}
		if rnd.IntN(4) == 0 {
			offset = size
		}
		return []statetest.Fault{statetest.InsertBytes(f, offset, b...)}
	}
	mask := func() byte {
		if rnd.IntN(2) == 0 {
			return 1 << rnd.IntN(8)
		}
		return byte(1 + rnd.IntN(255))
	}
	flips := []statetest.Fault{statetest.FlipByte(f, offset, mask())}
	for range max(0, rnd.IntN(12)-4) { // two in five have more than one
		flips = append(flips, statetest.FlipByte(f, rnd.Int64N(size), mask()))
	}
	return flips
}

// with draws the second file of a fault that takes two.
func with(rnd *rand.Rand, f statetest.File, do func(a, b statetest.File) statetest.Fault, names []string) []statetest.Fault {
	if len(names) == 0 {
		return nil
	}
	return []statetest.Fault{do(f, statetest.Path(names[rnd.IntN(len(names))]))}
}

// partitionOf splits the path of a state file, or of a .crc file beside one.
// The rest is the store and the name.
func partitionOf(name string) (operator, partition, rest string, ok bool) {
	parts := strings.SplitN(name, "/", 4)
	if len(parts) < 4 || parts[0] != "state" {
		return "", "", "", false
	}
	return parts[1], parts[2], parts[3], true
}

// elsewhere lists the files of the same name in the other partitions.
func (t *mutator) elsewhere(c Class, name string) []string {
	op, p, rest, ok := partitionOf(name)
	if !ok {
		return nil
	}
	var out []string
	for _, n := range t.names[c] {
		if o, q, r, ok := partitionOf(n); ok && o == op && q != p && r == rest {
			out = append(out, n)
		}
	}
	return out
}

// beside lists the other files of the same directory, and for what is alone in
// its directory those of its class.
func (t *mutator) beside(c Class, name string) []string {
	var near, far []string
	for _, n := range t.names[c] {
		if n == name {
			continue
		}
		if far = append(far, n); path.Dir(n) == path.Dir(name) {
			near = append(near, n)
		}
	}
	if len(near) > 0 || c == State {
		return near
	}
	return far
}

// copies lists where a copy of a file may turn up: over a file of another
// partition or version, or under a name of its own.
func (t *mutator) copies(rnd *rand.Rand, c Class, name string) []string {
	dir, base := path.Split(name)
	if rnd.IntN(2) == 0 {
		return append(t.elsewhere(c, name), t.beside(c, name)...)
	}
	switch c {
	case State:
		kind, v := hdfs.ParseName(base)
		twin := hdfs.SnapshotName(v)
		if kind == provider.SnapshotFile {
			twin = hdfs.DeltaName(v)
		}
		return []string{
			dir + twin, dir + hdfs.DeltaName(v+1), dir + hdfs.SnapshotName(v+1), dir + "0" + base,
			statetest.Path(name).Temp().String(), dir + hdfs.SnapshotName(v+1+rnd.Int64N(4)), dir + base + ".bak",
		}
	case Offsets, Commits:
		last := t.names[c][len(t.names[c])-1]
		return []string{dir + nextNumber(path.Base(last)), dir + "0" + base, dir + base + ".bak", dir + nextNumber(base)}
	}
	return slices.Concat(t.names[Schema], t.names[Metadata])
}

func nextNumber(s string) string {
	var n int64
	if _, err := fmt.Sscan(s, &n); err != nil {
		return s + "0"
	}
	return fmt.Sprint(n + 1)
}
