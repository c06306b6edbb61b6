package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strconv"
)

// OffsetKind is a notation that sources write their offsets in.
type OffsetKind uint8

const (
	// NoOffset: the source has no offset yet.
	NoOffset OffsetKind = iota
	// OtherOffset: none of the notations below. [Offset.Raw] has it as it is.
	OtherOffset
	// KafkaOffset: {"topic":{"0":131,"1":140}}, for every partition the offset
	// of the first record that is not in the batch. The connector for Event
	// Hubs writes the same.
	KafkaOffset
	// FileOffset: {"logOffset":3}, the newest batch of the source's own log;
	// see [SourceLog].
	FileOffset
	// NumberOffset: a bare number. What it counts is the source's affair: rows
	// (socket), seconds (rate), calls of addData (memory), batches of the log
	// (files, before Spark 2.1).
	NumberOffset
	// RateOffset: {"offset":40,"timestamp":4000} of rate-micro-batch, in rows
	// and in milliseconds.
	RateOffset
	// DeltaOffset: {"sourceVersion":1,"reservoirId":…,"reservoirVersion":5,
	// "index":8,"isStartingVersion":false} of Delta Lake.
	DeltaOffset
)

// String returns the word in lower case.
func (k OffsetKind) String() string {
	switch k {
	case NoOffset:
		return "none"
	case KafkaOffset:
		return "kafka"
	case FileOffset:
		return "file"
	case NumberOffset:
		return "number"
	case RateOffset:
		return "rate-micro-batch"
	case DeltaOffset:
		return "delta"
	}
	return "other"
}

// MarshalText makes JSON use the words.
func (k OffsetKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Offset is a position in a source. All numbers are exact.
type Offset struct {
	Kind OffsetKind
	// Raw is what the source wrote, empty for NoOffset.
	Raw string
	// Number is that of a NumberOffset, the log batch of a FileOffset, the rows
	// of a RateOffset.
	Number int64
	// TimestampMs is the time of a RateOffset, in milliseconds since 1970.
	TimestampMs int64
	// Partitions are those of a KafkaOffset by topic and number; none while a
	// pattern of topics matches nothing yet.
	Partitions []TopicOffset
	// Delta is the position of a DeltaOffset.
	Delta DeltaPosition
}

// TopicPartition names a partition of a Kafka topic.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String returns topic and number as Kafka writes them: clicks-3.
func (p TopicPartition) String() string { return p.Topic + "-" + strconv.Itoa(int(p.Partition)) }

func (p TopicPartition) compare(q TopicPartition) int {
	return cmp.Or(cmp.Compare(p.Topic, q.Topic), cmp.Compare(p.Partition, q.Partition))
}

// TopicOffset is the position in one partition of a Kafka topic.
type TopicOffset struct {
	TopicPartition
	Offset int64
}

// DeltaPosition is a position in the history of a Delta table: everything
// before it has been read.
type DeltaPosition struct {
	// SourceVersion is the version of the notation, 1 or 3.
	SourceVersion int64
	// Table is the table's id, a UUID.
	Table string
	// Version is the commit of the table, Index the place of a file within it;
	// negative for the start of the commit and for changes of the schema.
	Version, Index int64
	// Snapshot says that the files of the commit are those of the table as it
	// was when the query started, and not the commit's own.
	Snapshot bool
}

// Parse returns the offset in a form that can be compared.
func (s SourceOffset) Parse() Offset { return ParseOffset(s.JSON) }

// ParseOffset recognises the notation of an offset. What breaks the rules of
// the notation that it looks like, by a number that is no int64 or a name that
// comes twice, is an OtherOffset.
func ParseOffset(text string) Offset {
	if text == "" || text == noOffsetMark {
		return Offset{}
	}
	o := Offset{Raw: text}
	if n, ok := integer([]byte(text)); ok {
		o.Kind, o.Number = NumberOffset, n
		return o
	}
	o.Kind = OtherOffset
	ms, ok := members([]byte(text))
	if !ok {
		return o
	}
	for _, parse := range []func(*Offset, []member) bool{fileOffset, rateOffset, deltaOffset, kafkaOffset} {
		as := Offset{Raw: text}
		if parse(&as, ms) {
			return as
		}
	}
	return o
}

// noOffsetMark stands in the offset log for a source without an offset.
const noOffsetMark = "-"

func fileOffset(o *Offset, ms []member) bool {
	if len(ms) != 1 || ms[0].name != "logOffset" {
		return false
	}
	var ok bool
	o.Kind = FileOffset
	o.Number, ok = integer(ms[0].value)
	return ok
}

func rateOffset(o *Offset, ms []member) bool {
	if len(ms) != 2 {
		return false
	}
	o.Kind = RateOffset
	return integerMember(ms, "offset", &o.Number) && integerMember(ms, "timestamp", &o.TimestampMs)
}

// deltaOffset accepts members that it does not know: the notation grows.
func deltaOffset(o *Offset, ms []member) bool {
	o.Kind = DeltaOffset
	d := &o.Delta
	if !integerMember(ms, "sourceVersion", &d.SourceVersion) || !integerMember(ms, "reservoirVersion", &d.Version) || !integerMember(ms, "index", &d.Index) {
		return false
	}
	for _, m := range ms {
		var err error
		switch m.name {
		case "reservoirId":
			err = json.Unmarshal(m.value, &d.Table)
		case "isStartingVersion":
			err = json.Unmarshal(m.value, &d.Snapshot)
		}
		if err != nil {
			return false
		}
	}
	return true
}

func kafkaOffset(o *Offset, ms []member) bool {
	o.Kind = KafkaOffset
	for _, topic := range ms {
		ps, ok := members(topic.value)
		if !ok {
			return false
		}
		for _, p := range ps {
			number, ok := decimal(p.name)
			offset, isInt := integer(p.value)
			if !ok || !isInt || number > math.MaxInt32 {
				return false
			}
			o.Partitions = append(o.Partitions, TopicOffset{TopicPartition{topic.name, int32(number)}, offset})
		}
	}
	slices.SortFunc(o.Partitions, func(a, b TopicOffset) int { return a.compare(b.TopicPartition) })
	return true
}

// member is one of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// members splits a JSON object. It is false for anything else, and where a name
// comes twice: which of the two counts depends on the reader.
func members(text []byte) ([]member, bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var out []member
	seen := make(map[string]bool)
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok || seen[name] {
			return nil, false
		}
		seen[name] = true
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, false
		}
		out = append(out, member{name, v})
	}
	if _, err := d.Token(); err != nil {
		return nil, false
	}
	_, err := d.Token()
	return out, err == io.EOF
}

func integerMember(ms []member, name string, to *int64) bool {
	for _, m := range ms {
		if m.name == name {
			n, ok := integer(m.value)
			*to = n
			return ok
		}
	}
	return false
}

// integer accepts an int64 as JSON writes it, without fraction or exponent.
func integer(v []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(v), 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == string(v)
}
