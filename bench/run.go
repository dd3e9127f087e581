package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// measurement makes one row of the table, or several that are measured together.
type measurement struct {
	rows []string // the names of the rows, for -only
	run  func(ctx context.Context, s sizes) ([]row, error)
}

func measurements() []measurement {
	return []measurement{
		// What people who choose look at first: throughput, lateness and memory.
		{[]string{"submit-enqueue", "submit-batched", "submit-by-hand", "submit-refusal"}, measureSubmit},
		{[]string{"submit-account"}, measureCharges},
		{[]string{"bulk"}, measureBulk},
		{[]string{"api-submit", "api-behind", "api-memory"}, measureAPI},
		{[]string{"api-layer"}, measureAPILayer},
		{[]string{"schedule", "schedule-distant"}, measureSchedule},
		{[]string{"herd"}, measureHerd},
		{[]string{"fairness", "fairness-herd"}, measureFairness},
		{[]string{"delivery"}, measureDelivery},
		{[]string{"delivery-heard"}, measureHeard},
		{[]string{"cluster"}, measureCluster},
		{[]string{"tracing-submit", "tracing-delivery"}, measureTracing},
		{[]string{"push-fcm", "push-apns", "push-webpush", "push-webhook", "worker-fcm", "worker-apns", "worker-webpush", "worker-webhook"}, measureChannels},
		{[]string{"workers", "workers-restart"}, measureWorkers},
		{[]string{"idle"}, measureIdle},
		{[]string{"workers-many"}, measureMany},
		{[]string{"early", "lateness", "lateness-pending"}, measureLateness},
		{[]string{"memory-pending"}, measurePending},
		{[]string{"memory-index", "memory-campaign", "redis-index"}, measureIndex},
		{[]string{"memory-place", "memory-record", "memory-ended"}, measureMemory},
		{[]string{"memory-device"}, measureDevices},
		// What Redis spends on it.
		{[]string{"redis-place", "redis-record", "redis-record-three", "reserve-rate", "refusal", "window", "replace"}, measureReserve},
		{[]string{"redis-count-day", "redis-count", "count-rate"}, measureCounters},
		{[]string{"redis-permit", "redis-permits", "redis-token"}, measureLimiters},
		{[]string{"history", "history-alike"}, measureHistory},
		{[]string{"booked-solid"}, measureBookedSolid},
		{[]string{"heavy"}, measureHeavy},
		{[]string{"category-week", "category-window"}, measureCategories},
		{[]string{"policies"}, measurePolicies},
		{[]string{"claim", "settle", "settle-heard", "claim-devices"}, measureGate},
		{[]string{"relay"}, measureRelay},
		{[]string{"backlog"}, measureBacklog},
		{[]string{"forecast"}, measureForecast},
		{[]string{"dashboard-page", "dashboard-many"}, measureDashboard},
		{[]string{"activity"}, measureActivity},
	}
}

// run is the program: it measures, and prints the table.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	quick := flags.Bool("quick", false, "small sizes: a minute in all, and figures that say little")
	only := flags.String("only", "", "measure only the rows whose `name` matches this regular expression")
	asJSON := flags.Bool("json", false, "print one JSON object instead of the table")
	save := flags.String("save", "", "put the table into this `file` too, between its markers: README.md")
	users := flags.Int("preview-users", 0, "measure nothing but the preview of a policy over so `many` users, three reservations each")
	pending := flags.Int("large", 0, "measure nothing but a store with so `many` pending messages, five a user, and with a fifth of them")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return fmt.Errorf("arguments: %w", err)
	}
	if *users > 0 {
		return runPreview(ctx, *users, *save, stdout)
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only %q is not a regular expression: %w", *only, err)
	}
	size := fullSizes()
	if *quick {
		size = quickSizes()
	}

	if *pending > 0 {
		return runLarge(ctx, *pending, size, *save, stdout)
	}
	report, err := measure(ctx, size, wanted, stderr)
	if err != nil {
		return err
	}
	if *asJSON {
		if err := json.NewEncoder(stdout).Encode(report); err != nil {
			return fmt.Errorf("print the report: %w", err)
		}
	} else if _, err := io.WriteString(stdout, report.markdown()); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	if *save != "" {
		return report.save(*save)
	}
	return nil
}

// measure runs the measurements of the wanted rows, one after the other, and reports to
// progress which one is running.
func measure(ctx context.Context, s sizes, wanted *regexp.Regexp, progress io.Writer) (report, error) {
	chosen := slices.DeleteFunc(measurements(), func(m measurement) bool {
		return !slices.ContainsFunc(m.rows, wanted.MatchString)
	})
	if len(chosen) == 0 {
		return report{}, fmt.Errorf("-only %q matches no row; there are %s", wanted, strings.Join(rowNames(), ", "))
	}
	machine, err := describeMachine(ctx)
	if err != nil {
		return report{}, err
	}
	out := report{Machine: machine, Sizes: s.name}
	started := time.Now()
	for _, m := range chosen {
		began := time.Now()
		rows, err := m.run(ctx, s)
		if err != nil {
			return report{}, fmt.Errorf("%s: %w", m.rows[0], err)
		}
		for _, r := range rows {
			if wanted.MatchString(r.Name) {
				out.Rows = append(out.Rows, r)
				fmt.Fprintf(progress, "%-20s %s (%.0f s)\n", r.Name, r.Measured, time.Since(began).Seconds())
			}
		}
	}
	out.Seconds = time.Since(started).Seconds()
	return out, nil
}

func rowNames() []string {
	var names []string
	for _, m := range measurements() {
		names = append(names, m.rows...)
	}
	return names
}
