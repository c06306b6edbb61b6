package checkpoint

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/provider"
)

// mayReplace says whether a temporary file may stand in for one that is
// missing and that a committed batch, which retention has not passed, needs.
func (x *examination) mayReplace(p *partFacts, f *fileFacts) bool {
	if f.Kind != provider.TempFile {
		return false
	}
	final, ok := hdfs.Temporary(f.Name)
	if !ok || p.file(final) != nil {
		return false
	}
	kind, v := hdfs.ParseName(final)
	if kind == provider.SnapshotFile || holds(p.snapshots, v) {
		return false // nothing needs it: the deltas are what counts, or the snapshot
	}
	oldest := int64(0)
	if len(p.snapshots) > 0 {
		oldest = p.snapshots[0]
	}
	return v <= x.end+1 && (v > oldest || p.cut)
}

func findTempFiles(x *examination, add func(Finding)) {
	for _, s := range x.stores {
		harmless, example := 0, ""
		for _, p := range s.parts {
			candidates := make(map[string][]*fileFacts)
			for i := range p.files {
				f := &p.files[i]
				switch {
				case f.Kind != provider.TempFile:
				case x.mayReplace(p, f):
					final, _ := hdfs.Temporary(f.Name)
					candidates[final] = append(candidates[final], f)
				default:
					if harmless++; harmless == 1 {
						example = f.path()
					}
				}
			}
			for final, files := range candidates {
				whole := slices.DeleteFunc(slices.Clone(files), func(f *fileFacts) bool { return f.check == nil || f.check.Err != nil })
				for _, f := range files {
					add(p.standIn(f, final, len(whole)))
				}
			}
		}
		if harmless > 0 {
			f := s.in(anywhere("temporary files that were never renamed: %d", harmless))
			f.File = example
			add(f)
		}
	}
	for _, dir := range []string{"offsets", "commits"} {
		x.tempLogs(dir, add)
	}
}

// standIn describes a temporary file whose final name is missing, and of which
// there are so many that are whole.
func (p *partFacts) standIn(f *fileFacts, final string, whole int) Finding {
	_, v := hdfs.ParseName(final)
	out := p.about(f, nil, "%s was never renamed to %s, which is missing", f.Name, final)
	out.Severity, out.Batch = Warning, v-1
	switch {
	case f.check == nil:
		out.Do = "It may hold what is missing: a check of the default level tells whether it is whole."
	case f.check.Err != nil:
		out.Severity = Info
		out.What += ", and it is not whole: " + plain(f.check.Err)
		out.Do = "It cannot stand in for the file that is missing, and may be removed."
	default:
		out.What += fmt.Sprintf("; it ends whole, with %d records", f.check.Puts+f.check.Removes)
		if f.check.Hadoop == nil && f.check.Spark == nil {
			out.Do = "Renaming it, in a copy of the checkpoint, is safe and completes the chain."
		} else {
			out.What += ", but its .crc file does not match"
			out.Do = "Renaming it completes the chain, but its bytes are not those that were written. Look for another copy first."
		}
		if r := f.rows; r != nil && (r.misfits > 0 || r.misplaced > 0) {
			out.What += fmt.Sprintf(", but %d of them do not fit the schema and %d belong in other partitions", r.misfits, r.misplaced)
			out.Do = "It is not the file of this partition. Do not rename it."
		}
		if whole > 1 {
			out.What += fmt.Sprintf("; there are %d such files", whole)
			out.Do = "They are of different attempts of the batch, which give the same only where the query does. Renaming one of them, in a copy, completes the chain: take the one that the batch's other partitions go with, mostly the newest."
		}
	}
	return out
}

// tempLogs finds logs that were never renamed.
func (x *examination) tempLogs(dir string, add func(Finding)) {
	if x.cp.at.root == "" {
		return
	}
	ids, parse := x.cp.planned, func(b []byte) error { _, err := ParseOffsetLog(b); return err }
	if dir == "commits" {
		ids, parse = x.cp.committed, func(b []byte) error { _, err := ParseCommitLog(b); return err }
	}
	full := path.Join(x.cp.at.root, dir)
	harmless, example := 0, ""
	_ = x.cp.eachEntry(full, func(e fs.DirEntry) bool { // what cannot be listed is said at opening
		if e.IsDir() || !strings.HasPrefix(e.Name(), ".") || !strings.HasSuffix(e.Name(), ".tmp") {
			return true
		}
		number, _, _ := strings.Cut(e.Name()[1:], ".")
		id, ok := decimal(number) // before Spark 2.4 there is none
		newest := int64(-1)
		if n := len(ids); n > 0 {
			newest = ids[n-1]
		}
		if !ok || holds(ids, id) || id > newest+1 || len(ids) > 0 && id < ids[0] {
			if harmless++; harmless == 1 {
				example = path.Join(full, e.Name())
			}
			return true
		}
		f := x.aboutLog(dir, id, "%s/%s was never renamed to %d, which is missing", dir, e.Name(), id)
		f.File = path.Join(full, e.Name())
		b, err := readBounded(x.cp.fsys, f.File, x.cp.limits.FileBytes)
		if err == nil {
			err = parse(b)
		}
		switch {
		case err != nil:
			f.What += ", and it is not whole: " + plain(err)
			f.Do = "It cannot stand in for the log that is missing, and may be removed."
		case id == newest+1:
			f.What += "; it ends whole"
			f.Do = "Nothing: Spark plans this batch anew, or commits it once it has run again."
		default:
			f.Severity = Warning
			f.What += "; it ends whole"
			f.Do = "Renaming it, in a copy of the checkpoint, is safe and closes the hole."
		}
		add(f)
		return true
	})
	if harmless > 0 {
		f := anywhere("temporary files in %s/ that were never renamed: %d", dir, harmless)
		f.File = example
		add(f)
	}
}

// temporary returns the name that a temporary file of the listing was to get.
func temporary(f *fileFacts) (final string, ok bool) {
	if f.Kind != provider.TempFile {
		return "", false
	}
	return hdfs.Temporary(f.Name)
}
