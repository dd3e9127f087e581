package deadletters

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

func (d *commands) retryCommand() *cobra.Command {
	var user, alert string
	var all, yes bool
	cmd := &cobra.Command{
		Use:   "retry [ID]",
		Short: "Send dead letters after all, each at the next time that is free.",
		Long: "Send dead letters after all, each at the next time from now on that is free for\n" +
			"its user under the rules. It has all its attempts again. What has expired by its\n" +
			"caller's own expires_at stays a dead letter.\n\n" +
			"An uncertain one may have been sent already, and then is sent twice.",
		Example: "  worker dead-letters retry --user alice order-17\n  worker dead-letters retry --all",
		Args:    alertOr(oneOrMany("all")),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.withLetters(cmd, func(ctx context.Context) error {
				if alert != "" {
					return d.retryAlert(ctx, alert)
				}
				if all {
					return d.retryAll(ctx, yes)
				}
				o, err := d.Retry(ctx, user, args[0])
				if err != nil {
					return fmt.Errorf("retrying a dead letter: %w", err)
				}
				return d.answer(o)
			})
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "`name` of the user who was to receive it")
	addAlertFlag(cmd.Flags(), &alert)
	cmd.Flags().BoolVar(&all, "all", false, "all messages, the one that ended first coming first, then all alerts")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask whether all are meant")
	return cmd
}

func (d *commands) purgeCommand() *cobra.Command {
	var user, age, alert string
	var all, yes bool
	cmd := &cobra.Command{
		Use:   "purge [ID]",
		Short: "Forget dead letters: content, record and id.",
		Long: "Forget dead letters: content, record and id. They can't be sent after all any\n" +
			"more. Without it they are forgotten by themselves, see keep_records.",
		Example: "  worker dead-letters purge --user alice order-17\n" +
			"  worker dead-letters purge --older-than 7d\n" +
			"  worker dead-letters purge --all --yes",
		Args: alertOr(oneOrMany("older-than", "all")),
		RunE: func(cmd *cobra.Command, args []string) error {
			var older time.Duration
			aged := cmd.Flags().Changed("older-than")
			if aged {
				var err error
				if older, err = olderThan(age); err != nil {
					return d.Report(d.json, err)
				}
			}
			return d.withLetters(cmd, func(ctx context.Context) error {
				if alert != "" {
					return d.purgeAlert(ctx, alert)
				}
				if all || aged {
					return d.purgeMany(ctx, older, yes || !all)
				}
				o, err := d.Purge(ctx, user, args[0])
				if err != nil {
					return fmt.Errorf("purging a dead letter: %w", err)
				}
				return d.answer(o)
			})
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "`name` of the user who was to receive it")
	addAlertFlag(cmd.Flags(), &alert)
	cmd.Flags().StringVar(&age, "older-than", "", "those that ended longer ago than this `time`, such as 7d or 36h")
	cmd.Flags().BoolVar(&all, "all", false, "all there are")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask whether all are meant")
	return cmd
}

// olderThan reads an age.
func olderThan(age string) (time.Duration, error) {
	d, err := config.ParseDuration(age)
	if err != nil || d < 0 {
		return 0, &fault.InvalidError{Field: "older_than", Value: age, Want: "a length of time such as 90m, 36h or 7d"}
	}
	return d, nil
}

// refusedShown is how many refusals are told one by one.
const refusedShown = 20

// retryAll retries what is a dead letter by now; what fails anew meanwhile is
// not tried again.
func (d *commands) retryAll(ctx context.Context, yes bool) error {
	before, total, err := d.survey(ctx)
	if err != nil {
		return err
	}
	if agreed, err := d.confirm(yes || total == 0, fmt.Sprintf("Send %s after all?", counted(total))); !agreed {
		return err
	}
	bar := cli.StartProgress(d.Stderr, "retried", total)
	defer bar.End()
	retried, refused := 0, 0
	r := deadletters.ListRequest{Before: before, Limit: messages.MaxDeadLetters}
	err = d.each(ctx, r, func(s message.Status) error {
		o, err := d.Retry(ctx, s.User, s.ID)
		if err != nil {
			return fmt.Errorf("retrying a dead letter: %w", err)
		}
		bar.Add(1)
		switch {
		case o.Outcome == message.Retried:
			retried++
		case o.Code == fault.CodeNotFound:
			return nil // somebody else was quicker
		default:
			refused++
		}
		switch {
		case d.json:
			return d.PrintJSON(o)
		case o.Outcome == message.Retried || refused > refusedShown:
			return nil
		default:
			return bar.Printf("refused: %s\n", o.Detail)
		}
	})
	alerts := 0
	if err == nil {
		alerts, err = d.retryAlerts(ctx, before, bar)
	}
	retried += alerts
	bar.End()
	if err != nil {
		return errors.Join(err, d.summary("%s sent after all before this\n", counted(retried)))
	}
	text := counted(retried) + " sent after all"
	if refused > 0 {
		text += "; left as before: " + counted(refused)
	}
	return d.summary("%s\n", text)
}

// purgeMany purges what ended longer ago than age; sure means that nobody has to
// be asked.
func (d *commands) purgeMany(ctx context.Context, age time.Duration, sure bool) error {
	now, total, err := d.survey(ctx)
	if err != nil {
		return err
	}
	if agreed, err := d.confirm(sure || total == 0, fmt.Sprintf("Forget %s for good?", counted(total))); !agreed {
		return err
	}
	bar := cli.StartProgress(d.Stderr, "purged", total)
	defer bar.End()
	const step = 100
	sum := 0
	for more := true; more; {
		var purged int
		if purged, more, err = d.PurgeBefore(ctx, now.Add(-age), step); err != nil {
			return fmt.Errorf("purging dead letters: %w", err)
		}
		sum += purged
		bar.Add(purged)
	}
	alerts, err := d.PurgeNoticesBefore(ctx, now.Add(-age))
	if err != nil {
		return fmt.Errorf("purging alerts: %w", err)
	}
	sum += alerts
	bar.Add(alerts)
	bar.End()
	if d.json {
		return d.PrintJSON(map[string]any{"outcome": message.Purged, "dead_letters": sum})
	}
	return d.summary("%s forgotten\n", counted(sum))
}

// survey returns the store's time and how many dead letters there are.
func (d *commands) survey(ctx context.Context) (time.Time, int, error) {
	now, err := d.Now(ctx)
	if err != nil {
		return time.Time{}, 0, fmt.Errorf("looking at the clock: %w", err)
	}
	total, err := d.Count(ctx)
	if err != nil {
		return time.Time{}, 0, fmt.Errorf("counting dead letters: %w", err)
	}
	alerts, err := d.CountNotices(ctx)
	if err != nil {
		return time.Time{}, 0, fmt.Errorf("counting alerts: %w", err)
	}
	return now, total + alerts, nil
}

// summary says for a person what was done.
func (d *commands) summary(format string, args ...any) error {
	if d.json {
		return nil
	}
	return d.Print(fmt.Sprintf(format, args...))
}

func counted(n int) string { return cli.FormatCount(n, "dead letter", "dead letters") }

// confirm asks whether all are meant, unless that is known. Where nobody can be
// asked, a flag has to say so.
func (d *commands) confirm(sure bool, question string) (bool, error) {
	if sure {
		return true, nil
	}
	if !cli.IsTerminal(d.Stdin) || !cli.IsTerminal(d.Stderr) {
		return false, &cli.UsageError{Detail: "--all needs --yes where nobody can be asked"}
	}
	agreed, err := cli.Ask(d.Stdin, d.Stderr, question)
	if err == nil && !agreed {
		err = d.summary("nothing was done\n")
	}
	return agreed, err
}
