package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-redis/redis_rate/v10"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// countedEvent is the event whose limits are looked up in the store.
const countedEvent = "submit"

// tierEvent is an event without limits in the store.
const tierEvent = "tier"

// measureCounters compares a Count in three counters, with its own limits and with
// those of an event, with the three redis_rate.Allow for a minute, an hour and a day.
// The calls use the same keys in the same order, and all are allowed.
func measureCounters(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()

	all := counters.New(s.client, keyspace.KeysUnder(""))
	events := counters.NewEvents(s.client, keyspace.KeysUnder(""))
	limits := counters.EventLimits{Name: countedEvent, PerMinute: roomy, PerHour: roomy, PerDay: roomy}
	if err := events.Set(ctx, limits); err != nil {
		return nil, fmt.Errorf("set the limits of an event: %w", err)
	}

	each := 1 + (size.slices*size.reserves+size.users-1)/size.users
	times := newSchedule(size.users, each)
	own := counting(all, times, counters.Request{Counters: limits.Counters()})
	event := counting(all, times, counters.Request{Event: countedEvent})
	three := allowing(redis_rate.NewLimiter(s.client), times, 0, threeLimits())
	if err := s.interleave(ctx, size.slices, size.reserves, own, event, three); err != nil {
		return nil, err
	}
	// What a submit of an account counts: the limits of its tier beside those of the event,
	// which has none in most stores.
	minute := counters.Counter{Name: "requests_per_minute", Limit: roomy, Period: calendar.Minute}
	day := counters.Counter{Name: "requests_per_day", Limit: roomy, Period: calendar.Day}
	perMinute := counting(all, times, counters.Request{Event: tierEvent, Counters: []counters.Counter{minute}})
	perDay := counting(all, times, counters.Request{Event: tierEvent, Counters: []counters.Counter{minute, day}})
	if err := s.interleave(ctx, size.slices, size.reserves, perMinute, perDay); err != nil {
		return nil, err
	}
	return []row{
		state("redis-count-day", "Redis time of counting a request by minute and day / by minute",
			fmt.Sprintf("%.2f ×", perDay.micros()/perMinute.micros()),
			"by minute and day "+perDay.timing(), "by minute "+perMinute.timing()),
		state("redis-count", "Redis time of Count in three counters / three Allow",
			fmt.Sprintf("%.2f × (of an event %.2f ×)", own.micros()/three.micros(), event.micros()/three.micros()),
			"Count "+own.timing(), "of an event "+event.timing(), "three Allow "+three.timing()),
		atLeast("count-rate", "Count a second in three counters / three Allow", own.rate()/three.rate(), 1.25,
			fmt.Sprintf("Count %.0f/s (of an event %.0f/s)", own.rate(), event.rate()),
			fmt.Sprintf("three Allow %.0f/s", three.rate())),
	}, nil
}

// counting counts copies of call, each for the next user.
func counting(counters *counters.Counters, times *schedule, call counters.Request) *side {
	to := &turns{schedule: times}
	return just(func(n int) operation {
		requests := to.take(n)
		return func(ctx context.Context, i int) error {
			one := call
			one.Key = requests[i].User
			decision, err := counters.Count(ctx, one)
			if err != nil {
				return fmt.Errorf("count: %w", err)
			}
			if !decision.Allowed {
				return fmt.Errorf("count: refused by %s, which has room", decision.Counter)
			}
			return nil
		}
	})
}
