package checkpoint

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

func findOtherProvider(x *examination, add func(Finding)) {
	// What the files look like has won over the class that is recorded.
	if class := x.cp.conf[ConfProviderClass]; class != "" && x.cp.Provider().From == Inferred {
		f := x.aboutLog("offsets", x.cp.confBatch, "offsets/%d names the provider %s, but the state files are of %s", x.cp.confBatch, class, x.cp.Provider().Name())
		f.Severity = Critical
		add(f)
	}
	x.listed(func(p *partFacts) {
		var names []string
		for i := range p.files {
			f := &p.files[i]
			if isRocksDBFile(f.Name) {
				names = append(names, f.Name)
			}
		}
		if len(names) > 0 {
			f := p.in(anywhere("%d files of RocksDBStateStoreProvider, such as %s, lie among those of this one", len(names), names[0]))
			f.File = path.Join(p.dir, names[0])
			add(f)
		}
	})
}

func findUnreadProvider(x *examination, add func(Finding)) {
	if p := x.cp.Provider(); p.Format != HDFS && len(x.cp.operators) > 0 {
		add(anywhere("the state was written by %s", p.Name()))
	}
}

func findMissingPartitions(x *examination, add func(Finding)) {
	if x.asked < 0 {
		return
	}
	for _, s := range x.stores {
		var ids []int64
		for _, p := range s.parts {
			if p.part == nil && p.err == nil && !p.unjudged {
				ids = append(ids, int64(p.id))
			}
		}
		if len(ids) == 0 || s.vanished() {
			continue
		}
		f := s.in(anywhere("%d of %d partitions have no directory: %s", len(ids), s.store.op.partitions, Ranges(ids)))
		f.Condition = missingDelta
		if len(ids) == 1 {
			f.Partition = int(ids[0])
		}
		f.File = s.parts[ids[0]].expected()
		add(f)
	}
}

func findExtraPartitions(x *examination, add func(Finding)) {
	for _, o := range x.cp.operators {
		n, ok := x.cp.conf.partitions()
		if !ok && o.meta != nil && len(o.meta.Stores) > 0 {
			n = o.meta.Stores[0].Partitions
			ok = n > 0
		}
		if !ok {
			n = o.partitions
		}
		ids := slices.Clone(o.far)
		for p := range o.dirs {
			if p >= n {
				ids = append(ids, int64(p))
			}
		}
		if len(ids) == 0 {
			continue
		}
		slices.Sort(ids)
		f := anywhere("operator %s has directories for partitions %s; the query has %d, counted from 0", o.Label(), Ranges(ids), n)
		f.Operator, f.File = o.id, path.Join(o.dir, strconv.FormatInt(ids[0], 10))
		add(f)
	}
}

// missingOperator returns the first operator without state, where a later one
// has some.
func (x *examination) missingOperator() (id int, missing bool) {
	if x.cp.at.root == "" {
		return 0, false
	}
	for i, o := range x.cp.operators { // in the order of their ids
		if o.id != i {
			return i, true
		}
	}
	return 0, false
}

func findMissingOperators(x *examination, add func(Finding)) {
	if id, missing := x.missingOperator(); missing {
		f := anywhere("there is state of operator %d and none of operator %d", x.cp.operators[len(x.cp.operators)-1].id, id)
		f.Operator, f.File = id, path.Join(x.cp.at.root, "state", strconv.Itoa(id))
		add(f)
	}
}

func findUnrecordedStores(x *examination, add func(Finding)) {
	// Any partition tells.
	const look = 16
	for _, o := range x.cp.operators {
		// Without metadata, a default store with others beside it: no operator
		// has both.
		known := make(map[string]bool)
		for _, s := range o.stores {
			known[s.name] = true
		}
		if o.meta == nil && !known[defaultStore] || o.err != nil {
			continue
		}
		for i, p := range slices.Sorted(maps.Keys(o.dirs)) {
			if i == look {
				break
			}
			_ = x.cp.eachEntry(o.dirs[p], func(e fs.DirEntry) bool { // what cannot be listed is found elsewhere
				if !isStoreDir(e) || known[e.Name()] {
					return true
				}
				known[e.Name()] = true
				f := anywhere("there is a store %s, which is none of operator %s: it has %s", e.Name(), o.Label(), strings.Join(o.storeList(), ", "))
				f.Operator, f.Store, f.File = o.id, e.Name(), path.Join(o.dirs[p], e.Name())
				add(f)
				return true
			})
		}
	}
}

func findUnlistable(x *examination, add func(Finding)) {
	x.partitions(func(p *partFacts) {
		if p.err != nil {
			f := p.in(anywhere("%v", p.err))
			f.File = p.dir
			add(f)
		}
	})
}

// storeList returns the names of the operator's stores.
func (o *Operator) storeList() []string {
	var out []string
	for _, s := range o.stores {
		out = append(out, s.name)
	}
	return out
}

// vanished says whether no partition of the operator has the store, though the
// operator has partitions.
func (s *storeFacts) vanished() bool {
	return len(s.store.op.dirs) > 0 && s.store.name != defaultStore &&
		!slices.ContainsFunc(s.parts, func(p *partFacts) bool { return p.part != nil || p.err != nil })
}

func findMissingStores(x *examination, add func(Finding)) {
	if x.cp.at.root == "" {
		return
	}
	for _, s := range x.stores {
		if s.vanished() && x.asked >= 0 {
			f := s.in(anywhere("no partition of operator %s has the store %s, which it should have", s.store.op.Label(), s.store.name))
			f.Condition = missingDelta
			add(f)
		}
	}
	// Without metadata the stores are those that are there, and some kinds have
	// more.
	for _, o := range x.cp.operators {
		if o.meta != nil || o.kind == nil {
			continue
		}
		for _, name := range o.kind.stores {
			if _, err := o.Store(name); err != nil && x.asked >= 0 {
				f := anywhere("no partition of operator %s has the store %s, one of its %d", o.Label(), name, len(o.kind.stores))
				f.Operator, f.Store, f.Condition = o.id, name, missingDelta
				add(f)
			}
		}
	}
}

// findRenamedOperators finds operators that were another one before, or that
// are another one than is recorded.
func findRenamedOperators(x *examination, add func(Finding)) {
	const condition = "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"
	for _, o := range x.cp.operators {
		dir := path.Join(o.dir, "_metadata", "v2")
		batches, err := x.cp.numbered(dir, false)
		if err != nil {
			continue // that is said of the metadata
		}
		before := ""
		for _, b := range batches {
			name := path.Join(dir, strconv.FormatInt(b, 10))
			m, err := readParsed(x.cp, name, true, ParseOperatorMetadata)
			if err != nil {
				continue
			}
			if before != "" && before != m.Name {
				f := anywhere("operator %d was %s and is %s from batch %d on", o.id, before, m.Name, b)
				f.Operator, f.Batch, f.File, f.Condition = o.id, b, name, condition
				add(f)
			}
			before = m.Name
		}
		if o.meta == nil || o.kind == nil || x.level < DefaultCheck {
			continue
		}
		if k := infer(o); k != nil && k != o.kind && !k.weakSigns {
			f := anywhere("the metadata calls operator %d %s, but its state is that of %s", o.id, o.meta.Name, k.names[0])
			f.Operator, f.Condition = o.id, condition
			add(f)
		}
	}
}
