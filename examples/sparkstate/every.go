package main

import (
	"context"
	"errors"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// leastEvery is the shortest time between two rounds: a directory is listed
// in each.
const leastEvery = time.Second

// watching declares --every, of verbs that can watch a running directory. They
// run by repeatedly.
func (a *app) watching(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&a.every, "every", 0, "answer now and again after each of this time (60s), until it is interrupted or terminated")
}

// repeatedly runs f: once, or with --every now and then every so often, never
// twice at a time, until the process is interrupted or terminated. That is the
// ordinary end and no error. The context of cmd, which f is to heed, ends then.
//
// What goes wrong in a round is said, and the next round tries again: a
// directory that is written to is not always whole. Only wrong usage, and an
// answer that could not be written, end the rounds.
func (a *app) repeatedly(cmd *cobra.Command, f func() error) error {
	again, err := a.again(cmd)
	if err != nil {
		return err
	}
	if !again {
		return f()
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
	defer stop()
	cmd.SetContext(ctx)
	return a.rounds(ctx, f)
}

// again says whether --every was given, and refuses what it cannot be.
func (a *app) again(cmd *cobra.Command) (bool, error) {
	given := cmd.Flags().Changed("every")
	if given && a.every < leastEvery {
		return given, usagef("--every %v: no less than %v", a.every, leastEvery)
	}
	return given, nil
}

// rounds are those of repeatedly.
func (a *app) rounds(ctx context.Context, f func() error) error {
	return repeat(ctx, a.every, func() error {
		a.messages.nextRound()
		err := f()
		var usage *usageError
		var out *outputError
		switch {
		case ctx.Err() != nil && (err == nil || errors.Is(err, ctx.Err())):
			return nil
		case errors.As(err, &usage), errors.As(err, &out):
			return err
		}
		a.messages.end(err)
		return nil
	})
}

// repeat runs f now and then every d until ctx is done or f fails. A round
// begins on the beat: the beats that a long round has missed are not made up
// for.
func repeat(ctx context.Context, d time.Duration, f func() error) error {
	beat := time.NewTicker(d)
	defer beat.Stop()
	for ctx.Err() == nil {
		if err := f(); err != nil {
			return err
		}
		select {
		case <-beat.C:
		default:
		}
		select {
		case <-beat.C:
		case <-ctx.Done():
		}
	}
	return nil
}
