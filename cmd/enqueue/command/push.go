package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// push has the flags of the command.
type push struct {
	message                   client.Message
	at, expiresAt, shiftUntil string
	from, until, prefer       string // of a window
	data, metadata            []string
	content                   pushFlags
	dryRun, replace           bool
}

func (p *program) pushCommand() *cobra.Command {
	var f push
	cmd := &cobra.Command{
		Use: "push", Short: "Submit one message",
		Long: `Submit one message. If its time breaks one of the user's rules, or is in quiet
hours, it is refused and not stored. The refusal says what is in the way and
which time is free next.

An id makes it safe to submit the same message again: it is accepted once. With
--replace the message takes the place of the pending one with the id, if there
is one, until that is being sent.`,
		Example: `  sendlimit push --user alice --at +2h --title "Your table is ready"
  sendlimit push --user alice --at +90m --title Sale --body "Two for one" --data url=/sale
  sendlimit push --user alice --at "$(date -d tomorrow +%F) 11:11" --tz user --title Hi --on-conflict shift
  sendlimit push --user alice --from +1h --until +5h --prefer spread --title Hi
  sendlimit push --user alice --at now --title Hi --id order-17 --dry-run
  sendlimit push --user alice --at +5m --title "3 new comments" --id comments --replace`,
		RunE: func(cmd *cobra.Command, args []string) error { return p.push(cmd, args, f) },
	}
	flags := cmd.Flags()
	userFlag(cmd, &f.message.User)
	flags.StringVar(&f.at, "at", "", "send `time`: RFC 3339, now, +90m, or YYYY-MM-DD HH:MM with --tz; --at or --until is required")
	flags.StringVar(&f.from, "from", "", "begin of a window of send times, a `time` as for --at (default now)")
	flags.StringVar(&f.until, "until", "", "end of the window, a `time` that is not included; a free time before it is taken")
	flags.StringVar(&f.prefer, "prefer", "", "which free `time` of the window: earliest (default), latest, nearest to --at, spread,"+
		" by which many messages fill a window evenly, or best, by the user's best hours")
	flags.StringVar(&f.message.Title, "title", "", "title `text`; --title or --body is required")
	flags.StringVar(&f.message.Body, "body", "", "body `text`")
	flags.StringArrayVar(&f.data, "data", nil, "`key=value` to send with the message; repeatable")
	f.content.add(flags)
	flags.StringVar(&f.message.ID, "id", "", "`id` of the message, unique for the user (default: generated)")
	flags.StringVar(&f.message.Category, "category", "", "category `name`")
	flags.StringVar(&f.message.Campaign, "campaign", "", "`name` of the campaign that it belongs to")
	flags.StringArrayVar(&f.metadata, "meta", nil, "your own `key=value`, stored with the message; repeatable")
	flags.StringVar(&f.expiresAt, "expires-at", "", "`time` after which the message is dropped instead of sent"+
		" (default: the worker's expire_after after its send time)")
	flags.StringVar(&f.message.OnConflict, "on-conflict", "", "`action` if the time is taken or quiet: refuse, or shift"+
		" to the next free time (default from the user's policy; with --at now, shift)")
	flags.StringVar(&f.message.Late, "late", "", "`action` if the send time has passed: refuse; now, to send it now if it passed within a day;"+
		" or how late it may be, such as 15m (default from the user's policy)")
	flags.StringVar(&f.shiftUntil, "shift-until", "", "latest `time` for a shift by --on-conflict or the user's policy"+
		" (default 24 hours after the send time)")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show the outcome without submitting")
	flags.BoolVar(&f.replace, "replace", false, "replace the pending message with the --id, or create it")
	cli.Words(flags, "prefer", string(policy.PreferEarliest), string(policy.PreferLatest), string(policy.PreferNearest), string(policy.PreferSpread), string(policy.PreferBest))
	cli.Words(flags, "on-conflict", message.OnConflictRefuse, message.OnConflictShift)
	submitFlags(cmd)
	p.messageZoneFlag(cmd, &f.message.Local.Strict)
	followZoneFlag(cmd, &f.message.Local.FollowZone)
	return cmd
}

func (p *program) push(cmd *cobra.Command, args []string, f push) error {
	m, err := p.message(f)
	if err != nil {
		return err
	}
	return p.With(cmd, func(ctx context.Context, c *client.Client) error {
		if neverShifts(ctx, c, m) {
			return fault.Wrong("shift_until", "--shift-until requires --on-conflict shift: the user's policy does not shift")
		}
		submit := c.Submit
		switch {
		case f.dryRun && f.replace:
			submit = c.DryRunPut
		case f.dryRun:
			submit = c.DryRun
		case f.replace:
			submit = func(ctx context.Context, m client.Message) (client.Outcome, error) { return c.Put(ctx, m) }
		}
		o, err := submit(ctx, m)
		err = p.answer(ctx, c, answer{Outcome: o, dryRun: f.dryRun, try: func(o message.Outcome) string {
			return again(cmd, args, o, m.ExpiresAt, m.ShiftUntil)
		}}, err)
		return p.unanswered(ctx, m, err)
	})
}

// message returns the message of the flags. It always has an id: without an answer, the id is
// needed to submit it again.
func (p *program) message(f push) (client.Message, error) {
	m := f.message
	at, local, err := p.messageTime("at", f.at)
	if err != nil {
		return m, err
	}
	m.SendAt, m.Now, m.Local.SendAt = at.At, at.Now, local
	if m.Window, err = p.window(f, &m.Local); err != nil {
		return m, err
	}
	if m.ExpiresAt, m.Local.ExpiresAt, err = p.messageMoment("expires_at", f.expiresAt); err != nil {
		return m, err
	}
	if m.ShiftUntil, m.Local.ShiftUntil, err = p.messageMoment("shift_until", f.shiftUntil); err != nil {
		return m, err
	}
	if m.Data, err = entries("data", "data", f.data); err != nil {
		return m, err
	}
	if m.Metadata, err = entries("metadata", "meta", f.metadata); err != nil {
		return m, err
	}
	if err = f.content.addTo(&m); err != nil {
		return m, err
	}
	if m.ID == "" && f.replace {
		return m, fault.Wrong("id", "--replace requires --id: the id of the message to replace")
	}
	if m.ID == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return m, fmt.Errorf("making an id: %w", err)
		}
		m.ID = id.String()
	}
	return m, nil
}

// window returns the window of the flags, with its local times in times; nil for none.
func (p *program) window(f push, times *client.LocalTimes) (*client.Window, error) {
	if f.from == "" && f.until == "" && f.prefer == "" {
		if f.at == "" {
			return nil, fault.Wrong("at", "--at is required, or --until for a window of send times")
		}
		return nil, nil
	}
	w := &client.Window{Prefer: policy.Prefer(f.prefer)}
	from, local, err := p.messageTime("from", f.from)
	if err != nil {
		return nil, err
	}
	w.From, times.From = from.At, local
	if f.until == "" {
		return nil, fault.Wrong("until", "--until is required for a window of send times")
	}
	until, local, err := p.messageTime("until", f.until)
	if err == nil && until.Now {
		err = fault.Wrong("until", "--until can't be now: it has to be after --from")
	}
	w.Until, times.Until = until.At, local
	return w, err
}

// entries returns the entries of a repeatable flag, nil for none.
func entries(field, flag string, given []string) (map[string]string, error) {
	if len(given) == 0 {
		return nil, nil
	}
	all := make(map[string]string, len(given))
	for _, entry := range given {
		key, value, found := strings.Cut(entry, "=")
		if !found || key == "" {
			return nil, fault.Wrong(field, "--%s %q is not key=value", flag, fault.Clip(entry))
		}
		all[key] = value
	}
	return all, nil
}

// neverShifts reports whether a message limits a shift although neither it nor the user's policy
// asks for one. With a key that may not read policies it reports false.
func neverShifts(ctx context.Context, c *client.Client, m client.Message) bool {
	if m.ShiftUntil.IsZero() && m.Local.ShiftUntil == (client.LocalTime{}) || m.OnConflict != "" || m.Now {
		return false
	}
	own, err := c.UserSettings(ctx, m.User)
	if err != nil {
		return false
	}
	p, err := c.Policy(ctx, cmp.Or(own.Policy, policy.DefaultName))
	return err == nil && p.OnConflict != client.OnConflictShift
}

// unanswered reports a submit without an answer, with the id for submitting it again. It returns
// other errors unchanged.
func (p *program) unanswered(ctx context.Context, m client.Message, err error) error {
	failed, ok := errors.AsType[*operations.Refused](operations.Answered(err))
	if !ok || failed.Outcome.Outcome != message.Errored || ctx.Err() != nil {
		return err
	}
	if answer, is := errors.AsType[*client.ResponseError](err); is && answer.Status != 0 && answer.Status < http.StatusInternalServerError {
		return err // it was rejected before it was judged
	}
	failed.User, failed.ID = m.User, m.ID
	away, is := errors.AsType[*client.UnavailableError](err)
	undone := is && (away.Unsent || away.Err == nil) && !strings.HasSuffix(away.Detail, strings.TrimPrefix(fault.MayBeDone, ": "))
	if undone || p.JSON {
		return failed
	}
	if err := p.Tell("%s %s\n  it may have been accepted: submit it again with --id %s\n",
		cli.NewPalette(p.Stderr, p.Getenv).Red("error:"), failed.Error(), m.ID); err != nil {
		return err
	}
	return cli.StatusError(cli.ExitCode(failed))
}
