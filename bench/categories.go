package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

const (
	rare   = "marketing" // has rules of its own
	common = "receipts"  // has none

	dailyOfCommon = 9
)

// measureCategories measures users with few messages of the category that has rules,
// and many of another one, which these rules do not count.
//
// The first user has 9 a day for a year, and in every week one of the category, which
// may have one a week: a search finds nothing in a year. The second one has 26,500
// within a year, and rules look at a year.
func measureCategories(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	weekly, err := newCategoryUser(s, "weekly", "1/calendar_week", "1/minute", "20/calendar_day")
	if err != nil {
		return nil, err
	}
	yearly, err := newCategoryUser(s, "yearly", "5/365d", "20/minute")
	if err != nil {
		return nil, err
	}
	start := time.Now().Add(2 * time.Minute).Truncate(time.Minute)
	if err := errors.Join(
		weekly.fill(ctx, s, common, evenly(start.Add(time.Hour), day/dailyOfCommon, 364*dailyOfCommon)),
		weekly.fill(ctx, s, rare, evenly(start, 7*day, 53)),
		yearly.fill(ctx, s, common, evenly(start, 364*day/time.Duration(size.category), size.category)),
		yearly.fill(ctx, s, rare, evenly(start.Add(time.Hour), 70*day, 4)),
	); err != nil {
		return nil, err
	}

	middle := start.Add(year/2 + 30*time.Minute)
	n := min(20, size.reserves/10)
	week := []*side{weekly.taking(start), weekly.checking(common, middle, true), weekly.checking(rare, middle, false)}
	if err := s.interleave(ctx, size.slices, n, week...); err != nil {
		return nil, err
	}
	n = min(5, n)
	window := []*side{yearly.taking(start), yearly.checking(common, middle, true), yearly.checking(rare, middle, true)}
	if err := s.interleave(ctx, size.slices, n, window...); err != nil {
		return nil, err
	}
	if err := yearly.fill(ctx, s, rare, []time.Time{middle.Add(time.Hour)}); err != nil {
		return nil, err
	}
	full := yearly.checking(rare, middle, false)
	if err := s.interleave(ctx, size.slices, n, full); err != nil {
		return nil, err
	}

	return []row{
		state("category-week",
			"Redis time of a refusal with both free times, for a category with 1 a week, booked out for a year, beside 9 others a day",
			fmt.Sprintf("%.2f ms", week[2].micros()/1000), "refusal "+week[2].timing(),
			"Check of another category "+week[1].timing(), "Reserve of another category "+week[0].timing()),
		state("category-window",
			fmt.Sprintf("the same for a category with 5 a year, which is full, beside %d others in that year", size.category),
			fmt.Sprintf("%.2f ms", full.micros()/1000), "refusal "+full.timing(), "Check with room for one "+window[2].timing(),
			"Check of another category "+window[1].timing(), "Reserve of another category "+window[0].timing()),
	}, nil
}

// categoryUser is a user under a policy with a rule for the category `rare`.
type categoryUser struct {
	name     string
	timeline *sendlimit.Timeline
}

func newCategoryUser(s *store, name, own string, rules ...string) (*categoryUser, error) {
	p, err := policy.Parse(name, "", rules...)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	rule, err := policy.ParseRule(own)
	if err != nil {
		return nil, fmt.Errorf("rule of a category: %w", err)
	}
	p.Reach, p.UnknownCategories = 360*day, policy.AllowUnknown
	p.Categories = map[string]policy.CategoryRules{rare: {Rules: []policy.Rule{rule}}}
	u := &categoryUser{name: name}
	u.timeline, err = newRecordTimeline(s.client, p)
	return u, err
}

func newRecordTimeline(client redis.Scripter, p policy.Policy) (*sendlimit.Timeline, error) {
	rules, err := sendlimit.NewRules(p)
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{Rules: rules, Records: true})
	if err != nil {
		return nil, fmt.Errorf("timeline: %w", err)
	}
	return timeline, nil
}

// fill takes places under rules that allow them all.
func (u *categoryUser) fill(ctx context.Context, s *store, category string, times []time.Time) (err error) {
	roomy, err := policy.Parse("roomy", "", "1000/minute")
	if err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	batched, err := s.filling()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, batched.Close()) }()
	timeline, err := newRecordTimeline(batched, roomy)
	if err != nil {
		return err
	}
	_, err = drive(ctx, len(times), func(ctx context.Context, i int) error {
		return reserve(ctx, timeline, u.request(category, times[i]))
	})
	return err
}

func (u *categoryUser) request(category string, at time.Time) sendlimit.Request {
	r := withRecords([]sendlimit.Request{{User: u.name, ID: newID(), At: at, Category: category}})[0]
	r.Record.Category = category
	return r
}

// taking takes places of the category `common` that no rule refuses, a day apart.
func (u *categoryUser) taking(from time.Time) *side {
	next := from.Add(2 * time.Hour)
	return just(func(n int) operation {
		requests := make([]sendlimit.Request, n)
		for i := range requests {
			requests[i] = u.request(common, next)
			if next = next.Add(day); next.After(from.Add(350 * day)) {
				next = next.Add(time.Minute - 350*day)
			}
		}
		return func(ctx context.Context, i int) error { return reserve(ctx, u.timeline, requests[i]) }
	})
}

// checking asks whether a message of a category may be sent at a time.
func (u *categoryUser) checking(category string, at time.Time, allowed bool) *side {
	return just(func(int) operation {
		return func(ctx context.Context, _ int) error {
			d, err := u.timeline.Check(ctx, u.request(category, at))
			if err != nil {
				return fmt.Errorf("check: %w", err)
			}
			if d.Allowed != allowed {
				return fmt.Errorf("check: %+v, where allowed should be %t", d, allowed)
			}
			return nil
		}
	})
}

// evenly returns n times from a time on.
func evenly(from time.Time, gap time.Duration, n int) []time.Time {
	times := make([]time.Time, n)
	for i := range times {
		times[i] = from.Add(time.Duration(i) * gap)
	}
	return times
}
