package deadletters

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

func (d *commands) retryCommand() *cobra.Command {
	var l letters
	var of selection
	cmd := &cobra.Command{
		Use: "retry [ID]", Short: "Send dead letters again, each at its next free time.",
		Long: "Send dead letters again, each at its user's next free time. Each gets all its\n" +
			"attempts again. A message whose own expires_at has passed stays a dead letter.\n\n" +
			"An uncertain message may have been sent before. Then it is sent twice.\n\n" +
			"--all retries only messages. --alerts --all retries only alerts and reports.",
		Example: "  sendlimit-worker dead-letters retry --user alice order-17\n  sendlimit-worker dead-letters retry --all\n" +
			"  sendlimit-worker dead-letters retry --all --reason unavailable\n  sendlimit-worker dead-letters retry --alerts --all",
		Args: selects(true, alertsOfMany(alertOr(oneOrMany("all")))),
		RunE: d.run(func(ctx context.Context, c *client.Client, args []string) error {
			switch {
			case l.alert != "":
				done, err := c.RetryDeadAlert(ctx, l.alert)
				return d.answerAlert(done, err)
			case l.all && l.alerts:
				return d.retryAlerts(ctx, c, l.yes)
			case l.all:
				return d.retryAll(ctx, c, of, l.yes)
			default:
				o, err := c.RetryDeadLetter(ctx, l.user, args[0])
				return d.answer(o, err)
			}
		}),
	}
	l.many(cmd.Flags(), "all messages, oldest first; with --alerts, all alerts and reports")
	of.add(cmd.Flags(), "with --all, ")
	return cmd
}

func (d *commands) purgeCommand() *cobra.Command {
	var l letters
	var age string
	cmd := &cobra.Command{
		Use: "purge [ID]", Short: "Remove dead letters: content, record and id.",
		Long: "Remove dead letters: content, record and id. This can't be undone. Dead letters\n" +
			"also expire without this command, see keep_records.\n\n" +
			"--older-than and --all remove only messages; with --alerts, only alerts and\n" +
			"reports only.",
		Example: "  sendlimit-worker dead-letters purge --user alice order-17\n" +
			"  sendlimit-worker dead-letters purge --older-than 7d\n" +
			"  sendlimit-worker dead-letters purge --all --yes\n" +
			"  sendlimit-worker dead-letters purge --alerts --all",
		Args: alertsOfMany(alertOr(oneOrMany("older-than", "all"))),
		RunE: func(cmd *cobra.Command, args []string) error {
			var older time.Duration
			aged := cmd.Flags().Changed("older-than")
			if aged {
				var err error
				if older, err = olderThan(age); err != nil {
					return err
				}
			}
			return d.run(func(ctx context.Context, c *client.Client, args []string) error {
				switch {
				case l.alert != "":
					done, err := c.PurgeDeadAlert(ctx, l.alert)
					return d.answerAlert(done, err)
				case l.all || aged:
					return d.purgeMany(ctx, c, older, l.alerts, l.yes || !l.all)
				default:
					o, err := c.PurgeDeadLetter(ctx, l.user, args[0])
					return d.answer(o, err)
				}
			})(cmd, args)
		},
	}
	cmd.Flags().StringVar(&age, "older-than", "", "all that ended longer ago than this `duration`, such as 7d or 36h")
	l.many(cmd.Flags(), "all messages; with --alerts, all alerts and reports")
	return cmd
}

// olderThan reads an age.
func olderThan(age string) (time.Duration, error) {
	d, err := calendar.ParseDuration(age)
	if err != nil || d < 0 {
		return 0, &fault.InvalidError{Field: "older_than", Value: age, Want: "a duration such as 90m, 36h or 7d"}
	}
	return d, nil
}

// refusedShown is how many refusals are printed.
const refusedShown = 20

// retryAll retries all present dead letters of a selection. It does not retry messages that fail again
// meanwhile.
func (d *commands) retryAll(ctx context.Context, c *client.Client, of selection, yes bool) error {
	now, err := c.Stats(ctx)
	if err != nil {
		return err
	}
	total, question := now.DeadLetters, fmt.Sprintf("Retry %s?", counted(now.DeadLetters))
	if of != (selection{}) {
		question = fmt.Sprintf("Retry those of %s that match?", counted(total))
	}
	if agreed, err := d.confirm(yes || total == 0, question); !agreed {
		return err
	}
	bar := d.progress(of, total)
	defer bar.End()
	retried, refused := 0, 0
	for o, err := range c.RetryDeadLetters(ctx, client.RetryDeadLettersQuery{Reason: of.reason, Campaign: of.campaign}) {
		if err != nil {
			bar.End()
			return errors.Join(err, d.summary("retried %s before the failure\n", counted(retried)))
		}
		bar.Add(1)
		if o.Outcome == message.Retried {
			retried++
		} else {
			refused++
		}
		switch {
		case d.JSON:
			err = d.PrintJSON(o)
		case o.Outcome != message.Retried && refused <= refusedShown:
			err = bar.Printf("refused: %s\n", o.Detail)
		}
		if err != nil {
			return err
		}
	}
	bar.End()
	text := "retried " + counted(retried)
	if refused > 0 {
		text += "; refused: " + counted(refused)
	}
	if err := d.summary("%s\n", text); err != nil {
		return err
	}
	return d.mentionAlerts(now.FailedAlerts, "retry")
}

// progress shows how many dead letters are retried. How many a selection has is not known before.
func (d *commands) progress(of selection, total int) *cli.Progress {
	if of != (selection{}) {
		return cli.StartCount(d.Stderr, "retried")
	}
	return cli.StartProgress(d.Stderr, "retried", total)
}

// purgeMany purges messages or alerts that ended longer ago than age. It asks for confirmation
// unless sure.
func (d *commands) purgeMany(ctx context.Context, c *client.Client, age time.Duration, alerts, sure bool) error {
	now, err := c.Stats(ctx)
	if err != nil {
		return err
	}
	total, counted, left := now.DeadLetters, counted, now.FailedAlerts
	purge := func() (client.DeadPurge, error) {
		return c.PurgeDeadLetters(ctx, client.PurgeDeadLettersQuery{OlderThan: age.String(), Limit: step})
	}
	if alerts {
		total, counted, left = now.FailedAlerts, countedAlerts, 0
		purge = func() (client.DeadPurge, error) {
			return c.PurgeDeadAlerts(ctx, client.PurgeDeadAlertsQuery{OlderThan: age.String()})
		}
	}
	if agreed, err := d.confirm(sure || total == 0, fmt.Sprintf("Remove %s permanently?", counted(total))); !agreed {
		return err
	}
	bar := cli.StartProgress(d.Stderr, "purged", total)
	defer bar.End()
	var sum client.DeadPurge
	for sum.More = true; sum.More; {
		some, err := purge()
		if err != nil {
			return err
		}
		sum.Purged, sum.More = sum.Purged+some.Purged, some.More
		bar.Add(some.Purged)
	}
	bar.End()
	if err := operations.Answer(d.Group, sum, nil, func(sum client.DeadPurge) string { return counted(sum.Purged) + " forgotten\n" }); err != nil {
		return err
	}
	return d.mentionAlerts(left, "purge")
}

// step is how many are removed between two updates of the progress.
const step = 100

// mentionAlerts tells a person about the alerts that a command for all messages left.
func (d *commands) mentionAlerts(left int, command string) error {
	if left == 0 {
		return nil
	}
	return d.summary(d.Names.Spell("%s left: see sendlimit-worker dead-letters %s --alerts --all\n"), countedAlerts(left), command)
}

// summary prints a summary for a person.
func (d *commands) summary(format string, args ...any) error {
	if d.JSON {
		return nil
	}
	return d.Print(fmt.Sprintf(format, args...))
}

// counted returns a number of dead letters in words.
func counted(n int) string { return cli.FormatCount(n, "dead letter", "dead letters") }

// confirm asks a question unless sure. It requires the flag if there is no terminal.
func (d *commands) confirm(sure bool, question string) (bool, error) {
	if sure {
		return true, nil
	}
	if !cli.IsTerminal(d.Stdin) || !cli.IsTerminal(d.Stderr) {
		return false, &cli.UsageError{Detail: "--yes is required without a terminal"}
	}
	agreed, err := cli.Ask(d.Stdin, d.Stderr, question)
	if err == nil && !agreed {
		err = d.summary("nothing was done\n")
	}
	return agreed, err
}
