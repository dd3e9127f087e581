package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/records/activity"
	"github.com/sendlimit/sendlimiter/records/forecast"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// forecastOver is the span in which the messages of a forecast are due.
const forecastOver = 30 * 24 * time.Hour

// measureForecast measures the Redis time of both parts of a forecast over a million pending
// messages, as a share of the time until the next ones.
func measureForecast(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var worst float64
	var measured, figures []string
	for _, pending := range []int{0, slices.Max(size.pendingUsers)} {
		if err := s.fillPending(ctx, newSchedule(max(1, pending), 1).over(forecastOver), pending); err != nil {
			return nil, err
		}
		cost, err := s.costOfForecast(ctx, "sr", pending)
		if err != nil {
			return nil, err
		}
		near, later, share := cost.near, cost.later, 100*cost.share()
		worst = max(worst, share)
		measured = append(measured, fmt.Sprintf("%d pending: near %.0f ms, later %.0f ms, %.2f %%",
			pending, milliseconds(near.busy), milliseconds(later.busy), share))
		figures = append(figures,
			fmt.Sprintf("%d pending, near: %s; then a rest of %.1f s", pending, near, forecast.NearRest(near.took).Seconds()),
			fmt.Sprintf("%d pending, later: %s; then a rest of %.1f s", pending, later, forecast.LaterRest(later.took).Seconds()))
	}
	return []row{{
		Name: "forecast", What: "Redis time of both parts of a forecast of all pending messages, and their share of the time until the next ones",
		Goal: "≤ 0.5 %", Measured: strings.Join(measured, "; "), Verdict: judge(worst <= 0.5), Figures: figures,
	}}, nil
}

// forecastCost is what both parts of a forecast cost.
type forecastCost struct{ near, later countCost }

// share returns which part of its time the main thread works for forecasts, if one follows
// the other.
func (c forecastCost) share() float64 {
	return c.near.busy.Seconds()/forecast.NearRest(c.near.took).Seconds() + c.later.busy.Seconds()/forecast.LaterRest(c.later.took).Seconds()
}

// costOfForecast measures both parts of a forecast of the pending messages under a prefix.
func (s *store) costOfForecast(ctx context.Context, prefix string, pending int) (cost forecastCost, err error) {
	forecasts, err := forecast.New(s.client, sendlimit.Options{Prefix: prefix})
	if err != nil {
		return cost, fmt.Errorf("forecasts: %w", err)
	}
	cost.near, err = s.measureCount(ctx, func() (time.Duration, error) {
		found, err := forecasts.CountNear(ctx, time.Time{})
		if err == nil && found.Pending != pending {
			err = fmt.Errorf("%d of %d messages are pending", found.Pending, pending)
		}
		return found.Took, err
	})
	if err != nil {
		return cost, err
	}
	cost.later, err = s.measureCount(ctx, func() (time.Duration, error) {
		found, err := forecasts.CountLater(ctx, time.Time{})
		return found.Took, err
	})
	return cost, err
}

// countCost is what a count costs, the median of some.
type countCost struct {
	commands, busy, took time.Duration // in commands, of the main thread, from start to end
	slow                 int           // calls above slowCount, of all
}

const slowCount = 2 * time.Millisecond

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

func (c countCost) String() string {
	return fmt.Sprintf("commands %.1f ms, main thread %.0f ms, from start to end %.0f ms, %d calls above %s",
		milliseconds(c.commands), milliseconds(c.busy), milliseconds(c.took), c.slow, slowCount)
}

// measureCount counts a part of a forecast five times.
func (s *store) measureCount(ctx context.Context, count func() (took time.Duration, err error)) (cost countCost, err error) {
	err = errors.Join(
		s.client.SlowLogReset(ctx).Err(),
		s.client.ConfigSet(ctx, "slowlog-log-slower-than", strconv.FormatInt(slowCount.Microseconds(), 10)).Err(),
	)
	if err != nil {
		return countCost{}, fmt.Errorf("slow log: %w", err)
	}
	var commands, busy, took []float64
	for range 5 {
		if err := s.resetCommandTime(ctx); err != nil {
			return countCost{}, err
		}
		before, err := s.mainThread(ctx)
		if err != nil {
			return countCost{}, err
		}
		lasted, err := count()
		if err != nil {
			return countCost{}, fmt.Errorf("forecast: %w", err)
		}
		after, err := s.mainThread(ctx)
		if err != nil {
			return countCost{}, err
		}
		spent, err := s.timeOf(ctx, "evalsha", "exists", "zrange", "hget", "time")
		if err != nil {
			return countCost{}, err
		}
		commands, busy, took = append(commands, float64(spent)), append(busy, float64(after-before)), append(took, float64(lasted))
	}
	noted, err := s.client.SlowLogGet(ctx, -1).Result()
	if err != nil {
		return countCost{}, fmt.Errorf("slow log: %w", err)
	}
	for _, call := range noted {
		if slices.Contains([]string{"evalsha", "exists", "zrange"}, call.Args[0]) {
			cost.slow++
		}
	}
	cost.commands, cost.busy, cost.took = time.Duration(median(commands)), time.Duration(median(busy)), time.Duration(median(took))
	return cost, nil
}

// measureActivity measures the Redis time of a flush of what became of messages, and of
// reading a day of minutes and a month of hours.
func measureActivity(ctx context.Context, _ sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	log := activity.New(s.client, keyspace.KeysUnder("sr"), nil)
	now := time.Now().Truncate(time.Hour)
	count := func(at time.Time, i int) {
		log.Accepted("", at)
		log.Delivered("", at, time.Duration(i)*time.Millisecond, i%50 == 0)
		log.Refused("", at, []string{"1/minute", "5/hour", "10/calendar_day"}[i%3])
		log.Failed("", at, []string{"rejected", "gone"}[i%2])
		log.Dropped("", at, "expired")
	}
	for minute := range 24 * 60 {
		for i := range 100 {
			count(now.Add(-time.Duration(minute)*time.Minute), i)
		}
		if err := log.Flush(ctx); err != nil {
			return nil, fmt.Errorf("flush: %w", err)
		}
	}
	if err := s.resetCommandTime(ctx); err != nil {
		return nil, err
	}
	const flushes = 1000
	for i := range flushes {
		for n := range 100 {
			count(now, n*i)
		}
		if err := log.Flush(ctx); err != nil {
			return nil, fmt.Errorf("flush: %w", err)
		}
	}
	spent, _, err := s.scriptTime(ctx)
	if err != nil {
		return nil, err
	}
	each := spent.Seconds() * 1e6 / flushes
	reading := make([]float64, 0, 2)
	for _, read := range []func() error{
		func() error { _, err := log.Minutes(ctx, now.Add(-24*time.Hour), now); return err },
		func() error { _, err := log.Hours(ctx, now.Add(-activity.HoursOver), now); return err },
	} {
		if err := errors.Join(s.resetCommandTime(ctx), read()); err != nil {
			return nil, fmt.Errorf("reading the activity: %w", err)
		}
		took, err := s.timeOf(ctx, "hgetall")
		if err != nil {
			return nil, err
		}
		reading = append(reading, took.Seconds()*1000)
	}
	return []row{{
		Name: "activity", What: "Redis time of a flush of what became of messages, once a second in each process", Goal: "≤ 100 µs",
		Measured: fmt.Sprintf("%.0f µs", each), Verdict: judge(each <= 100),
		Figures: []string{fmt.Sprintf("%.1f µs, %.4f %% of a second; reading a day by minutes %.1f ms, a month by hours %.1f ms", each, each/1e4, reading[0], reading[1])},
	}}, nil
}

// timeOf returns how long the server ran some commands since resetCommandTime. One that did
// not run took no time.
func (s *store) timeOf(ctx context.Context, commands ...string) (total time.Duration, err error) {
	info, err := s.info(ctx, "commandstats")
	if err != nil {
		return 0, err
	}
	for _, command := range commands {
		_, rest, found := strings.Cut(info["cmdstat_"+command], "usec=")
		if !found {
			continue
		}
		text, _, _ := strings.Cut(rest, ",")
		micros, err := strconv.Atoi(text)
		if err != nil {
			return 0, fmt.Errorf("time of %s in INFO commandstats: %w", command, err)
		}
		total += time.Duration(micros) * time.Microsecond
	}
	return total, nil
}
