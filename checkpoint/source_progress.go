package checkpoint

import "math"

// OffsetChange says how an offset of a batch compares with the one before.
type OffsetChange uint8

const (
	// OffsetUnknown: there is nothing to compare with.
	OffsetUnknown OffsetChange = iota
	// OffsetStill: the offset is the same.
	OffsetStill
	// OffsetMoved: the source went on. Of an [OtherOffset] it means no more
	// than that the offset is another.
	OffsetMoved
	// OffsetAdded: the source or topic partition was not there before.
	OffsetAdded
	// OffsetRemoved: the source or topic partition is not there any more.
	OffsetRemoved
	// OffsetBackwards: the offset is a smaller one, as after a topic was
	// deleted and created again. Of a source, some topic partition's is.
	OffsetBackwards
	// OffsetReplaced: the offset is in another notation, or of another Delta
	// table.
	OffsetReplaced
)

// String returns the word in lower case.
func (c OffsetChange) String() string {
	switch c {
	case OffsetStill:
		return "still"
	case OffsetMoved:
		return "moved"
	case OffsetAdded:
		return "added"
	case OffsetRemoved:
		return "removed"
	case OffsetBackwards:
		return "backwards"
	case OffsetReplaced:
		return "replaced"
	}
	return "unknown"
}

// MarshalText makes JSON use the words.
func (c OffsetChange) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// SourceProgress is what one source contributed to a batch: everything from
// Start to End.
type SourceProgress struct {
	// ID is that of the [SourceOffset].
	ID string
	// Start is the end of the batch before, or where the source started.
	Start, End Offset
	Change     OffsetChange
	// Records is the number of records in the batch, for sources that count
	// them: Kafka and rate-micro-batch. For Kafka it is the distance between
	// offsets, some of which hold no record in compacted topics and in those
	// written by transactions.
	Records int64
	// Exact says that Records is the whole number. Otherwise the start of some
	// topic partition is not known, so that there may be more; or the source
	// does not count records, and Records is 0.
	Exact bool
	// Partitions are the topic partitions of Kafka by topic and number, removed
	// ones included.
	Partitions []PartitionProgress
}

// PartitionProgress is what one topic partition contributed to a batch.
type PartitionProgress struct {
	TopicPartition
	// Start and End are -1 where there is none.
	Start, End int64
	Change     OffsetChange
	// Idle is the number of batches up to this one, without a break, in which
	// the partition stood still while another one of the source moved. Batches
	// in which none moved neither count nor break the row.
	Idle int
}

// Moved returns how far the source went, in its own unit: records for Kafka
// and rate-micro-batch, batches of the source's log for files, commits for
// Delta Lake, and what a bare number counts. It is negative where the source
// went backwards, and false where the distance is not known.
func (p *SourceProgress) Moved() (int64, bool) {
	switch p.End.Kind {
	case KafkaOffset:
		return p.Records, p.Exact
	case RateOffset:
		if p.Exact {
			return p.Records, true
		}
	}
	if p.Start.Kind == NoOffset && p.End.Kind == FileOffset && p.Change == OffsetAdded {
		return difference(p.End.Number, -1) // the log counts from 0
	}
	if p.Start.Kind != p.End.Kind || p.Change == OffsetReplaced {
		return 0, false
	}
	switch p.End.Kind {
	case FileOffset, NumberOffset, RateOffset:
		return difference(p.End.Number, p.Start.Number)
	case DeltaOffset:
		return difference(p.End.Delta.Version, p.Start.Delta.Version)
	}
	return 0, false
}

// StandingStill returns the topic partitions that have not moved in the last
// so many batches in which others did.
func (p *SourceProgress) StandingStill(batches int) []PartitionProgress {
	var out []PartitionProgress
	for _, q := range p.Partitions {
		if q.Change == OffsetStill && q.Idle >= max(batches, 1) {
			out = append(out, q)
		}
	}
	return out
}

// difference is a - b; false where that is no int64.
func difference(a, b int64) (int64, bool) {
	d := a - b
	return d, (a >= b) == (d >= 0)
}

// begun is what is known of a source before a batch.
type begun struct {
	at Offset
	// idle has an element for each partition of at.
	idle []int
	// known is false where at is missing for want of the logs before, and not
	// because the source had no offset.
	known bool
}

// progress compares the end of a batch with what was before, and returns what
// is known before the next.
func progress(id string, from begun, end Offset) (SourceProgress, begun) {
	p := SourceProgress{ID: id, Start: from.at, End: end}
	next := begun{at: end, known: true}
	switch start := from.at; {
	case end.Kind == NoOffset:
		switch {
		case start.Kind != NoOffset:
			p.Change = OffsetRemoved
		case from.known:
			p.Change = OffsetStill
		}
	case end.Kind == KafkaOffset && (start.Kind == KafkaOffset || start.Kind == NoOffset):
		next.idle = p.kafka(from)
		if start.Kind == NoOffset && from.known {
			p.Change = OffsetAdded
		}
	case start.Kind == NoOffset:
		if from.known {
			p.Change = OffsetAdded
			if end.Kind == RateOffset && end.Number >= 0 { // its rows are numbered from 0
				p.Records, p.Exact = end.Number, true
			}
		}
	case start.Kind != end.Kind:
		p.Change = OffsetReplaced
	case end.Kind == DeltaOffset:
		p.Change = deltaChange(start.Delta, end.Delta)
	case end.Kind == OtherOffset:
		if p.Change = OffsetMoved; start.Raw == end.Raw {
			p.Change = OffsetStill
		}
	default:
		p.Change = compareNumbers(start.Number, end.Number)
		if n, ok := difference(end.Number, start.Number); ok && n >= 0 && end.Kind == RateOffset {
			p.Records, p.Exact = n, true
		}
	}
	return p, next
}

func compareNumbers(start, end int64) OffsetChange {
	switch {
	case end < start:
		return OffsetBackwards
	case end > start:
		return OffsetMoved
	}
	return OffsetStill
}

// deltaChange compares positions in a table's history. Places within a commit
// are numbered anew in each notation, and for a snapshot otherwise than for
// the commit itself.
func deltaChange(start, end DeltaPosition) OffsetChange {
	switch c := compareNumbers(start.Version, end.Version); {
	case start.Table != end.Table:
		return OffsetReplaced
	case c != OffsetStill:
		return c
	case start.SourceVersion == end.SourceVersion && start.Snapshot == end.Snapshot:
		return compareNumbers(start.Index, end.Index)
	}
	return OffsetMoved
}

// kafka merges the partitions of start and end, both in order, and returns the
// idle numbers for the next batch.
func (p *SourceProgress) kafka(from begun) []int {
	start, end := p.Start.Partitions, p.End.Partitions
	missing := OffsetAdded
	if p.Start.Kind == NoOffset {
		missing = OffsetUnknown
	}
	for i, j := 0, 0; i < len(start) || j < len(end); {
		order := -1
		switch {
		case i == len(start):
			order = 1
		case j < len(end):
			order = start[i].compare(end[j].TopicPartition)
		}
		var q PartitionProgress
		switch {
		case order < 0:
			q = PartitionProgress{TopicPartition: start[i].TopicPartition, Start: start[i].Offset, End: -1, Change: OffsetRemoved}
			i++
		case order > 0:
			q = PartitionProgress{TopicPartition: end[j].TopicPartition, Start: -1, End: end[j].Offset, Change: missing}
			j++
		default:
			q = PartitionProgress{TopicPartition: end[j].TopicPartition, Start: start[i].Offset, End: end[j].Offset, Change: OffsetUnknown}
			if q.Start >= 0 && q.End >= 0 { // -1 and -2 stand for the newest and the oldest record
				q.Change = compareNumbers(q.Start, q.End)
			}
			if i < len(from.idle) {
				q.Idle = from.idle[i]
			}
			i, j = i+1, j+1
		}
		p.Partitions = append(p.Partitions, q)
	}
	return p.count()
}

// count sums up the partitions, and counts on how long each has stood still.
func (p *SourceProgress) count() []int {
	seen := make(map[OffsetChange]bool)
	p.Exact = p.Start.Kind == KafkaOffset
	for _, q := range p.Partitions {
		seen[q.Change] = true
		switch q.Change {
		case OffsetMoved:
			if n := q.End - q.Start; n <= math.MaxInt64-p.Records {
				p.Records += n
			} else {
				p.Records, p.Exact = math.MaxInt64, false
			}
		case OffsetAdded, OffsetUnknown:
			// Nothing can have been read up to offset 0.
			p.Exact = p.Exact && q.End == 0
		case OffsetBackwards:
			p.Exact = false
		}
	}
	var idle []int
	for i := range p.Partitions {
		switch q := &p.Partitions[i]; {
		case q.Change != OffsetStill:
			q.Idle = 0
		case seen[OffsetMoved]:
			q.Idle++
		}
		if p.Partitions[i].Change != OffsetRemoved {
			idle = append(idle, p.Partitions[i].Idle)
		}
	}
	p.Change = OffsetStill
	switch {
	case p.Start.Kind == NoOffset:
		p.Change = OffsetUnknown
	case seen[OffsetBackwards]:
		p.Change = OffsetBackwards
	case seen[OffsetMoved] || seen[OffsetAdded] || seen[OffsetRemoved]:
		p.Change = OffsetMoved
	case seen[OffsetUnknown]:
		p.Change = OffsetUnknown
	}
	return idle
}
