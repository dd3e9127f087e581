package deadletters

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit/notices"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

const alertFlag = "alert"

func addAlertFlag(flags *pflag.FlagSet, alert *string) {
	flags.StringVar(alert, alertFlag, "", "`id` of an alert or report, instead of a message")
}

// alertOr accepts --alert alone. Without it, others decides.
func alertOr(others cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if !cmd.Flag(alertFlag).Changed {
			return others(cmd, args)
		}
		if len(args) > 0 {
			return cli.Usage(cmd, "id", fmt.Sprintf("%q is too much beside --alert", args[0]))
		}
		for _, name := range []string{"user", "all", "older-than"} {
			if f := cmd.Flag(name); f != nil && f.Changed {
				return cli.Usage(cmd, name, fmt.Sprintf("--alert and --%s can't be given together", name))
			}
		}
		return nil
	}
}

// listAlerts lists the alerts and reports that could not be delivered, only those about
// the user unless it is "". It reports whether there are any.
func (d *commands) listAlerts(ctx context.Context, user string) (some bool, err error) {
	err = d.eachAlert(ctx, func(n deadletters.Notice) error {
		if user != "" && (n.Kind != string(notices.UserQuota) || n.Subject != user) {
			return nil
		}
		if d.json {
			return d.PrintJSON(n)
		}
		if !some {
			some = true
			header := fmt.Sprintf("%-*s  %-9s  %5s  %-12s  %s", cli.TimeWidth, "ended", "status", "tries", "reason", "alert")
			if err := d.Print(d.palette.Dim(header) + "\n"); err != nil {
				return err
			}
		}
		return d.Print(fmt.Sprintf("%-*s  %-9s  %5d  %-12s  %s\n", cli.TimeWidth, d.time(n.EndedAt), n.Status, n.Attempts, n.Reason, n.Alert))
	})
	return some, err
}

// eachAlert calls do with each failed alert and report. It reads a page at a time.
func (d *commands) eachAlert(ctx context.Context, do func(deadletters.Notice) error) error {
	for after := (deadletters.Notice{}); ; {
		page, err := d.Notices(ctx, after)
		if err != nil {
			return fmt.Errorf("listing alerts: %w", err)
		}
		for _, n := range page {
			if err := do(n); err != nil {
				return err
			}
			after = n
		}
		if len(page) < notices.MaxDead {
			return nil
		}
	}
}

func (d *commands) showAlert(ctx context.Context, id string) error {
	n, ok, err := d.Notice(ctx, id)
	if err != nil {
		return fmt.Errorf("showing an alert: %w", err)
	}
	if !ok {
		return d.answerAlert(deadletters.NoDeadNotice(id))
	}
	if d.json {
		return d.PrintJSON(n)
	}
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
		fmt.Fprintf(&text, "  %-10s %d of %d, past %d %%\n", "used", n.Used, n.Limit, n.Threshold)
	}
	return d.Print(text.String())
}

func (d *commands) retryAlert(ctx context.Context, id string) error {
	o, err := d.RetryNotice(ctx, id)
	if err != nil {
		return fmt.Errorf("retrying an alert: %w", err)
	}
	return d.answerAlert(o)
}

// retryAlerts retries the alerts that failed before a time, and returns how many.
func (d *commands) retryAlerts(ctx context.Context, before time.Time, bar *cli.Progress) (int, error) {
	retried := 0
	err := d.eachAlert(ctx, func(n deadletters.Notice) error {
		if !n.EndedAt.Before(before) {
			return nil
		}
		o, err := d.RetryNotice(ctx, n.Alert)
		if err != nil {
			return fmt.Errorf("retrying an alert: %w", err)
		}
		bar.Add(1)
		if o.Outcome == message.Retried {
			retried++
		}
		if d.json {
			return d.PrintJSON(o)
		}
		return nil
	})
	return retried, err
}

func (d *commands) purgeAlert(ctx context.Context, id string) error {
	o, err := d.PurgeNotice(ctx, id)
	if err != nil {
		return fmt.Errorf("purging an alert: %w", err)
	}
	return d.answerAlert(o)
}

// answerAlert prints the outcome for one alert, and returns the error to end with.
func (d *commands) answerAlert(o deadletters.AlertOutcome) error {
	var err error
	switch {
	case d.json:
		err = d.PrintJSON(o)
	case o.Outcome == message.Retried:
		err = d.Print(fmt.Sprintf("%s alert %s is delivered again\n", d.palette.Green("retried:"), o.Alert))
	case o.Outcome == message.Purged:
		err = d.Print(fmt.Sprintf("%s alert %s\n", d.palette.Green("purged:"), o.Alert))
	case o.Outcome == message.Invalid:
		_, err = fmt.Fprintf(d.Stderr, "%s %s\n", cli.NewPalette(d.Stderr, d.Getenv).Red("error:"), o.Detail)
	default:
		err = d.Print(fmt.Sprintf("%s %s\n", d.palette.Yellow("refused:"), o.Detail))
	}
	if err != nil {
		return err
	}
	if status := cli.StatusOf(o.Code); status != cli.StatusDone {
		return cli.StatusError(status)
	}
	return nil
}
