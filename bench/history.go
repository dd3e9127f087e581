package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

const (
	day  = 24 * time.Hour
	year = 365 * day

	longHistory  = 10_000
	shortHistory = 10
	// reservesEach is how many places all slices together take for a user with a short
	// history, which stays short.
	reservesEach = 4
)

// measureHistory compares Reserve for users with 10,000 reservations over the
// coming year with Reserve for users with 10, under rules that allow both.
//
// The second side's 10 lie over the year like the 10,000, so that almost none is near
// the requested time and there is little to judge. The third side's 10 are as close
// together as the 10,000, with the requested time among them.
func measureHistory(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	policy, err := policy.Parse("long", "", "1/minute", "5/hour", "50/calendar_day")
	if err != nil {
		return nil, fmt.Errorf("policy of a long history: %w", err)
	}
	rules, err := sendlimit.NewRules(policy)
	if err != nil {
		return nil, fmt.Errorf("rules of a long history: %w", err)
	}
	timeline, err := sendlimit.NewTimeline(s.client, sendlimit.Options{Rules: rules})
	if err != nil {
		return nil, fmt.Errorf("timeline of a long history: %w", err)
	}

	// Slices are small: they must not fill the few users with a long history.
	reserves := min(size.reserves/10, 20*size.histories)
	short := (size.slices*reserves + reservesEach - 1) / reservesEach
	kinds := []*histories{
		{name: "long", users: size.histories, each: longHistory, span: year},
		{name: "short", users: short, each: shortHistory, span: year},
		{name: "dense", users: short, each: shortHistory, span: year / (longHistory / shortHistory)},
	}
	sides := make([]*side, len(kinds))
	for i, kind := range kinds {
		kind.start = time.Now().Add(time.Hour)
		if err := kind.fill(ctx, s); err != nil {
			return nil, err
		}
		sides[i] = kind.reserving(timeline)
	}
	if err := s.interleave(ctx, size.slices, reserves, sides...); err != nil {
		return nil, err
	}
	long, few, dense := sides[0], sides[1], sides[2]
	return []row{
		atMost("history", "Redis time of Reserve for a user with 10,000 reservations / with 10", long.timeOver(few), 1.5,
			"10,000 over a year "+long.timing(), "10 over a year "+few.timing()),
		atMost("history-alike", "the same, the 10 as close together as the 10,000", long.timeOver(dense), 1.5,
			"10,000 over a year "+long.timing(), "10 within 9 hours "+dense.timing()),
	}, nil
}

// histories are users with the same number of reservations each, evenly over a span.
type histories struct {
	name  string
	users int
	each  int
	start time.Time
	span  time.Duration
}

func (h *histories) user(i int) string { return fmt.Sprintf("%s%06d", h.name, i) }

func (h *histories) gap() time.Duration { return h.span / time.Duration(h.each) }

func (h *histories) fill(ctx context.Context, s *store) error {
	times := make([]time.Time, h.each)
	for i := range times {
		times[i] = h.start.Add(time.Duration(i) * h.gap())
	}
	for i := range h.users {
		if err := book(ctx, s.client, h.user(i), times); err != nil {
			return err
		}
	}
	return nil
}

// reserving takes places at random times, each in another gap between two reservations,
// so that none is refused.
func (h *histories) reserving(timeline *sendlimit.Timeline) *side {
	random := newRandom()
	gaps := make([][]int, h.users) // still free, shuffled
	for i := range gaps {
		gaps[i] = random.Perm(h.each - 1)
	}
	next := 0
	return just(func(n int) operation {
		requests := make([]sendlimit.Request, n)
		for i := range requests {
			user := next % h.users
			gap := gaps[user][0]
			gaps[user] = gaps[user][1:]
			within := h.gap()/4 + time.Duration(random.Int64N(int64(h.gap()/2)))
			requests[i] = sendlimit.Request{
				User: h.user(user), ID: newID(), At: h.start.Add(time.Duration(gap)*h.gap() + within),
			}
			next++
		}
		return func(ctx context.Context, i int) error { return reserve(ctx, timeline, requests[i]) }
	})
}

// book writes reservations directly into a user's timeline: Reserve would take longer
// for a year of them than the measurement.
func book(ctx context.Context, client redis.Cmdable, user string, times []time.Time) error {
	keys, err := keyspace.NewKeys("")
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	const together = 1000
	_, err = client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for part := range slices.Chunk(times, together) {
			members := make([]redis.Z, len(part))
			for i, at := range part {
				members[i] = redis.Z{Score: float64(at.UnixMilli()), Member: newID()}
			}
			pipe.ZAdd(ctx, keys.Timeline(user), members...)
		}
		pipe.PExpireAt(ctx, keys.Timeline(user), times[len(times)-1].Add(2*day))
		return nil
	})
	if err != nil {
		return fmt.Errorf("book a user's times: %w", err)
	}
	return nil
}
