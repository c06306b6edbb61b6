package main

import (
	"strings"

	"github.com/sparkstate/sparkstate/checkpoint"
)

// confView has a row for each key of the first conf, and then one for each
// change. Together they tell the conf of every batch.
type confView struct {
	table bool
	begun bool
}

func (v *confView) columns() []column {
	return []column{{"batch_id", true}, {"change", false}, {"key", false}, {"before", false}, {"after", false}}
}

func (v *confView) entry(sh *sheet, e *checkpoint.HistoryEntry) error {
	if e.Offsets == nil || e.Offsets.Conf == nil {
		return nil
	}
	if !v.begun {
		v.begun = true
		for _, k := range sortedKeys(e.Offsets.Conf) {
			value := e.Offsets.Conf[k]
			if err := v.row(sh, e.ID, "first", checkpoint.ConfChange{Key: k, After: &value}); err != nil {
				return err
			}
		}
		return nil
	}
	for _, c := range e.ConfChanges {
		change := "changed"
		switch {
		case c.Before == nil:
			change = "added"
		case c.After == nil:
			change = "removed"
		}
		if err := v.row(sh, e.ID, change, c); err != nil {
			return err
		}
	}
	return nil
}

func (v *confView) row(sh *sheet, id int64, change string, c checkpoint.ConfChange) error {
	key := c.Key
	if v.table {
		key = shortKey(key)
		c.Before, c.After = shortClass(c.Before), shortClass(c.After)
	}
	return sh.row(jsonCell(id), textCell(change), textCell(key), jsonCell(c.Before), jsonCell(c.After))
}

// shortClass leaves out the package of Spark's own classes.
func shortClass(v *string) *string {
	if v == nil || !strings.HasPrefix(*v, "org.apache.spark.") {
		return v
	}
	s := (*v)[strings.LastIndexByte(*v, '.')+1:]
	return &s
}

func (v *confView) end(*sheet) error { return nil }
