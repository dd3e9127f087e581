package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// measureBookedSolid measures a refusal whose search finds no free time in either
// direction: a user who has 10 messages on every day of the coming year asks for one
// more in its middle. It also measures the longest possible call, which ends at the
// script's own bound on its work: a user has a message every minute.
func measureBookedSolid(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	timeline, err := sendlimit.NewTimeline(s.client, sendlimit.Options{})
	if err != nil {
		return nil, fmt.Errorf("timeline: %w", err)
	}
	today := time.Now().UTC().Truncate(day)
	for i := range size.booked {
		if err := book(ctx, s.client, userName(i), everyDay(today)); err != nil {
			return nil, err
		}
	}
	busiest := userName(size.booked)
	minutes := everyMinute(time.Now().Truncate(time.Minute), size.busiest)
	if err := book(ctx, s.client, busiest, minutes); err != nil {
		return nil, err
	}

	middle := today.Add(year/2 + 12*time.Hour)
	full := just(func(int) operation {
		return func(ctx context.Context, i int) error {
			return refusedForGood(ctx, timeline, userName(i%size.booked), middle)
		}
	})
	longest := just(func(int) operation {
		return func(ctx context.Context, _ int) error {
			_, err := timeline.Reserve(ctx, sendlimit.Request{
				User: busiest, ID: newID(), At: minutes[len(minutes)/2].Add(30 * time.Second),
			})
			if err != nil {
				return fmt.Errorf("reserve: %w", err)
			}
			return nil
		}
	})
	if err := s.interleave(ctx, size.slices, 2*size.booked, full); err != nil {
		return nil, err
	}
	if err := s.interleave(ctx, 3, 2, longest); err != nil {
		return nil, err
	}
	return []row{
		state("booked-solid", "Redis time of a refusal with both free times, for a user booked solid for a year",
			fmt.Sprintf("%.2f ms", full.micros()/1000),
			fmt.Sprintf("10 a day, 3,670 in all: %s in %.0f script call(s), no free time either way", full.timing(), full.series.runs),
			fmt.Sprintf("with %d messages, one a minute, the search goes over several calls: %.0f of %.1f ms each",
				len(minutes), longest.series.runs, longest.micros()/longest.series.runs/1000)),
	}, nil
}

// everyDay returns 10 times on each day within reach from today, two hours apart.
func everyDay(today time.Time) []time.Time {
	const daily = 10
	var times []time.Time
	for at := today; !at.After(today.Add(policy.DefaultReach)); at = at.Add(day) {
		for i := range daily {
			times = append(times, at.Add(time.Duration(i)*2*time.Hour))
		}
	}
	return times
}

// everyMinute returns n times, one every minute.
func everyMinute(from time.Time, n int) []time.Time {
	times := make([]time.Time, n)
	for i := range times {
		times[i] = from.Add(time.Duration(i) * time.Minute)
	}
	return times
}

// refusedForGood asks for a time that is refused and has no free time on either side.
func refusedForGood(ctx context.Context, timeline *sendlimit.Timeline, user string, at time.Time) error {
	decision, err := timeline.Reserve(ctx, sendlimit.Request{User: user, ID: newID(), At: at})
	if err != nil {
		return fmt.Errorf("reserve: %w", err)
	}
	if decision.Allowed || !decision.NextFree.IsZero() || !decision.PreviousFree.IsZero() {
		return fmt.Errorf("reserve: %+v, where a refusal without free times is due", decision)
	}
	return nil
}
