package checkpoint

import (
	"fmt"
	"strings"

	"github.com/sparkstate/sparkstate/statestore/codec"
)

// fixedSetting is a setting that Spark takes from the checkpoint for as long as
// it lives.
type fixedSetting struct {
	// legacy is what its absence means; empty where that is the session's value.
	legacy string
	// effect is what comes of a change.
	effect    string
	condition string
}

const (
	cannotUnpack  = "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"
	otherKeys     = "Spark refuses the state: "
	acceptsSilent = "Spark accepts it: "
)

var fixedSettings = map[string]fixedSetting{
	ConfShufflePartitions: {"", "The number of partitions decides where keys are, so Spark takes the recorded one and the state has to fit it: with more it refuses to load the partitions that are not there, with fewer it forgets the others. Only an offline repartitioning (Spark 4.2, RocksDB) changes it.", missingDelta},
	ConfProviderClass:     {"org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider", otherKeys + "one provider does not find the files of another.", missingDelta},
	ConfCodec:             {"lz4", otherKeys + "files of the other compression cannot be unpacked.", cannotUnpack},
	ConfRowChecksum:       {"false", otherKeys + "once turned on, rows without a checksum do not match; once turned off, rows begin with one.", "STATE_STORE_ROW_CHECKSUM_VERIFICATION_FAILED"},
	ConfAggregationFormat: {"1", otherKeys + "values of the other format have other columns.", "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"},
	ConfJoinFormat:        {"1", otherKeys + "values of the other format have a column more or less.", "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"},
	ConfFlatMapGroupsFormat: {"1", otherKeys + "values of the other format have other columns.",
		"STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"},
	ConfStrictDistribution:   {"false", acceptsSilent + "but keys may then belong in other partitions, where their state is not found.", ""},
	ConfMultipleWatermarks:   {"min", acceptsSilent + "from then on the watermark follows another input, so that rows are late, or kept, that were not before.", ""},
	ConfStateStoreEncoding:   {"unsaferow", otherKeys + "rows of the other encoding cannot be read. HDFSBackedStateStoreProvider does not look at it.", ""},
	ConfRocksDBFormatVersion: {"", acceptsSilent + "RocksDB writes the format from then on. HDFSBackedStateStoreProvider does not look at it.", ""},
}

func findConfChanges(x *examination, add func(Finding)) {
	const reason = " Spark takes the setting from the offset log, so the log was edited, or two queries write to this checkpoint: look for a second query."
	for _, l := range x.logs {
		for _, c := range l.confChanges {
			fixed, ok := fixedSettings[c.Key]
			if !ok {
				continue
			}
			// A later Spark adds keys, with what applied before.
			value := func(v *string) string {
				if v == nil {
					return fixed.legacy
				}
				return *v
			}
			before, after := value(c.Before), value(c.After)
			if before == "" || after == "" || strings.EqualFold(before, after) || c.Key == ConfCodec && sameCodec(before, after) {
				continue
			}
			absent := func(v *string) string {
				if v == nil {
					return ", which its absence means,"
				}
				return ""
			}
			f := x.aboutLog("offsets", l.id, "%s changed from %s%s in batch %d to %s%s in batch %d", c.Key, before, absent(c.Before), l.confSince, after, absent(c.After), l.id)
			f.Do, f.Condition = fixed.effect+reason, fixed.condition
			add(f)
		}
	}
}

// sameCodec says whether two values of the setting name the same compression.
func sameCodec(a, b string) bool {
	x, err := codec.Parse(a)
	y, err2 := codec.Parse(b)
	return err == nil && err2 == nil && x == y
}

// findUnknownConf finds values that Spark itself could not use.
func findUnknownConf(x *examination, add func(Finding)) {
	if x.cp.confBatch < 0 {
		return
	}
	if _, err := codec.Parse(x.cp.conf[ConfCodec]); err != nil {
		f := x.aboutLog("offsets", x.cp.confBatch, "%s: %v", ConfCodec, err)
		f.Severity, f.Do = Info, "Nothing, if the query has a compression of its own: its class has to be there when it starts. Files are read here by their first bytes, whatever the setting says."
		add(f)
	}
	if text, ok := x.cp.conf[ConfShufflePartitions]; ok {
		if n, ok := x.cp.conf.partitions(); !ok || n > maxID {
			f := x.aboutLog("offsets", x.cp.confBatch, "%s is %.40q, which is no number of partitions", ConfShufflePartitions, text)
			f.Severity = Critical
			add(f)
		}
	}
}

// otherWriters are traces that a second query leaves, by the kind of finding
// and what they are called in the summary.
var otherWriters = map[string]string{
	"clock-backwards":        "batches that were planned out of turn",
	"offsets-backwards":      "offsets that go back",
	"conf-changed":           "settings that change within the life of the checkpoint",
	"two-files-for-version":  "two files for one version",
	"other-provider-files":   "files of another provider",
	"store-unrecorded":       "stores of another query",
	"partition-beyond-count": "partitions of another query",
	"log-twice":              "two logs of one batch",
}

// findTwoWriters draws the conclusion from what was found: one trace may have a
// reason of its own, several hardly do.
func findTwoWriters(x *examination, add func(Finding)) {
	var kinds []string
	seen := make(map[string]bool)
	for _, f := range x.findings {
		what := otherWriters[f.ID]
		if f.ID == "state-uncommitted" && f.Severity == Warning {
			what = "state that no batch in offsets/ can have written"
		}
		if what != "" && !seen[what] {
			seen[what] = true
			kinds = append(kinds, what)
		}
	}
	if at := x.attempts(); at != "" {
		kinds = append(kinds, at)
	}
	if len(kinds) < 2 {
		return
	}
	f := anywhere("there are traces of a second query that writes to this checkpoint: %s", strings.Join(kinds, "; "))
	f.Condition = "CONCURRENT_STREAM_LOG_UPDATE"
	add(f)
}

// attempts describes state files of one version of which more attempts were
// left unfinished than a task makes; empty for none.
func (x *examination) attempts() string {
	n := 0
	x.partitions(func(p *partFacts) {
		by := make(map[string]int)
		for i := range p.files {
			if final, ok := temporary(&p.files[i]); ok {
				by[final]++
			}
		}
		for _, k := range by {
			if k > 1 {
				n++
			}
		}
	})
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("several unfinished attempts of %d state files", n)
}
