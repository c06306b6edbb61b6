package main

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/report"
	"github.com/sparkstate/sparkstate/skew"
)

// reportFlags are the flags of report.
type reportFlags struct {
	out, level string
	batches    int
	skew       skewFlags
}

// defaultBatches is how many batches the pictures show.
const defaultBatches = 50

func (a *app) reportCommand() *cobra.Command {
	f := reportFlags{level: "default", skew: skewFlags{measure: skew.ByRows, floor: -1}}
	cmd := &cobra.Command{
		Use:   "report CKPT -o FILE",
		Short: "All of it as one HTML page, to be attached to a ticket",
		Long: `One HTML file that needs nothing else: what the checkpoint is, whether it is
whole and what to do if not, how big it is and how it grows, which partitions
are full and why, with the numbers behind every picture.

A damaged checkpoint has a report too, which says what could not be read. The
exit code tells whether the page was written, not what it says: for that there
are check and skew --fail. The page names keys of the state.`,
		Args: oneCheckpoint,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.report(cmd, args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "the file to write; - for standard output")
	fl.StringVar(&f.level, "level", f.level, "how much check reads: quick, default or deep")
	fl.IntVar(&f.batches, "batches", defaultBatches, fmt.Sprintf("how many batches the pictures show, the newest (at most %d)", report.MaxLines))
	fl.StringVar(&f.skew.rule, "rule", skew.RuleSigma, "which rule marks hot partitions: "+strings.Join(skew.RuleNames(), ", "))
	fl.IntSliceVar(&f.skew.whatIf, "what-if", nil, "numbers of partitions to try (default: an eighth to eight times the present one)")
	fl.IntVar(&f.skew.top, "top", 10, "how many keys and values are named")
	fl.StringVar(&a.operator, "operator", "", "operator by id, name or name_id (default: all)")
	fl.StringVar(&a.store, "store", "", "store by name (default: all)")
	fl.IntVar(&a.workers, "workers", 0, "partitions read at once (default: one for each processor)")
	a.verifying(cmd)
	return cmd
}

// reporting is the making of one report.
type reporting struct {
	*app
	cmd   *cobra.Command
	flags reportFlags
	rule  skew.Rule
	cp    *checkpoint.Checkpoint
	check *checkpoint.CheckReport
	page  report.Page
}

func (a *app) report(cmd *cobra.Command, name string, f reportFlags) error {
	if f.out == "" {
		return usagef("where to? -o report.html, or -o - for standard output")
	}
	if f.batches < 1 || f.batches > report.MaxLines {
		return usagef("--batches %d: between 1 and %d", f.batches, report.MaxLines)
	}
	if err := f.skew.checkWalk(); err != nil {
		return err
	}
	rule, err := skew.ParseRule(f.skew.rule)
	if err != nil {
		return usagef("--rule: %v", err)
	}
	level, err := pickNamed("level", f.level, checkpoint.QuickCheck, checkpoint.DefaultCheck, checkpoint.DeepCheck)
	if err != nil {
		return err
	}
	if f.out != "-" {
		if err := outsideOf(name, f.out); err != nil {
			return err
		}
	}
	cp, err := a.openJudged(name)
	if err != nil {
		return err
	}
	defer cp.Close()
	done := a.progress("checking " + name)
	checked, err := cp.Check(cmd.Context(), level, checkpoint.CheckWorkers(a.workers))
	done()
	if err != nil {
		return err
	}
	r := &reporting{app: a, cmd: cmd, flags: f, rule: rule, cp: cp, check: checked}
	r.page = report.Page{Name: report.Text(shortName(name)), Path: report.Text(absolute(name)), Written: time.Now()}
	stores, err := r.stores()
	if err != nil {
		return err
	}
	r.headline()
	r.about()
	r.whole()
	r.findings()
	for _, s := range stores {
		r.page.Stores = append(r.page.Stores, r.store(s))
	}
	for _, n := range cp.Notes() {
		r.page.Notes = append(r.page.Notes, report.Text(n))
	}
	if err := cmd.Context().Err(); err != nil {
		return err // what it has left out is not for a page to say
	}
	return a.writeTo(f.out, r.page.WriteHTML)
}

// stores returns the stores that the flags pick. An operator whose metadata is
// damaged is missing, with the reason, unless it was asked for.
func (r *reporting) stores() ([]*checkpoint.Store, error) {
	if r.operator != "" || r.app.store != "" {
		return r.app.stores(r.cp)
	}
	var out []*checkpoint.Store
	for _, o := range r.cp.Operators() {
		if err := o.Err(); err != nil {
			r.missing("operator "+o.Label(), err)
			continue
		}
		out = append(out, o.Stores()...)
	}
	return out, nil
}

// missing says on the page what could not be looked at.
func (r *reporting) missing(what string, err error) {
	r.page.Missing = append(r.page.Missing, report.Text(what+": "+message(err)))
}

// shortName names a checkpoint in a word or two: the directory that many
// checkpoints share the name of says less than the one above it.
func shortName(name string) string {
	full := filepath.ToSlash(absolute(name))
	base := path.Base(full)
	if parent := path.Base(path.Dir(full)); strings.HasPrefix(base, "checkpoint") && parent != "/" && parent != "." {
		return parent + "/" + base
	}
	return base
}

// absolute returns the path in full, as far as that can be told.
func absolute(name string) string {
	if full, err := filepath.Abs(name); err == nil {
		return full
	}
	return name
}
