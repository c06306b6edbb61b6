package checkpoint

import "github.com/sparkstate/sparkstate/statestore/sqltype"

// NeverExpires says why no row of the store can ever be removed, though the
// query has a watermark, and what would be the cure; empty where rows expire,
// where that cannot be told, or where nothing asks for it (a query without a
// watermark, a single row).
//
// The textbook case is dropDuplicates by columns among which the event time is
// not: Spark keeps every key for ever.
func (s *Store) NeverExpires() (why, cure string) {
	k := s.op.kind
	if k == nil || k.neverExpires == nil || !s.op.cp.hasWatermark() {
		return "", ""
	}
	return k.neverExpires(s)
}

// hasWatermark says whether the query declares a watermark: the logs have one,
// or a column of some store carries Spark's mark of it.
func (c *Checkpoint) hasWatermark() bool { return c.watermarked() }

func (c *Checkpoint) findWatermark() bool {
	for _, o := range c.operators {
		for _, s := range o.stores {
			for _, t := range []*sqltype.Type{s.types.key, s.types.value} {
				if t != nil && len(eventTime("", t)) > 0 {
					return true
				}
			}
		}
	}
	ms, err := c.WatermarkMs()
	if err != nil {
		c.warn(err)
	}
	return ms > 0
}

// WatermarkMs returns the event-time watermark after the last committed batch,
// in milliseconds since 1970: what the next batch starts with. 0 is none.
func (c *Checkpoint) WatermarkMs() (int64, error) {
	last, _, err := c.LastCommitted()
	if err != nil || last < 0 || len(c.planned)+len(c.committed) == 0 {
		return 0, err
	}
	b, err := c.Batch(last)
	if err != nil {
		return 0, err
	}
	var ms int64
	if b.Offsets != nil {
		ms = b.Offsets.WatermarkMs
	}
	if b.Commit != nil {
		ms = max(ms, b.Commit.NextWatermarkMs)
	}
	return ms, nil
}

// keyHasEventTime says whether a column of the key carries the watermark, so
// that rows go once it has passed.
func (s *Store) keyHasEventTime() bool {
	return s.types.key != nil && len(eventTime("key", s.types.key)) > 0
}
