package checkpoint

import (
	"strconv"

	"github.com/apache/arrow/go/v17/arrow"
)

// Origin says of which state rows are. Rows that leave the checkpoint take it
// along as the metadata of their schema.
type Origin struct {
	// Query is the query's id, empty where it is not recorded.
	Query string
	// Operator and Name are the operator's id and name; Name may be empty.
	Operator int
	Name     string
	// Store is the name of the store; of the rows of a join side, that which
	// holds them, and Side says which.
	Store string
	Side  Side
	// At is the state. Of changes it is that of the last batch, and From the
	// first one; -1 where the rows are not changes.
	At
	From int64
}

// Origin returns the origin of the store's rows at a batch.
func (s *Store) Origin(at At) Origin {
	o := Origin{Operator: s.op.id, Name: s.op.name, Store: s.name, At: at, From: -1}
	id, err := s.op.cp.ID()
	if err != nil {
		s.op.cp.warn(err)
	}
	o.Query = id
	return o
}

// Origin returns the origin of the side's rows at a batch.
func (j *JoinSide) Origin(at At) Origin {
	o := j.rows.Origin(at)
	o.Side = Right
	if j.rows.name == string(Left)+rowsSuffix {
		o.Side = Left
	}
	return o
}

// Metadata returns the origin as key-value pairs, numbers in decimal:
// sparkstate.query, .operator, .operator_name, .store, .join_side, .batch,
// .version and .from_batch; those that are empty are left out.
func (o Origin) Metadata() arrow.Metadata {
	var keys, values []string
	add := func(key, value string) {
		if value != "" {
			keys, values = append(keys, "sparkstate."+key), append(values, value)
		}
	}
	add("query", o.Query)
	add("operator", strconv.Itoa(o.Operator))
	add("operator_name", o.Name)
	add("store", o.Store)
	add("join_side", string(o.Side))
	add("batch", strconv.FormatInt(o.Batch, 10))
	add("version", strconv.FormatInt(o.Version, 10))
	if o.From >= 0 {
		add("from_batch", strconv.FormatInt(o.From, 10))
	}
	return arrow.NewMetadata(keys, values)
}
