package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// measureReserve compares Timeline.Reserve, place only and with record and watch entry,
// with one redis_rate.Allow and with the three that correspond to the default policy:
// in Redis time, in calls a second, and for refusals.
//
// Every user has a reservation and a state of each limit before the measurement. Then
// all sides use the same users in the same order.
func measureReserve(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()

	each := 1 + (size.slices*size.reserves+size.users-1)/size.users
	times := newSchedule(size.users, each)
	if err := fillReserve(ctx, s, size, times); err != nil {
		return nil, err
	}
	timelines, err := newTimelines(s.client)
	if err != nil {
		return nil, err
	}
	place := reserving(timelines.places, times, size.users, false)
	record := reserving(timelines.records, times, size.users, true)
	one := allowing(redis_rate.NewLimiter(s.client), times, size.users, oneLimit())
	three := allowing(redis_rate.NewLimiter(s.client), times, size.users, threeLimits())
	if err := s.interleave(ctx, size.slices, size.reserves, place, record, one, three); err != nil {
		return nil, err
	}

	refused := refusing(timelines.places, times)
	refusedOne := denying(redis_rate.NewLimiter(s.client), times)
	if err := s.interleave(ctx, size.slices, size.reserves, refused, refusedOne); err != nil {
		return nil, err
	}

	replaced := replacing(timelines.records, times)
	moved := moving(timelines.records, times)
	if err := s.interleave(ctx, size.slices, size.reserves, replaced, moved); err != nil {
		return nil, err
	}

	shifted := shifting(timelines.records, times, func(r *sendlimit.Request, at time.Time) {
		r.At, r.Shift, r.ShiftUntil = at, true, at.Add(windowLength)
	})
	windowed := func(prefer policy.Prefer) *side {
		return shifting(timelines.records, times, func(r *sendlimit.Request, at time.Time) {
			r.At, r.Window = time.Time{}, &sendlimit.Window{From: at, Until: at.Add(windowLength), Prefer: prefer}
			if prefer == policy.PreferNearest {
				r.Window.From, r.Window.Near = at.Add(-time.Hour), at
			}
		})
	}
	earliest, nearest, spread := windowed(policy.PreferEarliest), windowed(policy.PreferNearest), windowed(policy.PreferSpread)
	if err := s.interleave(ctx, size.slices, size.reserves/4, shifted, earliest, nearest, spread); err != nil {
		return nil, err
	}

	return []row{
		atMost("redis-place", "Redis time of Reserve, place only / one Allow", place.timeOver(one), 1.1,
			"Reserve "+place.timing(), "Allow "+one.timing()),
		atMost("redis-record", "Redis time of Reserve with record and watch entry / one Allow", record.timeOver(one), 2.2,
			"Reserve "+record.timing(), "Allow "+one.timing()),
		atMost("redis-record-three", "Redis time of Reserve with record and watch entry / three Allow", record.timeOver(three), 0.75,
			"Reserve "+record.timing(), "three Allow "+three.timing()),
		atLeast("reserve-rate", "Reserve a second, place only / three Allow", place.rateOver(three), 2.5,
			fmt.Sprintf("Reserve %.0f/s (with record and watch entry %.0f/s)", place.rate(), record.rate()),
			fmt.Sprintf("three Allow %.0f/s (one %.0f/s)", three.rate(), one.rate())),
		atMost("refusal", "Redis time of a refusal of Reserve with both free times / one refused Allow", refused.timeOver(refusedOne), 4,
			fmt.Sprintf("%.2f × a second", refused.rateOver(refusedOne)),
			fmt.Sprintf("Reserve %s, %.0f/s", refused.timing(), refused.rate()),
			fmt.Sprintf("Allow %s, %.0f/s", refusedOne.timing(), refusedOne.rate())),
		atMost("window", "Redis time of Reserve in a window, from a time that is not free / of a shift from it", earliest.timeOver(shifted), 1.3,
			fmt.Sprintf("nearest %.2f ×, spread %.2f ×", nearest.timeOver(shifted), spread.timeOver(shifted)),
			"earliest "+earliest.timing(), "shift "+shifted.timing()),
		atMost("replace", "Redis time of Reserve in place of a pending message / Move", replaced.timeOver(moved), 1.3,
			"Reserve "+replaced.timing(), "Move "+moved.timing()),
	}, nil
}

// timelines are one without and one with records, kept apart by prefixes as long as the
// default one.
type timelines struct{ places, records *sendlimit.Timeline }

func newTimelines(client redis.Scripter) (timelines, error) {
	places, err := sendlimit.NewTimeline(client, sendlimit.Options{Prefix: "sl"})
	if err != nil {
		return timelines{}, fmt.Errorf("timeline of places: %w", err)
	}
	records, err := sendlimit.NewTimeline(client, sendlimit.Options{Prefix: "sr", Records: true})
	if err != nil {
		return timelines{}, fmt.Errorf("timeline with records: %w", err)
	}
	return timelines{places: places, records: records}, nil
}

// fillingTimelines returns timelines that send the commands of concurrent callers together,
// to prepare a measurement, and what ends them.
func (s *store) fillingTimelines() (t timelines, done func() error, err error) {
	batched, err := s.filling()
	if err != nil {
		return timelines{}, nil, err
	}
	t, err = newTimelines(batched)
	if err != nil {
		return timelines{}, nil, errors.Join(err, batched.Close())
	}
	return t, batched.Close, nil
}

// reserving takes places, beginning with the request after the first `taken`.
func reserving(timeline *sendlimit.Timeline, times *schedule, taken int, records bool) *side {
	to := &turns{schedule: times, taken: taken}
	return just(func(n int) operation {
		requests := to.take(n)
		if records {
			withRecords(requests)
		}
		return func(ctx context.Context, i int) error { return reserve(ctx, timeline, requests[i]) }
	})
}

func reserve(ctx context.Context, timeline *sendlimit.Timeline, request sendlimit.Request) error {
	decision, err := timeline.Reserve(ctx, request)
	if err != nil {
		return fmt.Errorf("reserve: %w", err)
	}
	if !decision.Allowed {
		return fmt.Errorf("reserve: refused with %s, where every time is free", decision.Code)
	}
	return nil
}

// limit is a limit of redis_rate, and the end of its keys.
type limit struct {
	name string
	redis_rate.Limit
}

// roomy is the burst of a limit that always allows. Redis does the same for any burst:
// a read and a write with an expiry.
const roomy = 1000

func oneLimit() []limit {
	return []limit{{":minute", redis_rate.Limit{Rate: 1, Burst: roomy, Period: time.Minute}}}
}

// threeLimits are the default policy as one would write it with redis_rate.
func threeLimits() []limit {
	return []limit{
		{":3:minute", redis_rate.Limit{Rate: 1, Burst: roomy, Period: time.Minute}},
		{":3:hour", redis_rate.Limit{Rate: 5, Burst: roomy, Period: time.Hour}},
		{":3:day", redis_rate.Limit{Rate: 10, Burst: roomy, Period: 24 * time.Hour}},
	}
}

// allowing asks the limits one after the other, for the same users in the same order as
// reserving.
func allowing(limiter *redis_rate.Limiter, times *schedule, taken int, limits []limit) *side {
	to := &turns{schedule: times, taken: taken}
	return just(func(n int) operation {
		requests := to.take(n)
		return func(ctx context.Context, i int) error { return allow(ctx, limiter, requests[i].User, limits) }
	})
}

func allow(ctx context.Context, limiter *redis_rate.Limiter, user string, limits []limit) error {
	for _, l := range limits {
		result, err := limiter.Allow(ctx, user+l.name, l.Limit)
		if err != nil {
			return fmt.Errorf("allow: %w", err)
		}
		if result.Allowed == 0 {
			return fmt.Errorf("allow: refused by %s, which has room", l.name)
		}
	}
	return nil
}

// refusing asks for a time 30 s after each user's first reservation.
func refusing(timeline *sendlimit.Timeline, times *schedule) *side {
	const beside = 30 * time.Second
	to := &turns{schedule: times}
	return just(func(n int) operation {
		requests := to.takeFirst(n)
		return func(ctx context.Context, i int) error {
			r := requests[i]
			r.At = r.At.Add(beside)
			decision, err := timeline.Reserve(ctx, r)
			if err != nil {
				return fmt.Errorf("reserve: %w", err)
			}
			if decision.Allowed || decision.NextFree.IsZero() || decision.PreviousFree.IsZero() {
				return fmt.Errorf("reserve: %+v, where a refusal with both free times is due", decision)
			}
			return nil
		}
	})
}

// windowLength is the length of a window, and of a shift, in which there is room for all.
const windowLength = 300 * 24 * time.Hour

// shifting takes a place for each user by a request that ask changes: it asks for a time 30 s after
// the first reservation.
func shifting(timeline *sendlimit.Timeline, times *schedule, ask func(r *sendlimit.Request, at time.Time)) *side {
	const beside = 30 * time.Second
	to := &turns{schedule: times}
	return just(func(n int) operation {
		requests := withRecords(to.takeFirst(n))
		return func(ctx context.Context, i int) error {
			r := requests[i]
			ask(&r, r.At.Add(beside))
			return reserve(ctx, timeline, r)
		}
	})
}

// replacing replaces the users' first messages, each with one that is due some ms later.
func replacing(timeline *sendlimit.Timeline, times *schedule) *side {
	to := &turns{schedule: times}
	return just(func(n int) operation {
		after := to.taken
		requests := withRecords(to.takeFirst(n))
		return func(ctx context.Context, i int) error {
			r := requests[i]
			r.ID = firstID
			r.At = r.At.Add(time.Duration(after+i) * time.Millisecond)
			r.Record.Fingerprint = fmt.Sprintf("replacement%05d", (after+i)%100_000)
			r.Replace = &sendlimit.Replacement{Only: true}
			return reserve(ctx, timeline, r)
		}
	})
}

// moving moves the users' first messages, each to another time than replacing.
func moving(timeline *sendlimit.Timeline, times *schedule) *side {
	const apart = time.Second
	to := &turns{schedule: times}
	return just(func(n int) operation {
		after := to.taken
		requests := to.takeFirst(n)
		return func(ctx context.Context, i int) error {
			r := requests[i]
			at := r.At.Add(time.Duration(after+i)*time.Millisecond + apart)
			decision, err := timeline.Move(ctx, sendlimit.MoveRequest{User: r.User, ID: firstID, At: at, Generation: keyspace.NewToken()})
			if err != nil {
				return fmt.Errorf("move: %w", err)
			}
			if !decision.Allowed || decision.MovedFrom.IsZero() {
				return fmt.Errorf("move: %+v, where every time is free", decision)
			}
			return nil
		}
	})
}

// usedUp returns a limit that its first call uses up.
func usedUp() limit { return limit{":used-up", redis_rate.PerHour(1)} }

// denying asks a limit that is used up.
func denying(limiter *redis_rate.Limiter, times *schedule) *side {
	to := &turns{schedule: times}
	return just(func(n int) operation {
		requests := to.takeFirst(n)
		l := usedUp()
		return func(ctx context.Context, i int) error {
			result, err := limiter.Allow(ctx, requests[i].User+l.name, l.Limit)
			if err != nil {
				return fmt.Errorf("allow: %w", err)
			}
			if result.Allowed != 0 {
				return errors.New("allow: a limit that is used up has room")
			}
			return nil
		}
	})
}

// firstID is the id of every user's first message.
const firstID = "0197a6c2-5f1b-7c3e-9d24-6b8e0f3a1c57"

// fillReserve gives every user a reservation in both timelines and a state of every
// limit. It takes the roomy ones ten times at once, so that they do not expire before
// the measurement.
func fillReserve(ctx context.Context, s *store, size sizes, times *schedule) (err error) {
	batched, err := s.filling()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, batched.Close()) }()
	timelines, err := newTimelines(batched)
	if err != nil {
		return err
	}
	const ten = 10
	limiter := redis_rate.NewLimiter(batched)
	roomyOnes := append(oneLimit(), threeLimits()...)
	_, err = drive(ctx, size.users, func(ctx context.Context, i int) error {
		first := times.request(i)
		first.ID = firstID
		if err := reserve(ctx, timelines.places, first); err != nil {
			return err
		}
		withRecord := withRecords([]sendlimit.Request{first})[0]
		if err := reserve(ctx, timelines.records, withRecord); err != nil {
			return err
		}
		for _, l := range roomyOnes {
			if _, err := limiter.AllowN(ctx, first.User+l.name, l.Limit, ten); err != nil {
				return fmt.Errorf("allow: %w", err)
			}
		}
		l := usedUp()
		if _, err := limiter.Allow(ctx, first.User+l.name, l.Limit); err != nil {
			return fmt.Errorf("allow: %w", err)
		}
		return nil
	})
	return err
}
