package deadletters

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

func (d *commands) retryCommand() *cobra.Command {
	var user, alert string
	var all, yes, alerts bool
	cmd := &cobra.Command{
		Use:   "retry [ID]",
		Short: "Send dead letters again, each at its next free time.",
		Long: "Send dead letters again, each at the next time that is free for its user under the\n" +
			"rules. Each gets all its attempts again. A message whose own expires_at has passed\n" +
			"stays a dead letter.\n\n" +
			"An uncertain message may have been sent already. Then it is sent twice.\n\n" +
			"--all sends messages only. --alerts --all sends alerts and reports only.",
		Example: "  worker dead-letters retry --user alice order-17\n  worker dead-letters retry --all\n" +
			"  worker dead-letters retry --alerts --all",
		Args: alertsOfMany(alertOr(oneOrMany("all"))),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.withLetters(cmd, func(ctx context.Context) error {
				if alert != "" {
					return d.retryAlert(ctx, alert)
				}
				if all && alerts {
					return d.retryAlerts(ctx, yes)
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
	cmd.Flags().StringVar(&user, "user", "", "`name` of the user it was sent to")
	addAlertFlag(cmd.Flags(), &alert)
	cmd.Flags().BoolVar(&all, "all", false, "all messages, the oldest first; with --alerts, all alerts and reports")
	addAlertsFlag(cmd.Flags(), &alerts)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation of --all")
	return cmd
}

func (d *commands) purgeCommand() *cobra.Command {
	var user, age, alert string
	var all, yes, alerts bool
	cmd := &cobra.Command{
		Use:   "purge [ID]",
		Short: "Remove dead letters: content, record and id.",
		Long: "Remove dead letters: content, record and id. They can't be retried then. Dead\n" +
			"letters also expire without this command, see keep_records.\n\n" +
			"--older-than and --all remove messages only. With --alerts they remove alerts and\n" +
			"reports only.",
		Example: "  worker dead-letters purge --user alice order-17\n" +
			"  worker dead-letters purge --older-than 7d\n" +
			"  worker dead-letters purge --all --yes\n" +
			"  worker dead-letters purge --alerts --all",
		Args: alertsOfMany(alertOr(oneOrMany("older-than", "all"))),
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
				if (all || aged) && alerts {
					return d.purgeAlerts(ctx, older, yes || !all)
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
	cmd.Flags().StringVar(&user, "user", "", "`name` of the user it was sent to")
	addAlertFlag(cmd.Flags(), &alert)
	cmd.Flags().StringVar(&age, "older-than", "", "all that ended longer ago than this `time`, such as 7d or 36h")
	cmd.Flags().BoolVar(&all, "all", false, "all messages; with --alerts, all alerts and reports")
	addAlertsFlag(cmd.Flags(), &alerts)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation of --all")
	return cmd
}

// olderThan reads an age.
func olderThan(age string) (time.Duration, error) {
	d, err := calendar.ParseDuration(age)
	if err != nil || d < 0 {
		return 0, &fault.InvalidError{Field: "older_than", Value: age, Want: "a length of time such as 90m, 36h or 7d"}
	}
	return d, nil
}

// refusedShown is how many refusals are printed one by one.
const refusedShown = 20

// retryAll retries all that are dead letters now. It does not retry what fails again
// meanwhile.
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
			return nil // another program was quicker
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
	bar.End()
	if err != nil {
		return errors.Join(err, d.summary("%s sent after all before this\n", counted(retried)))
	}
	text := counted(retried) + " sent after all"
	if refused > 0 {
		text += "; left as before: " + counted(refused)
	}
	if err := d.summary("%s\n", text); err != nil {
		return err
	}
	return d.mentionAlerts(ctx, "retry")
}

// purgeMany purges what ended longer ago than age. It asks for confirmation unless sure.
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
	bar.End()
	if d.json {
		return d.PrintJSON(map[string]any{"outcome": message.Purged, "dead_letters": sum})
	}
	if err := d.summary("%s forgotten\n", counted(sum)); err != nil {
		return err
	}
	return d.mentionAlerts(ctx, "purge")
}

// mentionAlerts tells a person of the alerts that a command for all messages left.
func (d *commands) mentionAlerts(ctx context.Context, command string) error {
	if d.json {
		return nil
	}
	left, err := d.CountNotices(ctx)
	if err != nil {
		return fmt.Errorf("counting alerts: %w", err)
	}
	if left == 0 {
		return nil
	}
	return d.summary(d.Names.Spell("%s left: see worker dead-letters %s --alerts --all\n"), countedAlerts(left), command)
}

// survey returns the time of the store and the number of dead messages.
func (d *commands) survey(ctx context.Context) (time.Time, int, error) {
	now, err := d.Now(ctx)
	if err != nil {
		return time.Time{}, 0, fmt.Errorf("looking at the clock: %w", err)
	}
	total, err := d.Count(ctx)
	if err != nil {
		return time.Time{}, 0, fmt.Errorf("counting dead letters: %w", err)
	}
	return now, total, nil
}

// summary prints for a person what was done.
func (d *commands) summary(format string, args ...any) error {
	if d.json {
		return nil
	}
	return d.Print(fmt.Sprintf(format, args...))
}

// counted returns a number of dead letters in words.
func counted(n int) string { return cli.FormatCount(n, "dead letter", "dead letters") }

// confirm asks a question unless sure. Without a terminal nobody can be asked, so it
// requires the flag.
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
