package statetest

import (
	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/placement"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// Query describes the query whose checkpoint is written. The zero value of
// every field is a choice that Spark would make.
type Query struct {
	// ID is the query's id; "" stands for a fixed one.
	ID string
	// Spark is the version whose layout is imitated: 3.5, or 3.3.0 where the
	// patch makes a difference; "" stands for 3.5. It decides on the keys that
	// the offset log pins, the schema files (3.1), the operator metadata (4.0),
	// the JSON sidecars (4.1 only) and whether schemas know NOT NULL (not in
	// 4.3). Versions from 2.2 on are known.
	Spark string
	// Partitions is the number of state partitions; 0 stands for 200.
	Partitions int
	// Codec is the compression of the state files; 0 stands for LZ4.
	Codec codec.Codec
	// BlockSize is that of the codec, in bytes; 0 stands for Spark's default.
	BlockSize int
	// RowChecksums has a checksum put before each row, as Spark 4.2 and later do
	// where they are told to.
	RowChecksums bool
	// OffsetLogV2 has the offset logs written in version 2, as Spark 4.2 and
	// later do where they are told to.
	OffsetLogV2 bool
	// Conf is added to what the offset log pins. A key with the value "" is
	// left out.
	Conf map[string]string
	// Sidecars has Hadoop's hidden .crc files written too, as a local file
	// system does.
	Sidecars bool
	// Operators are the stateful operators, in the order of their ids: of two in
	// a row, Spark numbers the later one first.
	Operators []Operator
}

// Operator is a stateful operator. There is a function for each kind that Spark
// has on this provider; a literal describes any other.
type Operator struct {
	// Name is what Spark's metadata calls it, such as dedupe.
	Name string
	// PrefixColumns is the number of key columns that it scans by.
	PrefixColumns int
	Stores        []Store
	// OneTask says that it has partition 0 only.
	OneTask bool

	conf map[string]string // what it pins otherwise than by default
	err  error             // what is wrong with its description
}

// Store is a store of an operator.
type Store struct {
	// Name is the store's name; "" stands for default.
	Name string
	// Key and Value are the struct types of the rows.
	Key, Value *sqltype.Type
	// RecordedValue is what the schema file says of the value, where that is
	// not the type of the rows; nil for Value.
	RecordedValue *sqltype.Type
	// Hashed are the key columns that decide the partition; nil stands for all
	// of them.
	Hashed []int
	// NoSchema leaves the schema file out.
	NoSchema bool

	// row makes the stored value of what Put is given; nil where that is it.
	row func(key, value []any) ([]any, error)
	// misnamed: old releases record the key's type as the value's.
	misnamed bool
}

func (s Store) name() string {
	if s.Name == "" {
		return "default"
	}
	return s.Name
}

func (q Query) partitions() int {
	if q.Partitions == 0 {
		return 200
	}
	return q.Partitions
}

func (q Query) codec() codec.Codec {
	if q.Codec == codec.Unknown {
		return codec.LZ4
	}
	return q.Codec
}

// hasher returns what places the keys of a store.
func (s Store) hasher() (*placement.Hasher, error) { return placement.NewHasher(s.Key, s.Hashed) }

// recorded returns the types as a release records them.
func (s Store) recorded(r release) (key, value *sqltype.Type) {
	key, value = s.Key, s.Value
	switch {
	case s.RecordedValue != nil:
		value = s.RecordedValue
	case s.misnamed && r.misnamesDedupe():
		value = s.Key
	}
	if r.allNullable() {
		key, value = nullable(key), nullable(value)
	}
	return key, value
}

// nullable returns the struct with columns none of which is NOT NULL.
func nullable(t *sqltype.Type) *sqltype.Type {
	c := *t
	c.Fields = append([]sqltype.Field(nil), t.Fields...)
	for i := range c.Fields {
		c.Fields[i].Nullable = true
	}
	return &c
}
