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
as --fail-on says. Damage is an answer here, not an error.

` + helpOfKinds(),
		Args: oneCheckpoint,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.check(cmd, args[0], f)
		},
	}
	a.shared(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.level, "level", f.level, "how much to read: quick, default or deep")
	flags.Int64Var(&f.chain, "chain", 0, "from how many deltas on a load is worth a finding (default 100)")
	flags.StringVar(&f.failOn, "fail-on", f.failOn, "exit with 1 from this severity on: info, warning or critical")
	flags.StringArrayVar(&f.compare, "compare-schema", nil, "compare with the schema of a changed query, by Spark's rules: key=DDL or value=DDL, of the store that --operator and --store pick")
	flags.StringVar(&a.operator, "operator", "", "operator of --compare-schema")
	flags.StringVar(&a.store, "store", "", "store of --compare-schema")
	flags.IntVar(&a.workers, "workers", 0, "partitions looked at at once (default: one for each processor)")
	return cmd
}

// helpOfKinds lists the kinds of findings by the least level that finds them.
func helpOfKinds() string {
	var b strings.Builder
	for _, level := range []checkpoint.CheckLevel{checkpoint.QuickCheck, checkpoint.DefaultCheck, checkpoint.DeepCheck} {
		fmt.Fprintf(&b, "Findings, from --level %s on:\n", level)
		for _, k := range checkpoint.FindingKinds() {
			if k.Level == level {
				fmt.Fprintf(&b, "  %-26s %s\n", k.ID, k.Title)
			}
		}
	}
	return b.String()
}

// checkFlags are the flags of check.
type checkFlags struct {
	level, failOn string
	chain         int64
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
	if f.chain < 0 {
		return usagef("--chain %d: no less than 0", f.chain)
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
	r, err := cp.Check(cmd.Context(), l, append(options, checkpoint.CheckWorkers(a.workers), checkpoint.LongChain(f.chain))...)
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
	opts, err := a.openOptions()
	if err != nil {
		return nil, err
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
