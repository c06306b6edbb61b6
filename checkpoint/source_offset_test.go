package checkpoint_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
)

func topic(name string, partition int32, offset int64) checkpoint.TopicOffset {
	return checkpoint.TopicOffset{TopicPartition: checkpoint.TopicPartition{Topic: name, Partition: partition}, Offset: offset}
}

func TestParseOffset(t *testing.T) {
	other := checkpoint.Offset{Kind: checkpoint.OtherOffset}
	for text, want := range map[string]checkpoint.Offset{
		"":  {},
		"-": {},
		"5": {Kind: checkpoint.NumberOffset, Number: 5},
		// The memory source starts at -1.
		"-1":                           {Kind: checkpoint.NumberOffset, Number: -1},
		"9223372036854775807":          {Kind: checkpoint.NumberOffset, Number: math.MaxInt64},
		`{"logOffset":3}`:              {Kind: checkpoint.FileOffset, Number: 3},
		`{"logOffset":-1}`:             {Kind: checkpoint.FileOffset, Number: -1},
		`{ "logOffset" : 3 }`:          {Kind: checkpoint.FileOffset, Number: 3},
		`{"offset":40,"timestamp":-7}`: {Kind: checkpoint.RateOffset, Number: 40, TimestampMs: -7},

		`{"clicks":{"0":131}}`: {Kind: checkpoint.KafkaOffset, Partitions: []checkpoint.TopicOffset{topic("clicks", 0, 131)}},
		// By number, not as text; topics by name.
		`{"b":{"10":1,"9":9007199254740993,"2":-2},"a.b_c-d":{"0":0}}`: {Kind: checkpoint.KafkaOffset, Partitions: []checkpoint.TopicOffset{
			topic("a.b_c-d", 0, 0), topic("b", 2, -2), topic("b", 9, 9007199254740993), topic("b", 10, 1)}},
		`{"logOffset":{"0":1}}`: {Kind: checkpoint.KafkaOffset, Partitions: []checkpoint.TopicOffset{topic("logOffset", 0, 1)}},
		`{}`:                    {Kind: checkpoint.KafkaOffset},

		`{"sourceVersion":1,"reservoirId":"3bffe7c2-e334-4419-a150-f6f47b565c78","reservoirVersion":5,"index":8,"isStartingVersion":true}`: {
			Kind: checkpoint.DeltaOffset, Delta: checkpoint.DeltaPosition{SourceVersion: 1, Table: "3bffe7c2-e334-4419-a150-f6f47b565c78", Version: 5, Index: 8, Snapshot: true}},
		`{"sourceVersion":3,"reservoirId":"x","reservoirVersion":9007199254740993,"index":-100,"isStartingVersion":false,"later":[1]}`: {
			Kind: checkpoint.DeltaOffset, Delta: checkpoint.DeltaPosition{SourceVersion: 3, Table: "x", Version: 9007199254740993, Index: -100}},

		"9223372036854775808":                   other,
		"+5":                                    other,
		"05":                                    other,
		"5.0":                                   other,
		"1e3":                                   other,
		`"5"`:                                   other,
		"[1,2]":                                 other,
		"null":                                  other,
		"not JSON":                              other,
		`{"logOffset":3.0}`:                     other,
		`{"logOffset":9223372036854775808}`:     other,
		`{"logOffset":3,"logOffset":4}`:         other,
		`{"logOffset":3} {}`:                    other,
		`{"clicks":{"0":131}`:                   other,
		`{"clicks":{"0":131,"0":132}}`:          other,
		`{"clicks":{"0":131},"clicks":{"1":1}}`: other,
		`{"clicks":{"0":1.5}}`:                  other,
		`{"clicks":{"0":"131"}}`:                other,
		`{"clicks":{"-1":1}}`:                   other,
		`{"clicks":{"00":1}}`:                   other,
		`{"clicks":{"2147483648":1}}`:           other,
		`{"clicks":{"0":1},"x":5}`:              other,
		`{"0":{"value":7,"runTimeMs":1}}`:       other, // rate, continuous processing
		`{"offset":40,"timestamp":null}`:        other,
		`{"offset":40,"timestamp":1,"more":1}`:  other,
		`{"sourceVersion":1,"index":8}`:         other,
		`{"version":1,"snapshot_id":1,"pos":0}`: other,
		"{\"sourceVersion\":1,\"reservoirId\":7,\"reservoirVersion\":1,\"index\":8}": other,
	} {
		if want.Kind != checkpoint.NoOffset {
			want.Raw = text
		}
		assert.Equal(t, want, checkpoint.ParseOffset(text), "%s", text)
		assert.Equal(t, want, checkpoint.SourceOffset{JSON: text}.Parse(), "%s", text)
	}
}

func TestWords(t *testing.T) {
	for want, got := range map[string]interface{ MarshalText() ([]byte, error) }{
		"none": checkpoint.NoOffset, "other": checkpoint.OtherOffset, "kafka": checkpoint.KafkaOffset, "file": checkpoint.FileOffset,
		"number": checkpoint.NumberOffset, "rate-micro-batch": checkpoint.RateOffset, "delta": checkpoint.DeltaOffset,
		"unknown": checkpoint.OffsetUnknown, "still": checkpoint.OffsetStill, "moved": checkpoint.OffsetMoved, "added": checkpoint.OffsetAdded,
		"removed": checkpoint.OffsetRemoved, "backwards": checkpoint.OffsetBackwards, "replaced": checkpoint.OffsetReplaced,
	} {
		b, err := got.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, want, string(b))
	}
	assert.Equal(t, "clicks-3", checkpoint.TopicPartition{Topic: "clicks", Partition: 3}.String())
}

func FuzzParseOffset(f *testing.F) {
	for _, s := range []string{"", "-", "5", `{"logOffset":3}`, `{"offset":40,"timestamp":4}`, `{"t":{"0":131,"1":5},"u":{"0":1}}`, `{}`,
		`{"sourceVersion":1,"reservoirId":"x","reservoirVersion":5,"index":8,"isStartingVersion":true}`, `{"t":{"0":1`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o := checkpoint.ParseOffset(text)
		if o.Kind == checkpoint.NoOffset {
			require.Contains(t, []string{"", "-"}, text)
			return
		}
		require.Equal(t, text, o.Raw)
		for i := 1; i < len(o.Partitions); i++ {
			a, b := o.Partitions[i-1], o.Partitions[i]
			require.True(t, a.Topic < b.Topic || a.Topic == b.Topic && a.Partition < b.Partition, "%v", o.Partitions)
		}
	})
}
