package deadletters

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/message"
)

const (
	alertFlag  = "alert"
	alertsFlag = "alerts"
)

// letters are the flags that select dead letters.
type letters struct {
	user, alert      string
	all, alerts, yes bool
}

// selection selects dead messages by what is the same of them.
type selection struct{ reason, campaign string }

// add adds the flags; beside says when they count.
func (s *selection) add(flags *pflag.FlagSet, beside string) {
	flags.StringVar(&s.reason, "reason", "", beside+"only messages given up for this `reason`, such as unavailable")
	flags.StringVar(&s.campaign, "campaign", "", beside+"only messages of the campaign with this `name`")
}

// selects refuses flags of a selection that are empty, or beside --alerts; with many also those without
// --all. Otherwise it calls others.
func selects(many bool, others cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		for _, name := range []string{"reason", "campaign"} {
			f := cmd.Flag(name)
			switch {
			case !f.Changed:
			case f.Value.String() == "":
				return cli.Usage(cmd, name, fmt.Sprintf("--%s is empty: give it a value, or leave it out", name))
			case cmd.Flag(alertsFlag).Value.String() == "true":
				return cli.Usage(cmd, name, fmt.Sprintf("--%s and --%s exclude each other", alertsFlag, name))
			case many && cmd.Flag("all").Value.String() != "true":
				return cli.Usage(cmd, name, fmt.Sprintf("--%s needs --all", name))
			}
		}
		return others(cmd, args)
	}
}

// one adds the flags of a command for one.
func (l *letters) one(flags *pflag.FlagSet) {
	flags.StringVar(&l.user, "user", "", "`name` of the message's user")
	flags.StringVar(&l.alert, alertFlag, "", "`id` of an alert or report, instead of a message")
}

// many adds the flags of a command for one or many.
func (l *letters) many(flags *pflag.FlagSet, all string) {
	l.one(flags)
	flags.BoolVar(&l.all, "all", false, all)
	flags.BoolVar(&l.alerts, alertsFlag, false, "alerts and reports instead of messages")
	flags.BoolVar(&l.yes, "yes", false, "do not ask for confirmation")
}

// alertsOfMany refuses --alerts beside a flag for one dead letter. Otherwise it calls others.
func alertsOfMany(others cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if cmd.Flag(alertsFlag).Value.String() == "true" {
			for _, name := range []string{alertFlag, "user"} {
				if cmd.Flag(name).Changed {
					return cli.Usage(cmd, name, fmt.Sprintf("--alerts and --%s exclude each other", name))
				}
			}
		}
		return others(cmd, args)
	}
}

// alertOr accepts --alert without other flags. Without --alert, it calls others.
func alertOr(others cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if !cmd.Flag(alertFlag).Changed {
			return others(cmd, args)
		}
		if len(args) > 0 {
			return cli.Usage(cmd, "id", fmt.Sprintf("unexpected argument %q beside --alert", args[0]))
		}
		for _, name := range []string{"user", "all", "older-than"} {
			if f := cmd.Flag(name); f != nil && f.Changed {
				return cli.Usage(cmd, name, fmt.Sprintf("--alert and --%s exclude each other", name))
			}
		}
		return nil
	}
}

// listAlerts lists the dead alerts and reports, only those about the user unless it is "". It
// reports whether there are any.
func (d *commands) listAlerts(ctx context.Context, c *client.Client, user string) (some bool, err error) {
	wanted := func(yield func(client.DeadAlert, error) bool) {
		for n, err := range c.ListDeadAlerts(ctx, client.ListDeadAlertsQuery{Limit: pageSize}) {
			if (err != nil || user == "" || n.Kind == userQuota && n.Subject == user) && !yield(n, err) {
				return
			}
		}
	}
	header := fmt.Sprintf("%-*s  %-9s  %5s  %-12s  %s", cli.TimeWidth, "ended", "status", "tries", "reason", "alert")
	return lines(d, wanted, header, func(n client.DeadAlert) string {
		return fmt.Sprintf("%-*s  %-9s  %5d  %-12s  %s\n", cli.TimeWidth, d.time(n.EndedAt), n.Status, n.Attempts, n.Reason, n.Alert)
	})
}

// userQuota is the kind of an alert about a user.
const userQuota = "user_quota"

// describeAlert describes an alert for a person.
func (d *commands) describeAlert(n client.DeadAlert) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s alert %s\n", d.palette.Red(n.Status+":"), n.Alert)
	for _, line := range []struct{ name, value string }{
		{"ended", d.time(n.EndedAt)},
		{"reason", n.Reason},
		{"tries", strconv.Itoa(n.Attempts)},
		{"kind", n.Kind},
		{"about", n.Subject},
		{"since", d.time(n.Since)},
	} {
		fmt.Fprintf(&text, "  %-10s %s\n", line.name, line.value)
	}
	if n.Threshold > 0 {
		fmt.Fprintf(&text, "  %-10s %d of %d, over %d %%\n", "used", n.Used, n.Limit, n.Threshold)
	}
	return text.String()
}

// deadAlerts returns the ids of all dead alerts and reports.
func deadAlerts(ctx context.Context, c *client.Client) (ids []string, err error) {
	for n, err := range c.ListDeadAlerts(ctx, client.ListDeadAlertsQuery{Limit: pageSize}) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, n.Alert)
	}
	return ids, nil
}

// retryAlerts retries all present dead alerts and reports. It tells a person how many failed again
// soon: a contact that does not exist refuses at once.
func (d *commands) retryAlerts(ctx context.Context, c *client.Client, yes bool) error {
	all, err := deadAlerts(ctx, c) // before any is retried
	if err != nil {
		return err
	}
	if agreed, err := d.confirm(yes || len(all) == 0, fmt.Sprintf("Retry %s?", countedAlerts(len(all)))); !agreed {
		return err
	}
	bar := cli.StartProgress(d.Stderr, "retried", len(all))
	defer bar.End()
	var retried []string
	for _, id := range all {
		done, err := c.RetryDeadAlert(ctx, id)
		switch {
		case errors.Is(err, client.ErrNotFound): // another program was quicker
			continue
		case err != nil:
			bar.End()
			return errors.Join(err, d.summary("retried %s before the failure\n", countedAlerts(len(retried))))
		}
		bar.Add(1)
		retried = append(retried, id)
		if d.JSON {
			if err := d.PrintJSON(done); err != nil {
				return err
			}
		}
	}
	bar.End()
	if len(retried) == 0 || d.JSON {
		return d.summary("retried %s\n", countedAlerts(len(retried)))
	}
	select {
	case <-ctx.Done():
	case <-time.After(soon):
	}
	dead, err := deadAlerts(ctx, c)
	if err != nil {
		return errors.Join(err, d.summary("retried %s\n", countedAlerts(len(retried))))
	}
	again := len(slices.DeleteFunc(dead, func(id string) bool { return !slices.Contains(retried, id) }))
	return d.summary("retried %s: %d failed again, %d sent or still to be sent\n", countedAlerts(len(retried)), again, len(retried)-again)
}

// soon is how long a command waits for the first results of retried alerts.
const soon = time.Second

// countedAlerts returns a number of alerts and reports in words.
func countedAlerts(n int) string { return cli.FormatCount(n, "dead alert", "dead alerts") }

// answerAlert prints the outcome of an alert.
func (d *commands) answerAlert(done client.AlertDone, err error) error {
	return operations.Answer(d.Group, done, err, func(done client.AlertDone) string {
		if done.Outcome == message.Retried {
			return fmt.Sprintf("%s alert %s is tried again\n", d.palette.Green("retried:"), done.Alert)
		}
		return fmt.Sprintf("%s alert %s\n", d.palette.Green("purged:"), done.Alert)
	})
}
