package checkpoint

import (
	"errors"
	"fmt"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/provider"
)

// damaged calls fn with every file that does not decode, in whatever way.
func (x *examination) damaged(fn func(p *partFacts, f *fileFacts, err error)) {
	x.files(func(p *partFacts, f *fileFacts) {
		if f.Kind == provider.TempFile || f.sizeErr() != nil || f.check == nil || f.check.Err == nil || replaceable(f) {
			return
		}
		fn(p, f, f.check.Err)
	})
}

// replaceable says whether the deltas lead to the version of a snapshot that
// does not decode.
func replaceable(f *fileFacts) bool {
	return f.Kind == provider.SnapshotFile && f.against != nil && f.check != nil && f.check.Err != nil
}

// broken makes a finding of a file that does not decode.
func (x *examination) broken(p *partFacts, f *fileFacts, err error) Finding {
	out := p.about(f, err, "%s: %s", f.Name, plain(err))
	out.Severity = x.weigh(p, f)
	if f.check != nil {
		if n := f.check.Puts + f.check.Removes; n > 0 {
			out.What += fmt.Sprintf("; %d records before it can be read", n)
		}
		if f.check.Hadoop != nil || f.check.Spark != nil {
			out.What += "; its .crc file does not match either, so it has changed since it was written"
		}
	}
	return out
}

func findEmptyFiles(x *examination, add func(Finding)) {
	x.files(func(p *partFacts, f *fileFacts) {
		if f.sizeErr() == nil || replaceable(f) {
			return
		}
		out := p.about(f, f.sizeErr(), "%s has 0 bytes; not even the file of a batch without changes has", f.Name)
		out.Severity = x.weigh(p, f)
		add(out)
	})
}

func findTruncated(x *examination, add func(Finding)) {
	x.damaged(func(p *partFacts, f *fileFacts, err error) {
		if errors.Is(err, statestore.ErrTruncated) {
			add(x.broken(p, f, err))
		}
	})
}

func findCorrupt(x *examination, add func(Finding)) {
	x.damaged(func(p *partFacts, f *fileFacts, err error) {
		if !errors.Is(err, statestore.ErrTruncated) && !errors.Is(err, statestore.ErrCodec) && !isRowChecksum(err) {
			add(x.broken(p, f, err))
		}
	})
}

func findRowChecksums(x *examination, add func(Finding)) {
	x.damaged(func(p *partFacts, f *fileFacts, err error) {
		if isRowChecksum(err) {
			add(x.broken(p, f, err))
		}
	})
}

func isRowChecksum(err error) bool {
	var fe *statestore.FileError
	return errors.As(err, &fe) && fe.Condition == "STATE_STORE_ROW_CHECKSUM_VERIFICATION_FAILED"
}

func findWrongCodecs(x *examination, add func(Finding)) {
	x.damaged(func(p *partFacts, f *fileFacts, err error) {
		if errors.Is(err, statestore.ErrCodec) {
			add(x.broken(p, f, err))
		}
	})
	x.decoded(func(p *partFacts, f *fileFacts) {
		if err := f.check.OtherCodec; err != nil {
			out := p.about(f, err, "%s: %s", f.Name, plain(err))
			out.Severity, out.Condition = x.weigh(p, f), "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"
			add(out)
		}
	})
}

func findReplaceable(x *examination, add func(Finding)) {
	x.files(func(p *partFacts, f *fileFacts) {
		if !replaceable(f) {
			return
		}
		err := f.check.Err
		from := "the empty state"
		if f.against.Base > 0 {
			from = hdfs.SnapshotName(f.against.Base)
		}
		out := p.about(f, err, "%s: %s; the deltas from %s on lead to the same version", f.Name, plain(err), from)
		switch a := f.against; {
		case a.Rows > 0 && a.Equal():
			out.What += fmt.Sprintf(", and all %d rows that can still be read of it are the same there", a.Rows)
		case a.Rows > 0:
			out.What += fmt.Sprintf(", but of the %d rows that can still be read of it %d are not the same there", a.Rows, a.Differing+a.Extra)
		}
		if out.Severity = x.weigh(p, f); out.Severity == Critical && f.Version-f.against.Base > repairReach {
			out.What += fmt.Sprintf("; Spark does not go back %d versions", f.Version-f.against.Base)
		}
		add(out)
	})
}

// decoded calls fn with every state file that decodes to its end mark.
func (x *examination) decoded(fn func(p *partFacts, f *fileFacts)) {
	x.files(func(p *partFacts, f *fileFacts) {
		if f.Kind != provider.TempFile && f.check != nil && f.check.Err == nil {
			fn(p, f)
		}
	})
}

func findAfterEnd(x *examination, add func(Finding)) {
	x.decoded(func(p *partFacts, f *fileFacts) {
		if err := f.check.AfterEnd; err != nil {
			out := p.about(f, err, "%s: %s", f.Name, plain(err))
			if f.check.Hadoop != nil || f.check.Spark != nil {
				out.What += "; its .crc file does not match either, so it was appended later"
			}
			add(out)
		}
	})
}

func findHadoopSums(x *examination, add func(Finding)) {
	x.decoded(func(p *partFacts, f *fileFacts) {
		// What stands after the end explains the sum.
		if err := f.check.Hadoop; err != nil && f.check.AfterEnd == nil {
			out := p.about(f, err, "%s: %s", f.Name, plain(err))
			out.Severity = min(Warning, x.weigh(p, f))
			if !f.check.Codec.Checksummed() {
				out.Severity = x.weigh(p, f)
				out.What += fmt.Sprintf("; %s has no checksum of its own, so rows may be wrong", f.check.Codec)
			}
			add(out)
		}
	})
}

func findSparkSums(x *examination, add func(Finding)) {
	x.decoded(func(p *partFacts, f *fileFacts) {
		if err := f.check.Spark; err != nil && f.check.AfterEnd == nil && f.check.Hadoop == nil {
			out := p.about(f, err, "%s: %s", f.Name, plain(err))
			out.Severity = min(Warning, x.weigh(p, f))
			if !f.check.Codec.Checksummed() {
				out.What += fmt.Sprintf("; %s has no checksum of its own, so rows may be wrong", f.check.Codec)
			}
			add(out)
		}
	})
}

func findBadSidecars(x *examination, add func(Finding)) {
	x.decoded(func(p *partFacts, f *fileFacts) {
		if err := f.check.Sidecar; err != nil {
			out := p.about(f, nil, "%s", plain(err))
			var fe *statestore.FileError
			if errors.As(err, &fe) && fe.Path != "" {
				out.File = fe.Path
			}
			add(out)
		}
	})
}
