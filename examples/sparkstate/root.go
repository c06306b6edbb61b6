package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
)

// app is one run of the tool: its streams, and the flags that several verbs
// share.
type app struct {
	out, err io.Writer

	format    format
	operator  string
	store     string
	batch     int64
	partition []int
	limit     int64
	ignoreCRC bool
	limits    map[string]int64
	camel     bool
	workers   int
	reads     int
	memory    size
	every     time.Duration

	keySchema, valueSchema string
	// damaged: stores whose operator's metadata cannot be used may be picked.
	damaged bool

	stats    statestore.Stats
	messages *messages
}

// run runs the tool with the given arguments and returns its exit code.
func run(ctx context.Context, args []string, out, errw io.Writer) int {
	a := &app{err: errw, messages: newMessages(errw)}
	ans := &outStream{w: out, begin: a.messages.begin}
	a.out = ans
	root := &cobra.Command{
		Use:           "sparkstate",
		Short:         "Read the state of a Spark Structured Streaming query without Spark",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("limit") && a.limit < 0 {
				return usagef("--limit %d: no less than 0", a.limit)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no verb %q; the verbs are %s", args[0], verbs(cmd))
			}
			return cmd.Help()
		},
	}
	root.SetOut(a.out)
	// Errors are told below; cobra itself would only add that the text of
	// --help could not be written.
	root.SetErr(io.Discard)
	root.SetArgs(args)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%v; %s --help lists the flags", err, cmd.CommandPath())
	})
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(a.infoCommand(), a.metadataCommand(), a.readCommand(), a.changesCommand(), a.getCommand(), a.diffCommand(), a.batchesCommand(), a.checkCommand(), a.skewCommand(), a.reportCommand(), a.metricsCommand(), a.exportCommand())
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = output(ans.err)
	}
	err = ofRange(cmd, interrupted(ctx, err))
	a.messages.end(err)
	return exitCode(err)
}

func verbs(cmd *cobra.Command) string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.Name() != "help" {
			names = append(names, c.Name())
		}
	}
	return strings.Join(names, ", ")
}

// oneCheckpoint is the argument check of the verbs that take one checkpoint.
func oneCheckpoint(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return usagef("which checkpoint? sparkstate %s CKPT [flags]", cmd.Name())
	case 1:
		return nil
	}
	return usagef("one checkpoint at a time: %s", strings.Join(args, " "))
}

// shared declares the flags that all verbs have.
func (a *app) shared(cmd *cobra.Command) {
	cmd.Flags().Var(&a.format, "format", "output as table, json, jsonl or csv")
	a.verifying(cmd)
}

// verifying declares the flags of how files are believed.
func (a *app) verifying(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringToInt64Var(&a.limits, "limits", nil, "other limits than the library's own, such as rowBytes=1073741824 (`NAME=N`, go doc ./checkpoint Limits)")
	f.Lookup("limits").DefValue = "" // for --help
	f.BoolVar(&a.ignoreCRC, "ignore-crc", false, "do not verify files by the .crc files beside them")
}

// naming declares the flag of the verbs that have columns named as Spark's
// reader and change feed name theirs: partition_id.
func (a *app) naming(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.camel, "camel", false, "name columns in camel case throughout: partitionId, not Spark's partition_id")
}

// selecting declares the flags that pick a part of the state.
func (a *app) selecting(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.operator, "operator", "", "operator by id, name or name_id (1, dedupe, dedupe_1)")
	f.StringVar(&a.store, "store", "", "store by name (all operators but joins have one: default)")
	f.Int64Var(&a.batch, "batch", -1, "state after this batch (default: the last committed one)")
	f.IntVar(&a.workers, "workers", 0, "partitions decoded at once (default: one for each processor)")
	f.IntVar(&a.reads, "reads", 0, "files read ahead at once (default: 64)")
	f.Var(&a.memory, "memory", "most memory for rows that deltas touch, such as 512M; a read that needs more fails (default: no limit)")
}

// reading returns what the flags say of how files are read, whatever is wanted
// of them.
func (a *app) reading() []checkpoint.Option {
	opts := []checkpoint.Option{checkpoint.Reads(a.reads), checkpoint.WithStats(&a.stats)}
	if a.memory > 0 {
		opts = append(opts, checkpoint.Memory(int64(a.memory)))
	}
	return opts
}

// options returns what the flags say to the library.
func (a *app) options(cmd *cobra.Command) ([]checkpoint.Option, error) {
	opts := append(a.reading(), checkpoint.Workers(a.workers), checkpoint.RecycleBuffers())
	if cmd.Flags().Changed("batch") {
		if a.batch < 0 {
			return nil, usagef("--batch %d: batches count from 0", a.batch)
		}
		opts = append(opts, checkpoint.AtBatch(a.batch))
	}
	if len(a.partition) > 0 {
		opts = append(opts, checkpoint.Partitions(a.partition...))
	}
	return opts, nil
}

// open opens the checkpoint and says on stderr what was assumed.
func (a *app) open(path string, opts ...checkpoint.OpenOption) (*checkpoint.Checkpoint, error) {
	shared, err := a.openOptions()
	if err != nil {
		return nil, err
	}
	opts = append(append(opts, checkpoint.OnWarning(a.warn)), shared...)
	cp, err := checkpoint.Open(path, opts...)
	if err != nil {
		return nil, err
	}
	for _, n := range cp.Notes() {
		a.note(n)
	}
	if len(cp.Operators()) == 0 {
		a.note("this checkpoint has no stateful operator")
	}
	return cp, nil
}

// openStores opens the checkpoint and the stores that the flags pick. The
// caller closes the checkpoint.
func (a *app) openStores(cmd *cobra.Command, path string) (_ *checkpoint.Checkpoint, _ []*checkpoint.Store, _ []checkpoint.Option, err error) {
	cp, err := a.open(path)
	if err != nil {
		return nil, nil, nil, err
	}
	stores, err := a.stores(cp)
	if err != nil {
		return nil, nil, nil, closing(cp, err)
	}
	opts, err := a.options(cmd)
	if err != nil {
		return nil, nil, nil, closing(cp, err)
	}
	return cp, stores, opts, nil
}

func (a *app) warn(err error)   { a.messages.warn(err) }
func (a *app) note(text string) { a.messages.note(text) }

// partitions returns the partitions that the flags pick, all without any.
func (a *app) partitions(s *checkpoint.Store) []int {
	if len(a.partition) > 0 {
		ids := slices.Clone(a.partition)
		slices.Sort(ids)
		return slices.Compact(ids)
	}
	n, _ := s.Operator().Partitions()
	ids := make([]int, n)
	for p := range ids {
		ids[p] = p
	}
	return ids
}

// closing closes the checkpoint on the way out with an error.
func closing(cp *checkpoint.Checkpoint, err error) error { return errors.Join(err, cp.Close()) }

// must is for errors that only a mistake in this program can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
