package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

func (a *app) checkCommand() *cobra.Command {
	f := checkFlags{level: "default", failOn: "warning"}
	cmd := &cobra.Command{
		Use:   "check CKPT",
		Short: "Is it whole, what can be restored, and what to do",
		Long: `Whether the query restarts as the checkpoint is, which batch is the newest that
every store can load, what is wrong, and what to do about it.

--level quick judges by names and sizes, default decodes each file that a
restorable batch needs, deep decodes all and validates rows, partitions and
snapshots. The exit code is 1 where something is found that is at least as bad
as --fail-on says. Damage is an answer here, not an error.`,
		Args: oneCheckpoint,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.check(cmd, args[0], f)
		},
	}
	a.shared(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.level, "level", f.level, "how much to read: quick, default or deep")
	flags.StringVar(&f.failOn, "fail-on", f.failOn, "exit with 1 from this severity on: info, warning or critical")
	flags.StringArrayVar(&f.compare, "compare-schema", nil, "compare with the schema of a changed query, by Spark's rules: key=DDL or value=DDL, of the store that --operator and --store pick")
	flags.StringVar(&a.operator, "operator", "", "operator of --compare-schema")
	flags.StringVar(&a.store, "store", "", "store of --compare-schema")
	flags.IntVar(&a.workers, "workers", 0, "partitions looked at at once (default: one for each processor)")
	return cmd
}

// checkFlags are the flags of check.
type checkFlags struct {
	level, failOn string
	compare       []string
}

// proposed returns the option that compares with the schemas given.
func (a *app) proposed(cp *checkpoint.Checkpoint, given []string) ([]checkpoint.CheckOption, error) {
	if len(given) == 0 {
		if a.operator != "" || a.store != "" {
			return nil, usagef("check looks at all stores; --operator and --store go with --compare-schema")
		}
		return nil, nil
	}
	types := make(map[string]*sqltype.Type)
	for _, g := range given {
		side, text, ok := strings.Cut(g, "=")
		if !ok || side != "key" && side != "value" || types[side] != nil {
			return nil, usagef("--compare-schema %q is neither key=DDL nor value=DDL, once each", g)
		}
		t, err := parseSchema("compare-schema", text)
		if err != nil {
			return nil, err
		}
		types[side] = t
	}
	s, err := a.oneStore(cp)
	if err != nil {
		return nil, err
	}
	return []checkpoint.CheckOption{checkpoint.CompareSchema(s.Operator().ID(), s.Name(), types["key"], types["value"])}, nil
}

func (a *app) check(cmd *cobra.Command, name string, f checkFlags) error {
	l, err := pickNamed("level", f.level, checkpoint.QuickCheck, checkpoint.DefaultCheck, checkpoint.DeepCheck)
	if err != nil {
		return err
	}
	line, err := pickNamed("fail-on", f.failOn, checkpoint.Info, checkpoint.Warning, checkpoint.Critical)
	if err != nil {
		return err
	}
	cp, err := a.openJudged(name)
	if err != nil {
		return err
	}
	defer cp.Close()
	for _, n := range cp.Notes() {
		a.note(n)
	}
	options, err := a.proposed(cp, f.compare)
	if err != nil {
		return err
	}
	done := a.progress("checking " + name)
	r, err := cp.Check(cmd.Context(), l, append(options, checkpoint.CheckWorkers(a.workers))...)
	done()
	if err != nil {
		return err
	}
	if a.format == asTable {
		err = a.checkText(cp, r)
	} else {
		err = a.checkRows(name, cp, r)
	}
	if err != nil {
		return err
	}
	n := 0
	for _, f := range r.Findings {
		if f.Severity >= line {
			n++
		}
	}
	if n > 0 {
		return &errFound{fmt.Sprintf("%s of severity %s or above", counting(n, "finding"), line)}
	}
	return nil
}

// openJudged opens a checkpoint to check it: what a warning would say is a
// finding.
func (a *app) openJudged(name string) (*checkpoint.Checkpoint, error) {
	var opts []checkpoint.OpenOption
	if a.ignoreCRC {
		opts = append(opts, checkpoint.IgnoreSidecars())
	}
	return checkpoint.Open(name, opts...)
}

// pickNamed returns the value that a flag names.
func pickNamed[T fmt.Stringer](flag, text string, values ...T) (T, error) {
	var zero T
	names := ""
	for i, v := range values {
		if v.String() == text {
			return v, nil
		}
		if i > 0 {
			names += ", "
		}
		names += v.String()
	}
	return zero, usagef("--%s %s is none of %s", flag, text, names)
}

func counting(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// judgeNames are the names of the judges in documents.
var judgeNames = [checkpoint.Judges]string{"sparkBefore41", "spark41", "library"}

type checkAnswer struct {
	Judge    string  `json:"judge"`
	Restarts bool    `json:"restarts"`
	Why      *string `json:"why"`
	// Newest is null where no batch loads everywhere.
	Newest *int64     `json:"newestBatch"`
	Back   *checkBack `json:"rollback"`
}

type checkBack struct {
	Offsets  []int64   `json:"removeOffsets"`
	Commits  []int64   `json:"removeCommits"`
	Above    int64     `json:"removeStateAbove"`
	Again    *int64    `json:"runsAgain"`
	Replayed *[2]int64 `json:"replayedBatches"`
	Sources  []string  `json:"removeSourceLogs"`
}

type checkMap struct {
	Operator  int         `json:"operatorId"`
	Store     string      `json:"stateStoreName"`
	Partition int         `json:"partitionId"`
	Spans     []checkSpan `json:"spans"`
}

type checkSpan struct {
	First   int64                         `json:"firstBatch"`
	Last    int64                         `json:"lastBatch"`
	Loading map[string]checkpoint.Loading `json:"loading"`
	Why     *string                       `json:"why"`
}

// checkRows writes the findings as rows, and in a document the rest after them.
func (a *app) checkRows(name string, cp *checkpoint.Checkpoint, r *checkpoint.CheckReport) error {
	sh := &sheet{format: a.format, header: document(name, numberOrNil(r.LastCommitted)), columns: []column{
		{name: "id"}, {name: "severity"}, {"operatorId", true}, {name: "operatorName"}, {name: "stateStoreName"}, {"partitionId", true},
		{"batch", true}, {name: "file"}, {"offset", true}, {name: "what"}, {name: "do"}, {name: "condition"},
	}}
	sh.footer = []field{
		{"level", r.Level}, {"askedBatch", numberOrNil(r.Asked)}, {"answers", checkAnswers(r)}, {"map", checkMaps(r)},
		{"filesDecoded", r.Files}, {"bytesDecoded", r.Bytes},
	}
	if err := sh.begin(a.out); err != nil {
		return err
	}
	for _, f := range r.Findings {
		if err := sh.row(textCell(f.ID), textCell(f.Severity.String()), numberOrNull(int64(f.Operator)), textOrNull(operatorName(cp, f.Operator)),
			textOrNull(f.Store), numberOrNull(int64(f.Partition)), numberOrNull(f.Batch), textOrNull(f.File), numberOrNull(f.Offset),
			textCell(f.What), textCell(f.Do), textOrNull(f.Condition)); err != nil {
			return err
		}
	}
	return sh.end()
}

// numberOrNil is a number as JSON, nil where -1 stands for none.
func numberOrNil(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

func numberOrNull(n int64) cell { return jsonCell(numberOrNil(n)) }

func errorOrNil(err error) *string {
	if err == nil {
		return nil
	}
	text := oneLine(err.Error())
	return &text
}

func operatorName(cp *checkpoint.Checkpoint, id int) string {
	o, err := cp.Operator(id)
	if err != nil {
		return "" // a finding about an operator that is not there
	}
	name, _ := o.Name()
	return name
}

func checkAnswers(r *checkpoint.CheckReport) []checkAnswer {
	var out []checkAnswer
	for j, answer := range r.Answers {
		c := checkAnswer{Judge: judgeNames[j], Restarts: answer.Restarts, Why: errorOrNil(answer.Why), Newest: numberOrNil(answer.Newest)}
		if b := answer.Back; b != nil {
			c.Back = &checkBack{Offsets: emptyIfNil(b.Offsets), Commits: emptyIfNil(b.Commits), Above: b.Above, Again: numberOrNil(b.Again), Sources: emptyIfNil(b.Sources)}
			if b.Replayed.First <= b.Replayed.Last {
				c.Back.Replayed = &[2]int64{b.Replayed.First, b.Replayed.Last}
			}
		}
		out = append(out, c)
	}
	return out
}

// emptyIfNil makes JSON say [] rather than null.
func emptyIfNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func checkMaps(r *checkpoint.CheckReport) []checkMap {
	out := []checkMap{}
	for _, s := range r.Map.Stores {
		for _, p := range s.Partitions {
			m := checkMap{Operator: s.Operator, Store: s.Store, Partition: p.Partition, Spans: []checkSpan{}}
			for _, sp := range p.Spans {
				c := checkSpan{First: sp.First, Last: sp.Last, Loading: make(map[string]checkpoint.Loading), Why: errorOrNil(sp.Why)}
				for j, l := range sp.Loading {
					c.Loading[judgeNames[j]] = l
				}
				m.Spans = append(m.Spans, c)
			}
			out = append(out, m)
		}
	}
	return out
}
