package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// Operator is a stateful operator of the query.
type Operator struct {
	cp   *Checkpoint
	id   int
	dir  string
	kind *kind // nil where it is not known
	name string
	from Source
	meta *OperatorMetadata
	// err is what is wrong with its metadata; its stores cannot be read then.
	err        error
	dirs       map[int]string // of the partitions that have one
	far        []int64        // directories with numbers that are not believed
	partitions int
	oneTask    bool // it runs as a single task, so that it has partition 0 only
	partFrom   Source
	stores     []*Store
}

// ID returns the operator's number in the plan.
func (o *Operator) ID() int { return o.id }

// Name returns the operator's name as Spark's metadata has it, such as
// stateStoreSave or dedupe, and where it is from. It is empty where nothing
// tells.
func (o *Operator) Name() (string, Source) { return o.name, o.from }

// Checkpoint returns the checkpoint that the operator belongs to.
func (o *Operator) Checkpoint() *Checkpoint { return o.cp }

// Label returns the name and the id for people: dedupe_1.
func (o *Operator) Label() string {
	if o.name == "" {
		return strconv.Itoa(o.id)
	}
	return fmt.Sprintf("%s_%d", o.name, o.id)
}

// Metadata returns what Spark recorded of the operator; nil before Spark 4.0.
func (o *Operator) Metadata() *OperatorMetadata { return o.meta }

// Err returns what is wrong with the operator's metadata, nil if nothing is.
func (o *Operator) Err() error { return o.err }

// Partitions returns the number of partitions of its stores, those without a
// directory included, and where the number is from.
func (o *Operator) Partitions() (int, Source) { return o.partitions, o.partFrom }

// Stores returns the operator's stores.
func (o *Operator) Stores() []*Store { return slices.Clone(o.stores) }

// Operators returns the stateful operators by id.
func (c *Checkpoint) Operators() []*Operator { return slices.Clone(c.operators) }

// Operator returns the operator with an id. The error is a *NotFoundError.
func (c *Checkpoint) Operator(id int) (*Operator, error) {
	var have []string
	for _, o := range c.operators {
		if o.id == id {
			return o, nil
		}
		have = append(have, o.Label())
	}
	return nil, &NotFoundError{What: "operator", Name: strconv.Itoa(id), Have: have}
}

// Store returns a store of the operator by name. The error is a
// *NotFoundError.
func (o *Operator) Store(name string) (*Store, error) {
	var have []string
	for _, s := range o.stores {
		if s.name == name {
			return s, nil
		}
		have = append(have, s.name)
	}
	return nil, &NotFoundError{What: "store", Name: name + " of operator " + o.Label(), Have: have}
}

// Store returns a store by operator id and name; "default" is the name of the
// only store of all operators but joins. The error is a *NotFoundError.
func (c *Checkpoint) Store(operator int, name string) (*Store, error) {
	o, err := c.Operator(operator)
	if err != nil {
		return nil, err
	}
	return o.Store(name)
}

func (c *Checkpoint) findOperators() error {
	dirs := c.at.operators
	if dirs == nil {
		dirs = make(map[int]string)
		state := path.Join(c.at.root, "state")
		ids, err := c.numbered(state, true)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if id <= maxID {
				dirs[int(id)] = path.Join(state, strconv.FormatInt(id, 10))
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(dirs)) {
		o, err := c.findOperator(id, dirs[id])
		if err != nil {
			return err
		}
		c.operators = append(c.operators, o)
	}
	return nil
}

func (c *Checkpoint) findOperator(id int, dir string) (*Operator, error) {
	o := &Operator{cp: c, id: id, dir: dir, dirs: c.at.partition}
	if o.dirs == nil {
		ids, err := c.numbered(dir, true)
		if err != nil {
			return nil, err
		}
		o.dirs = make(map[int]string)
		for i, p := range ids {
			if p > maxID || p-int64(i) > maxAbsent {
				o.far = append(o.far, p)
				continue
			}
			o.dirs[int(p)] = path.Join(dir, strconv.FormatInt(p, 10))
		}
	}
	if len(o.far) > 0 {
		c.notes = append(c.notes, fmt.Sprintf("%s: the directories from %d on, %d of them, are not taken for partitions: more than %d partitions below have none", dir, o.far[0], len(o.far), maxAbsent))
	}
	if c.at.partition == nil {
		batch := int64(1<<63 - 1)
		if n := len(c.committed); n > 0 {
			batch = c.committed[n-1]
		}
		switch m, err := c.operatorMetadata(dir, batch); {
		case err == nil:
			o.meta, o.name, o.from = m, m.Name, Recorded
			o.kind = kindNamed(m.Name)
		case !errors.Is(err, fs.ErrNotExist):
			o.err = err
			c.warn(err)
		}
	}
	names, err := o.storeNames()
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		o.stores = append(o.stores, o.newStore(n))
	}
	// Metadata that is damaged keeps the stores from being read, but for a
	// salvage, which wants to know what they are.
	if o.kind == nil && o.meta == nil {
		if o.kind = infer(o); o.kind != nil {
			o.name, o.from = o.kind.names[0], Inferred
		}
	}
	o.countPartitions()
	for _, s := range o.stores {
		s.adapt()
	}
	return o, nil
}

// storeNames returns the recorded names, or those of the directories in the
// first partition that has any.
func (o *Operator) storeNames() ([]string, error) {
	if o.meta != nil && len(o.meta.Stores) > 0 {
		var names []string
		for _, s := range o.meta.Stores {
			names = append(names, s.Name)
		}
		return names, nil
	}
	// Any partition tells; a few may be empty.
	const look = 16
	for i, p := range slices.Sorted(maps.Keys(o.dirs)) {
		if i == look {
			break
		}
		var names []string
		unnamed := false
		if err := o.cp.eachEntry(o.dirs[p], func(e fs.DirEntry) bool {
			if unnamed = !e.IsDir() && isStateFile(e.Name()); isStoreDir(e) {
				names = append(names, e.Name())
			}
			return !unnamed
		}); err != nil {
			return nil, err
		}
		if unnamed {
			return []string{defaultStore}, nil
		}
		slices.Sort(names)
		if len(names) > 0 {
			return names, nil
		}
	}
	if len(o.dirs) > 0 {
		return []string{defaultStore}, nil
	}
	return nil, nil
}

// countPartitions settles the number of partitions. Spark hashes keys over
// spark.sql.shuffle.partitions as pinned in the offset log; the number in the
// operator metadata is that of the first run of a Spark that writes it.
// Operators that run as one task have one partition whatever those say.
func (o *Operator) countPartitions() {
	highest := -1
	for p := range o.dirs {
		highest = max(highest, p)
	}
	o.oneTask = o.kind != nil && o.kind.oneTask != nil && o.kind.oneTask(o)
	n, ok := o.cp.conf.partitions()
	if !ok && o.meta != nil && len(o.meta.Stores) > 0 {
		n = o.meta.Stores[0].Partitions
	}
	switch {
	case o.oneTask && highest <= 0:
		o.partitions, o.partFrom = 1, Inferred
	case n-len(o.dirs) > maxAbsent:
		o.cp.notes = append(o.cp.notes, fmt.Sprintf("operator %s: %d partitions are recorded, which is not believed: it has directories for %d", o.Label(), n, len(o.dirs)))
		o.partitions, o.partFrom = highest+1, Inferred
	case n > 0:
		o.partitions, o.partFrom = n, Recorded
	default:
		o.partitions, o.partFrom = highest+1, Inferred
	}
	if highest >= o.partitions {
		o.cp.notes = append(o.cp.notes, fmt.Sprintf(
			"operator %s has a directory for partition %d, though %d partitions are %s", o.Label(), highest, o.partitions, o.partFrom))
		o.partitions, o.partFrom = highest+1, Inferred
	}
}

const defaultStore = "default"

// schemas are the row types of a store.
type schemas struct {
	key, value         *sqltype.Type // nil: not known
	keyFrom, valueFrom Source
	err                error // of reading the schema file
}

// readSchema reads the schema file, which lies under partition 0 only.
func (o *Operator) readSchema(store string) schemas {
	dir, ok := o.dirs[0]
	if !ok {
		return schemas{}
	}
	if store != defaultStore {
		dir = path.Join(dir, store)
	}
	f, err := readParsed(o.cp, path.Join(dir, "_metadata", "schema"), true, ParseSchemaFile)
	if errors.Is(err, fs.ErrNotExist) {
		return schemas{}
	}
	if err != nil {
		return schemas{err: err}
	}
	return schemas{key: f.Key, value: f.Value, keyFrom: Recorded, valueFrom: Recorded}
}
