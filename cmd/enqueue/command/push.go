package command

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// push has the flags of the command.
type push struct {
	message                   message.Message
	at, expiresAt, shiftUntil string
	data, metadata            []string
	content                   pushFlags
	dryRun                    bool
}

func (p *program) pushCommand(ctx context.Context) *cobra.Command {
	var f push
	cmd := &cobra.Command{
		Use:   "push",
		Short: "Submit one message",
		Long: `Submit one message. If its time breaks one of the user's rules, or is in quiet
hours, it is refused and not stored. The refusal says what is in the way and
which time is free next.

An id makes it safe to submit the same message again: it is accepted once.`,
		Example: `  enqueue push --user alice --at +2h --title "Your table is ready"
  enqueue push --user alice --at +90m --title Sale --body "Two for one" --data url=/sale
  enqueue push --user alice --at "$(date -d tomorrow +%F) 11:11" --tz Europe/Berlin --title Hi --on-conflict shift
  enqueue push --user alice --at now --title Hi --id order-17 --dry-run`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, args []string) error { return p.push(ctx, cmd, args, f) },
	}
	flags := cmd.Flags()
	userFlag(cmd, &f.message.User)
	flags.StringVar(&f.at, "at", "", "send `time`: RFC 3339, now, +90m, or YYYY-MM-DD HH:MM with --tz")
	needs(cmd, "at")
	flags.StringVar(&f.message.Title, "title", "", "title `text`; a title or a body is needed")
	flags.StringVar(&f.message.Body, "body", "", "body `text`")
	flags.StringArrayVar(&f.data, "data", nil, "`key=value` to send with the message; can be given again")
	f.content.add(flags)
	flags.StringVar(&f.message.ID, "id", "", "`id` of the message, unique for the user (default: a new one)")
	flags.StringVar(&f.message.Category, "category", "", "category `name`")
	flags.StringVar(&f.message.Campaign, "campaign", "", "`name` of the campaign that it belongs to")
	flags.StringArrayVar(&f.metadata, "meta", nil, "`key=value` of your own, kept with its status; can be given again")
	flags.StringVar(&f.expiresAt, "expires-at", "", "`time` after which it is dropped rather than sent"+
		" (default: the worker's expire_after after its send time)")
	flags.StringVar(&f.message.OnConflict, "on-conflict", "", "`what` to do if the time is taken or quiet: refuse, or shift"+
		" to the next free time (default: what the user's policy says; with --at now, shift)")
	flags.StringVar(&f.shiftUntil, "shift-until", "", "last `time` that a shift may take, by --on-conflict or the user's policy"+
		" (default 24 hours after the send time)")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only show what the outcome would be")
	cli.Words(flags, "on-conflict", message.OnConflictRefuse, message.OnConflictShift)
	submitFlags(cmd)
	p.timeZoneFlag(cmd)
	return cmd
}

func (p *program) push(ctx context.Context, cmd *cobra.Command, args []string, f push) error {
	m, err := p.message(f)
	if err != nil {
		return err
	}
	return p.withSession(ctx, cmd, oneByOne, func(s *session) error {
		if err := s.checkShift(ctx, m); err != nil {
			return s.diagnose(ctx, err)
		}
		submit := s.submitter.Submit
		if f.dryRun {
			submit = s.submitter.Check
		}
		o, err := submit(ctx, m)
		if err != nil {
			return p.unanswered(ctx, s, m, err)
		}
		return p.print(answer{Outcome: o, dryRun: f.dryRun, titles: p.titles(ctx, s, o), try: again(cmd, args, o, m.ExpiresAt, m.ShiftUntil)})
	})
}

// message returns the message of the flags, with an id: without an answer, the id is needed
// to submit it again.
func (p *program) message(f push) (message.Message, error) {
	m := f.message
	at, err := p.when("at", f.at)
	if err != nil {
		return m, err
	}
	m.SendAt, m.Now = at.At, at.Now
	expires, err := p.moment("expires_at", f.expiresAt)
	if err != nil {
		return m, err
	}
	until, err := p.moment("shift_until", f.shiftUntil)
	if err != nil {
		return m, err
	}
	m.ExpiresAt, m.ShiftUntil = expires.At, until.At
	if m.Data, err = entries("data", "data", f.data); err != nil {
		return m, err
	}
	if m.Metadata, err = entries("metadata", "meta", f.metadata); err != nil {
		return m, err
	}
	if m.PushContent, err = f.content.content(); err != nil {
		return m, err
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

// entries returns the entries of a flag that can be given again, nil for none.
func entries(field, flag string, given []string) (map[string]string, error) {
	if len(given) == 0 {
		return nil, nil
	}
	all := make(map[string]string, len(given))
	for _, entry := range given {
		key, value, found := strings.Cut(entry, "=")
		if !found || key == "" {
			return nil, fault.Wrong(field, "--%s %q has no key: write key=value", flag, fault.Clip(entry))
		}
		all[key] = value
	}
	return all, nil
}

// checkShift returns a *fault.InvalidError for a bound of a shift if there can be none,
// since neither the message nor the user's policy asks for one.
func (s *session) checkShift(ctx context.Context, m message.Message) error {
	if m.ShiftUntil.IsZero() || m.OnConflict != "" || m.Now {
		return nil
	}
	if err := m.Validate(); err != nil {
		return err
	}
	users, err := settings.NewUsers(s.client, s.prefix)
	if err != nil {
		return fmt.Errorf("opening the settings of users: %w", err)
	}
	own, err := users.Get(ctx, m.User)
	if err != nil {
		return fmt.Errorf("looking for the user's policy: %w", err)
	}
	policies, err := settings.NewPolicies(s.client, s.prefix)
	if err != nil {
		return fmt.Errorf("opening the policies: %w", err)
	}
	p, known, err := policies.Load(ctx, cmp.Or(own.Policy, policy.DefaultName))
	if err != nil {
		return fmt.Errorf("reading the user's policy: %w", err)
	}
	if !known || p.OnConflict == policy.Shift {
		return nil
	}
	return fault.Wrong("shift_until", "--shift-until needs --on-conflict shift: the user's policy does not shift")
}

// moment is when without "now", which makes no sense for some fields.
func (p *program) moment(field, text string) (cli.When, error) {
	at, err := p.when(field, text)
	if err == nil && at.Now {
		err = fault.Wrong(field, "%s can't be now: it has to be after send_at", field)
	}
	return at, err
}

// unanswered reports a store that failed, with the id for submitting again.
func (p *program) unanswered(ctx context.Context, s *session, m message.Message, err error) error {
	if ctx.Err() != nil {
		return err
	}
	o := message.OutcomeOf(s.diagnose(ctx, err))
	if o.Outcome != message.Errored {
		return err
	}
	o.User, o.ID = m.User, m.ID
	known := ""
	if o.Code != fault.CodeStoreFull { // that is known before the submit
		known = "  whether it was accepted is not known: submit it again with --id " + m.ID + "\n"
	}
	if p.json {
		err = printJSON(p.stdout, o)
	} else {
		_, err = fmt.Fprintf(cli.VisibleTo(p.stderr), "%s %s\n%s", cli.NewPalette(p.stderr, p.getenv).Red("error:"), o.Detail, known)
	}
	if err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	if o.Code == "" {
		return cli.StatusError(cli.StatusUnexpected)
	}
	return cli.StatusError(cli.StatusOf(o.Code))
}
