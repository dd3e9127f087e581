package deadletters

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

const (
	alertFlag  = "alert"
	alertsFlag = "alerts"
)

func addAlertFlag(flags *pflag.FlagSet, alert *string) {
	flags.StringVar(alert, alertFlag, "", "`id` of an alert or report, instead of a message")
}

// addAlertsFlag adds --alerts to a command for many.
func addAlertsFlag(flags *pflag.FlagSet, alerts *bool) {
	flags.BoolVar(alerts, alertsFlag, false, "alerts and reports instead of messages")
}

// alertsOfMany refuses --alerts beside what names one dead letter. Otherwise others
// decides.
func alertsOfMany(others cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if cmd.Flag(alertsFlag).Value.String() == "true" {
			for _, name := range []string{alertFlag, "user"} {
				if cmd.Flag(name).Changed {
					return cli.Usage(cmd, name, fmt.Sprintf("--alerts and --%s can't be given together", name))
				}
			}
		}
		return others(cmd, args)
	}
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
		page, err := d.Notices(ctx, after, deadletters.MaxNotices)
		if err != nil {
			return fmt.Errorf("listing alerts: %w", err)
		}
		for _, n := range page {
			if err := do(n); err != nil {
				return err
			}
			after = n
		}
		if len(page) < deadletters.MaxNotices {
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

// retryAlerts retries all alerts and reports that are dead letters now.
func (d *commands) retryAlerts(ctx context.Context, yes bool) error {
	before, total, err := d.surveyAlerts(ctx)
	if err != nil {
		return err
	}
	if agreed, err := d.confirm(yes || total == 0, fmt.Sprintf("Send %s after all?", countedAlerts(total))); !agreed {
		return err
	}
	bar := cli.StartProgress(d.Stderr, "retried", total)
	defer bar.End()
	retried, err := d.retryAlertsBefore(ctx, before, bar)
	bar.End()
	if err != nil {
		return errors.Join(err, d.summary("%s sent after all before this\n", countedAlerts(retried)))
	}
	return d.summary("%s sent after all\n", countedAlerts(retried))
}

// purgeAlerts purges the alerts and reports that ended longer ago than age. It asks for
// confirmation unless sure.
func (d *commands) purgeAlerts(ctx context.Context, age time.Duration, sure bool) error {
	now, total, err := d.surveyAlerts(ctx)
	if err != nil {
		return err
	}
	if agreed, err := d.confirm(sure || total == 0, fmt.Sprintf("Forget %s for good?", countedAlerts(total))); !agreed {
		return err
	}
	purged := 0
	for more := true; more; {
		var some int
		if some, more, err = d.PurgeNoticesBefore(ctx, now.Add(-age), deadletters.MaxNotices); err != nil {
			return fmt.Errorf("purging alerts: %w", err)
		}
		purged += some
	}
	if d.json {
		return d.PrintJSON(map[string]any{"outcome": message.Purged, "alerts": purged})
	}
	return d.summary("%s forgotten\n", countedAlerts(purged))
}

// surveyAlerts returns the time of the store and the number of dead alerts and reports.
func (d *commands) surveyAlerts(ctx context.Context) (time.Time, int, error) {
	now, err := d.Now(ctx)
	if err != nil {
		return time.Time{}, 0, fmt.Errorf("looking at the clock: %w", err)
	}
	total, err := d.CountNotices(ctx)
	if err != nil {
		return time.Time{}, 0, fmt.Errorf("counting alerts: %w", err)
	}
	return now, total, nil
}

// countedAlerts returns a number of alerts and reports in words.
func countedAlerts(n int) string { return cli.FormatCount(n, "dead alert", "dead alerts") }

// retryAlertsBefore retries the alerts that failed before a time, and returns how many.
func (d *commands) retryAlertsBefore(ctx context.Context, before time.Time, bar *cli.Progress) (int, error) {
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
		_, err = fmt.Fprintf(cli.VisibleTo(d.Stderr), "%s %s\n", cli.NewPalette(d.Stderr, d.Getenv).Red("error:"), o.Detail)
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
