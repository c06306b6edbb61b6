package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/provider"
)

// Severity says how much a finding matters.
type Severity uint8

const (
	unrated Severity = iota
	// Info is normal, or costs nothing but space.
	Info
	// Warning will matter: an older batch is lost, or something does not look
	// like the work of one healthy query.
	Warning
	// Critical: the query does not restart, or not with the right state.
	Critical
)

// String returns the word in lower case.
func (s Severity) String() string {
	switch s {
	case Info:
		return "info"
	case Warning:
		return "warning"
	case Critical:
		return "critical"
	}
	return fmt.Sprintf("Severity(%d)", s)
}

// MarshalText makes JSON use the words.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is one thing that a check has to say. Numbers that do not apply are
// -1, texts empty.
type Finding struct {
	// ID names the kind of finding. It stays the same in later versions.
	ID       string
	Severity Severity
	Operator int
	Store    string
	// Partition is -1 also where several are concerned; What names them.
	Partition int
	Batch     int64
	// File is the path within the file system that was opened, Offset a
	// position in it as stored, in bytes.
	File   string
	Offset int64
	// What was found, and what to Do about it, in a sentence or two each.
	What, Do string
	// Condition is the error condition under which Spark 4 reports the same.
	Condition string
}

// Place says for people where in the checkpoint a finding is, as far as What
// does not: operator 1 (dedupe), partition 2, byte 517. It is empty where it is
// in no store.
func (f Finding) Place(cp *Checkpoint) string {
	var out []string
	if f.Operator >= 0 {
		at := fmt.Sprintf("operator %d", f.Operator)
		if o, err := cp.Operator(f.Operator); err == nil && o.name != "" {
			at += " (" + o.name + ")"
		}
		out = append(out, at)
	}
	if f.Store != "" && f.Store != defaultStore {
		out = append(out, "store "+f.Store)
	}
	if f.Partition >= 0 {
		out = append(out, fmt.Sprintf("partition %d", f.Partition))
	}
	if f.Offset > 0 {
		out = append(out, fmt.Sprintf("byte %d", f.Offset))
	}
	return strings.Join(out, ", ")
}

// FindingKind describes a kind of finding.
type FindingKind struct {
	ID string
	// Level is the least level at which a check looks for it.
	Level CheckLevel
	Title string
}

// FindingKinds lists every kind that a check can find.
func FindingKinds() []FindingKind {
	out := make([]FindingKind, len(findingKinds))
	for i, k := range findingKinds {
		out[i] = FindingKind{ID: k.id, Level: k.level, Title: k.title}
	}
	return out
}

// findingKind is a line of the table below.
type findingKind struct {
	id    string
	level CheckLevel
	// severity and do apply where a finding has none of its own.
	severity Severity
	title    string
	do       string
	find     func(x *examination, add func(Finding))
}

const (
	copyAgain = "If this is a copy, copy the file again. "
	goBack    = "Otherwise see which batch the query can go back to."
)

// findingKinds is everything that a check looks for. A new kind is a line here
// and the function that finds it.
var findingKinds = []findingKind{
	// Files of the state, by name and size.
	{"delta-missing", QuickCheck, Critical, "a delta is missing in a chain", copyAgain + goBack, findMissingDeltas},
	{"copied-while-running", QuickCheck, Critical, "partitions end at different versions",
		"Typical of a checkpoint that was copied while its query ran: what was copied later is newer. Copy again, in this order: commits, offsets, state. If it is no copy, files at the end of these partitions were lost: go back to a batch that every partition has.", findCopiedWhileRunning},
	{"delta-in-some-partitions", QuickCheck, Critical, "only some partitions have the delta of a batch",
		"The usual cause is a sink that does not read a whole partition: foreachBatch with show(), limit(), take() or isEmpty(). Have it read all rows, and go back to a batch that every partition has.", findPartialBatches},
	{"state-behind-commits", QuickCheck, Critical, "the state ends before the last committed batch",
		"Typical of a copy of a running query in which state/ was copied before commits/. Copy again, in this order: commits, offsets, state.", findStateBehind},
	{"operator-left-behind", QuickCheck, Critical, "an operator's state ends where others go on",
		"If the operator was taken out of the query, or the query was changed so that operators are numbered otherwise, this is left over from before; a query that still has it does not restart.", findLeftBehind},
	{"state-uncommitted", QuickCheck, Info, "there is state beyond the last commit",
		"Nothing: the batch that wrote it is running, or will be run again.", findUncommitted},
	{"temp-file", QuickCheck, Info, "a temporary file was never renamed", "Nothing: a task that was killed has left it. It may be removed.", findTempFiles},
	{"two-files-for-version", QuickCheck, Warning, "another file claims a version", "Spark reads only the name without padding. Find out who wrote the other, and move it out: Spark 4.2 and later list a snapshot by any spelling of its number, and then fail to find it.", findTwins},
	{"foreign-file", QuickCheck, Warning, "a file that Spark stumbles over", "Move it out of the directory: Spark's own listing fails on its name, so that it neither writes snapshots nor cleans up. On a name that ends in .snapshot Spark 4.2 and later fail to load anything.", findForeign},
	{"other-provider-files", QuickCheck, Warning, "files of another state store provider",
		"Two providers have written to this directory. A checkpoint cannot change its provider: find out which query wrote the files.", findOtherProvider},
	{"partition-missing", QuickCheck, Critical, "a partition has no directory", copyAgain + goBack, findMissingPartitions},
	{"partition-beyond-count", QuickCheck, Warning, "a directory for a partition that there is none of",
		"The number of partitions is fixed when a query first starts. Find out who wrote the directory: another query, or one whose checkpoint was emptied by hand.", findExtraPartitions},
	{"store-missing", QuickCheck, Critical, "a store has vanished",
		"The query was changed so that its operator has other stores, or the copy left them out. " + copyAgain + "A changed query needs a new checkpoint.", findMissingStores},
	{"operator-renamed", QuickCheck, Warning, "an operator is another one than it was",
		"The query was changed, so that another operator has this number. Spark 4 refuses to start it; start the changed query on a new checkpoint.", findRenamedOperators},
	{"operator-missing", QuickCheck, Critical, "an operator has no directory", "Operators are numbered without gaps. " + copyAgain, findMissingOperators},
	{"store-unrecorded", QuickCheck, Warning, "a store that is none of its operator's",
		"The query was changed, or its checkpoint mixed with another's: the operator now has other stores than these. Spark does not look at them.", findUnrecordedStores},
	{"directory-unreadable", QuickCheck, Critical, "a directory cannot be listed", "Check its permissions. " + copyAgain, findUnlistable},
	{"sidecar-orphaned", QuickCheck, Info, "checksum files without their file", "Nothing: they are left over from files that were cleaned up or never renamed.", findOrphans},
	{"kept-beyond-retention", QuickCheck, Info, "files older than Spark's default retention", "Nothing, if the query keeps more than 100 batches on purpose. Otherwise its maintenance does not get to run.", findReclaimable},
	{"chain-long", QuickCheck, Warning, "a load replays many deltas",
		"Starting the query takes as long as replaying them. No snapshot was written for long: look for failing maintenance in the executors' logs, or for partitions that move between executors all the time.", findLongChains},

	// The logs and what describes the query.
	{"offsets-hole", QuickCheck, Warning, "a batch is missing in offsets/", "Batches are numbered without holes. " + copyAgain, findOffsetHoles},
	{"commits-hole", QuickCheck, Warning, "a batch is missing in commits/", "Batches are numbered without holes. " + copyAgain, findCommitHoles},
	{"commits-ahead", QuickCheck, Critical, "commits/ is ahead of offsets/", "A commit is written after its offsets. Copy offsets/ again, or remove the commits that have no offsets.", findCommitsAhead},
	{"commits-behind", QuickCheck, Warning, "commits/ is more than one batch behind offsets/", "Only the newest batch can be without a commit. Copy commits/ again, or remove the offsets beyond the batch after the last commit.", findCommitsBehind},
	{"batch-in-flight", QuickCheck, Info, "one batch was planned and is not committed", "Nothing: it is running, or it failed and will be run again.", findInFlight},
	{"log-damaged", QuickCheck, Warning, "a log file cannot be used", copyAgain + "A log that was edited by hand does not match its hidden .crc file any more; Spark does not look at that.", findDamagedLogs},
	{"log-twice", QuickCheck, Warning, "another log claims a batch", "Spark opens only the name without padding, and counts the other as well. Find out who wrote it, and move it out.", findTwinLogs},
	{"query-id-missing", QuickCheck, Warning, "the file metadata is missing",
		"Spark before 4.2 starts with a new query id, and sinks that tell batches apart by it write some twice; 4.2 and later refuse to start. " + copyAgain, findNoID},
	{"query-id-damaged", QuickCheck, Critical, "the file metadata cannot be used", copyAgain + "Its content is {\"id\":\"…\"}, with the id that the sinks know.", findBadID},
	{"operator-metadata-damaged", QuickCheck, Warning, "an operator's metadata cannot be used", copyAgain + "The query starts all the same.", findBadOperators},
	{"schema-damaged", QuickCheck, Critical, "a schema file cannot be used", copyAgain + "Rows can still be read with a schema that you give.", findBadSchemas},
	{"conf-changed", QuickCheck, Warning, "a setting that is fixed for the life of a checkpoint has changed", "", findConfChanges},
	{"conf-unusable", QuickCheck, Warning, "a setting has a value that nobody can use", "The log was edited, or the query uses a class of its own. " + copyAgain, findUnknownConf},
	{"clock-backwards", QuickCheck, Warning, "a batch was planned before the one before it", "Look for a second query that writes to the same checkpoint, or for a driver whose clock is wrong.", findClock},
	{"offsets-backwards", QuickCheck, Warning, "a source's offset went back", "Look for a second query that writes to the same checkpoint, or for a source that was emptied or recreated.", findBackwards},
	{"watermark-zero", QuickCheck, Info, "state waits for a watermark that is 0", "If the query has seen data for some batches, look for event times that are null or before 1970.", findZeroWatermark},
	{"watermark-still", QuickCheck, Info, "the watermark stands still", "With several inputs the slowest one decides. Look for an input, or a Kafka partition, without new data.", findStillWatermark},
	{"provider-not-read", QuickCheck, Info, "the state was not looked at", "Only the state of HDFSBackedStateStoreProvider is checked yet; of this one the logs were.", findUnreadProvider},

	// What a changed query would run into.
	{"schema-incompatible", QuickCheck, Critical, "the proposed schema is not compatible", "Spark refuses to start the changed query on this checkpoint. Start it on a new one, or leave these columns as they are.", findIncompatible},
	{"schema-nullability", QuickCheck, Warning, "a column of the proposed schema may be null", "Spark refuses a column that may be null where it could not before. A schema given as DDL says so of every column that is not NOT NULL; what counts is the query's own.", findMayBeNull},
	{"schema-swapped", QuickCheck, Warning, "the proposed schema has the columns in another order", "Spark compares by position and type, so it accepts columns of the same types that have changed places, and reads each as the other. Put them back in the recorded order.", findSwapped},
	{"schema-renamed", QuickCheck, Info, "the proposed schema renames columns", "Nothing: Spark compares by position and type, and keeps the old names in its file.", findRenamed},

	// What decoding a file shows.
	{"file-empty", QuickCheck, Critical, "a state file is empty", copyAgain + goBack, findEmptyFiles},
	{"file-truncated", DefaultCheck, Critical, "a state file ends too early", copyAgain + goBack, findTruncated},
	{"file-corrupt", DefaultCheck, Critical, "a state file is corrupt", copyAgain + goBack, findCorrupt},
	{"row-checksum", DefaultCheck, Critical, "a row does not match its checksum", copyAgain + goBack, findRowChecksums},
	{"wrong-codec", DefaultCheck, Critical, "a state file is compressed in another way", "Spark decompresses by the conf in offsets/ and fails. " + copyAgain + "Unpacked and repacked files are no longer what Spark wrote.", findWrongCodecs},
	{"snapshot-replaceable", DefaultCheck, Critical, "a damaged snapshot that can be done without", "Spark 4.2 and later do by themselves. For earlier ones, move the snapshot out of a copy of the checkpoint: Spark then starts from what is before it.", findReplaceable},
	{"bytes-after-end", DefaultCheck, Warning, "there is something after the end mark", "Spark does not look at it. Find out what appended to the file.", findAfterEnd},
	{"hadoop-crc", DefaultCheck, Warning, "a file does not match its hidden .crc file",
		"Spark does not look at the hidden .crc files of state files, and reads the file as it is; other programs refuse it. It decodes to its end mark, so if nothing else is wrong with it, the .crc file may be the old one: after a crash between two renames, or an edit.", findHadoopSums},
	{"spark-crc", DefaultCheck, Warning, "a file does not match its JSON .crc file",
		"Suspicious, not proof: a batch that was run twice writes file and .crc file anew, each by itself, so that they can be of different attempts. The file decodes to its end mark. Spark 4.1 refuses it; with the .crc file removed, in a copy, it does not.", findSparkSums},
	{"sidecar-unusable", DefaultCheck, Info, "a checksum file is none", "Nothing, unless the file beside it is damaged as well.", findBadSidecars},
	{"empty-deltas", DefaultCheck, Info, "most deltas are empty", "Nothing is wrong. Fewer partitions, or a longer trigger interval, write fewer files.", findEmptyDeltas},

	// What the rows show.
	{"snapshot-stale", DeepCheck, Warning, "a snapshot differs from the deltas that lead to it",
		"Spark believes the snapshot. It may be of an earlier attempt of its batch than the delta is, which is legitimate where the query gives other results when it is run again.", findStale},
	{"row-misfit", DefaultCheck, Critical, "rows do not fit the schema", "Either the schema file is of another query, or the rows are damaged. " + copyAgain, findMisfits},
	{"key-misplaced", DeepCheck, Critical, "keys are in a partition where they do not belong", "Spark looks for a key in its own partition only, so these rows are never found again. Look for partition directories that were swapped, or a number of partitions that was changed by hand.", findMisplaced},
	{"join-counts", DeepCheck, Warning, "a join's counts disagree with its rows", "Spark fails or skips rows where one is missing. Look for stores of the join that are of different batches.", findJoinCounts},
	{"timeout-1970", DeepCheck, Warning, "timeouts in 1970", "A duration was set where a point in time is expected: in event time, setTimeoutTimestamp takes milliseconds since 1970. The groups time out at once.", findTimeouts},

	// What several of these come to. It looks at the others, so it is the last.
	{"two-writers", QuickCheck, Warning, "traces of two queries in one checkpoint",
		"Stop one of the two: a checkpoint belongs to one query at a time. Then see which batch the other can go back to; what both have written to the sink is to be cleaned up there.", findTwoWriters},
}

// anywhere is a finding without a place yet.
func anywhere(what string, a ...any) Finding {
	return Finding{Operator: -1, Partition: -1, Batch: -1, Offset: -1, What: fmt.Sprintf(what, a...)}
}

// in places a finding in a store.
func (s *storeFacts) in(f Finding) Finding {
	f.Operator, f.Store = s.store.op.id, s.store.name
	return f
}

// in places a finding in a partition.
func (p *partFacts) in(f Finding) Finding {
	f = p.of.in(f)
	f.Partition = p.id
	return f
}

// about places a finding at a file, and takes from an error what it knows.
func (p *partFacts) about(f *fileFacts, err error, what string, a ...any) Finding {
	out := p.in(anywhere(what, a...))
	out.File = f.path()
	if f.Version > 0 {
		out.Batch = f.Version - 1
	}
	var fe *statestore.FileError
	if errors.As(err, &fe) {
		out.Offset, out.Condition = fe.Offset, fe.Condition
	}
	return out
}

// plain returns what an error says, without its path, offset and condition,
// which a finding has fields for.
func plain(err error) string {
	var fe *statestore.FileError
	if !errors.As(err, &fe) {
		return err.Error()
	}
	c := *fe
	c.Path, c.Offset, c.Condition = "", -1, ""
	return c.Error()
}

// compareFindings puts the worst first, and sorts by place then.
func compareFindings(a, b Finding) int {
	return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.Operator, b.Operator), cmp.Compare(a.Store, b.Store),
		cmp.Compare(a.Batch, b.Batch), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.File, b.File))
}

// weigh rates what is wrong with a file by who needs it: critical where the
// batch that Spark asks for does, info where its batch is not committed.
func (x *examination) weigh(p *partFacts, f *fileFacts) Severity {
	v := x.asked + 1
	if f.Version > max(v, x.last+1) && x.lastFrom == Recorded {
		return Info
	}
	switch base := atMost(p.snapshots, v); {
	case f.Kind == provider.SnapshotFile && f.Version == base,
		f.Kind == provider.DeltaFile && f.Version > base && f.Version <= v:
		return Critical
	}
	return Warning
}
