package policy

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/refit"
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

// previewPolicy lists the scheduled messages that would not fit a policy. It applies
// nothing.
func (c *commands) previewPolicy(
	ctx context.Context, client redis.UniversalClient, settings config.Config, policy policy.Policy,
) error {
	return withRefitter(ctx, client, settings, func(r *refit.Refitter) error {
		view := newRefitView(c.Program, c.asJSON)
		summary, err := r.Preview(ctx, policy, view.watcher())
		return view.end(summary, err)
	})
}

// refitPolicy applies the action to the scheduled messages that do not fit the stored
// policy.
func (c *commands) refitPolicy(
	ctx context.Context, client redis.UniversalClient, settings config.Config, policy policy.Policy, action message.RefitAction,
) error {
	if action == message.RefitKeep {
		return nil
	}
	return withRefitter(ctx, client, settings, func(r *refit.Refitter) error {
		view := newRefitView(c.Program, c.asJSON)
		summary, err := r.Run(ctx, policy, action, view.watcher())
		return view.end(summary, err)
	})
}

func withRefitter(ctx context.Context, client redis.UniversalClient, c config.Config, do func(*refit.Refitter) error) (err error) {
	b, err := backend.Open(client, store.BackendOptions(c))
	if err != nil {
		return fmt.Errorf("opening the store: %w", err)
	}
	if err := b.Listen.Load(ctx); err != nil {
		return err
	}
	r, err := refit.New(b, refit.Options{Options: store.SubmitterOptions(c)})
	if err != nil {
		return fmt.Errorf("opening the reservations: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return do(r)
}
