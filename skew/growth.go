package skew

import (
	"context"
	"fmt"
	"iter"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// TimeReport looks at one column of the state that plays a part in time: an
// event time, an expiry or a timeout.
type TimeReport struct {
	Role checkpoint.Role `json:"role"`
	// Column names it, as value.timeoutTimestamp.
	Column string `json:"column"`
	// Oldest and Newest are the least and greatest value, in milliseconds since
	// 1970; nil where no row has one.
	Oldest *int64 `json:"oldestMs"`
	Newest *int64 `json:"newestMs"`
	// Due is the number of rows whose time is not after the clock: they are
	// there, and the next batch can remove them. nil where that is not for this
	// column to say, as the event times of joined rows, or there is no clock.
	Due *int64 `json:"due"`
	// Unset is the number of rows without a time: null, or a timeout of -1.
	Unset int64 `json:"unset"`

	due int64 // Due, whether or not that is for this column to say
}

// Clock is what the times in a state are held against, in milliseconds since
// 1970; 0 is none.
type Clock struct {
	// WatermarkMs is the event-time watermark.
	WatermarkMs int64
	// WallMs is the wall clock, for timeouts of a query without a watermark:
	// those are of processing time.
	WallMs int64
}

// Times scans the rows of a store once, as of a batch, and holds the columns
// that play a part in time against the clock.
func Times(ctx context.Context, s *checkpoint.Store, clock Clock, opts ...checkpoint.Option) ([]TimeReport, error) {
	columns := s.Columns()
	if len(columns) == 0 {
		return nil, nil
	}
	key, _ := s.Key()
	value, _ := s.Value()
	out := make([]TimeReport, len(columns))
	readers := make([]timeReader, len(columns))
	limits := make([]int64, len(columns))
	for i, c := range columns {
		t := value
		if c.Side == "key" {
			t = key
		}
		out[i].Role, out[i].Column = c.Role, c.Side
		limits[i] = clock.WatermarkMs
		if c.Role == checkpoint.Timeout && clock.WatermarkMs == 0 {
			limits[i] = clock.WallMs
		}
		if c.Expires && limits[i] > 0 {
			out[i].Due = new(int64)
		}
		for at, index := t, c.Index; len(index) > 0; index = index[1:] {
			f := at.Fields[index[0]]
			out[i].Column += "." + f.Name
			at = f.Type.Resolved()
		}
		var err error
		if readers[i], err = timeAt(t, c.Index); err != nil {
			return nil, fmt.Errorf("column %s: %w", out[i].Column, err)
		}
	}
	look := func(found []TimeReport, e statestore.Entry) error {
		for i, c := range columns {
			row := e.Value
			if c.Side == "key" {
				row = e.Key
			}
			v, ok, err := readers[i](row)
			if err != nil {
				return err
			}
			ms, due := v, v <= limits[i]
			if c.Unit == checkpoint.Microseconds {
				// Compared as Spark does, to the microsecond.
				ms, due = floorDiv(v, 1000), v <= 1000*limits[i]
			}
			found[i].take(ms, due, ok && !(c.Role == checkpoint.Timeout && v < 0))
		}
		return nil
	}
	for found, err := range checkpoint.Scan(ctx, s, func(_ context.Context, _ int, rows iter.Seq2[[]statestore.Entry, error], emit func([]TimeReport) bool) error {
		found := make([]TimeReport, len(columns))
		for batch, err := range rows {
			if err != nil {
				return err
			}
			for _, e := range batch {
				if err := look(found, e); err != nil {
					return err
				}
			}
		}
		emit(found)
		return nil
	}, opts...) {
		if err != nil {
			return nil, err
		}
		for i := range found {
			out[i].merge(&found[i])
		}
	}
	return out, nil
}

// merge takes in what was found in some of the rows. Whether there is a clock
// for the column is known to t.
func (t *TimeReport) merge(found *TimeReport) {
	if found.Oldest != nil && (t.Oldest == nil || *found.Oldest < *t.Oldest) {
		t.Oldest = found.Oldest
	}
	if found.Newest != nil && (t.Newest == nil || *found.Newest > *t.Newest) {
		t.Newest = found.Newest
	}
	if t.Due != nil {
		*t.Due += found.due
	}
	t.Unset += found.Unset
}

func (t *TimeReport) take(ms int64, due, set bool) {
	if !set {
		t.Unset++
		return
	}
	if t.Oldest == nil || ms < *t.Oldest {
		t.Oldest = &ms
	}
	if t.Newest == nil || ms > *t.Newest {
		t.Newest = &ms
	}
	if due {
		t.due++
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// timeReader reads a time column of a row; false where it is null.
type timeReader func(row []byte) (int64, bool, error)

// timeAt returns the reader of a column by its positions through structs.
func timeAt(t *sqltype.Type, index []int) (timeReader, error) {
	find, leaf := fieldAt(t, index)
	switch leaf.Kind {
	case sqltype.Timestamp, sqltype.TimestampNTZ, sqltype.Long:
	default:
		return nil, fmt.Errorf("a %s is no time", leaf.DDL())
	}
	return func(row []byte) (int64, bool, error) {
		r, i, ok, err := find(row)
		if !ok {
			return 0, false, err
		}
		return r.Int64(i), true, nil
	}, nil
}
