package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/tasks/taskstest/heavy"
)

// measureHeavy measures the slowest script call of each operation, for users with very many
// places, by few rules and by as many as are allowed.
func measureHeavy(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	client := connect(s.server, 1)
	defer func() { err = errors.Join(err, client.Close()) }()
	watch := heavy.NewStopwatch(s.client)
	client.AddHook(watch)
	cases, err := heavy.Cases()
	if err != nil {
		return nil, fmt.Errorf("policies: %w", err)
	}
	day := time.Now().UTC().Truncate(24 * time.Hour).Add(48 * time.Hour)
	slowest := time.Duration(0)
	var figures []string
	for _, crowd := range heavy.Crowds(day, size.crowd) {
		if err := crowd.Fill(ctx, s.client); err != nil {
			return nil, fmt.Errorf("fill: %w", err)
		}
		for _, c := range cases {
			operations, err := c.Operations(client, s.client, crowd.User, day)
			if err != nil {
				return nil, fmt.Errorf("operations: %w", err)
			}
			var times []string
			for _, o := range operations {
				took, err := timeHeavy(ctx, watch, o, size.heavyTries)
				if err != nil {
					return nil, fmt.Errorf("%s %s %s: %w", crowd.User, c.Name, o.Name, err)
				}
				slowest = max(slowest, took)
				times = append(times, fmt.Sprintf("%s %.1f ms", o.Name, took.Seconds()*1000))
			}
			figures = append(figures, crowd.User+", "+c.Name+": "+strings.Join(times, ", "))
		}
	}
	ms := slowest.Seconds() * 1000
	return []row{{
		Name: "heavy", What: fmt.Sprintf("processor time of the slowest script call, beside %d places in a day or by 100 rules", size.crowd),
		Goal: "≤ 5 ms", Measured: fmt.Sprintf("%.1f ms", ms), Verdict: judge(ms <= 5), Figures: figures,
	}}, nil
}

func timeHeavy(ctx context.Context, watch *heavy.Stopwatch, o heavy.Operation, tries int) (time.Duration, error) {
	least := time.Hour
	for n := range tries {
		if o.Prepare != nil {
			if err := o.Prepare(ctx, n); err != nil {
				return 0, err
			}
		}
		took, err := watch.SlowestOf(func() error { return o.Do(ctx, n) })
		if err != nil {
			return 0, err
		}
		least = min(least, took)
	}
	return least, nil
}
