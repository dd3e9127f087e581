package policy

import (
	"fmt"
	"iter"

	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// refitOptions say what to do with scheduled messages that do not fit the policy.
type refitOptions struct {
	preview bool
	then    string
}

func refitFlags(flags *pflag.FlagSet) *refitOptions {
	o := &refitOptions{}
	flags.BoolVar(&o.preview, "preview", false, "apply nothing, and list the scheduled messages that would not fit")
	flags.StringVar(&o.then, "then", "", "`action` for those messages: keep them where they are (default), shift each to"+
		" its next free time, or cancel them")
	cli.Words(flags, "then", string(message.RefitKeep), string(message.RefitShift), string(message.RefitCancel))
	return o
}

// check returns the action.
func (o *refitOptions) check() (message.RefitAction, error) {
	switch {
	case o.then == "":
		return message.RefitKeep, nil
	case o.preview:
		return "", &cli.UsageError{Field: "then", Detail: "--preview changes nothing, and so goes without --then"}
	}
	action, err := message.ParseRefitAction(o.then)
	if err != nil {
		return "", fmt.Errorf("reading --then: %w", err)
	}
	return action, nil
}

// watch shows a preview or a refit.
func (c *commands) watch(events iter.Seq2[client.RefitEvent, error]) error {
	view := newRefitView(c.Program, c.JSON)
	var summary message.RefitSummary
	for event, err := range events {
		switch {
		case err != nil:
			return view.end(summary, err)
		case event.Progress != nil:
			view.bar.Show(event.Progress.Done, keyspace.Partitions)
		case event.Misfit != nil:
			err = view.misfit(*event.Misfit)
		default:
			summary = *event.Summary
		}
		if err != nil {
			return view.end(summary, err)
		}
	}
	return view.end(summary, nil)
}
