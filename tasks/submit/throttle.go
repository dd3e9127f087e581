package submit

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/quota"
	"github.com/sendlimit/sendlimiter/tasks/internal/payers"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// throttled answers for a message whose throttle has no messages left in the period of to.
// A shift goes on at the returned place; otherwise that is zero, and the decision is the
// answer. Some answers come before the throttle, as before the quota. A rule that the
// message would break comes after it.
func (c *chargedReserve) throttled(
	ctx context.Context, r sendlimit.Request, to aim, refused quota.Charge,
) (next aim, d sendlimit.Decision, err error) {
	d, err = c.judge.Check(ctx, r)
	if err != nil || (!d.Allowed || d.Replayed) && d.Code != fault.CodeSendLimit {
		return aim{}, d, err
	}
	if c.rules.Throttle(r.User, r.Category) != c.asked {
		return to, d, nil // the check has found that another policy is the user's
	}
	free, err := c.nextFree(ctx, r, to.at, refused.Now)
	if err != nil {
		return aim{}, d, err
	}
	if c.shifts(r) && !free.IsZero() && (r.ShiftUntil.IsZero() || !free.After(r.ShiftUntil)) {
		return aim{at: free, from: free}, d, nil
	}
	c.refused = refused
	return aim{}, throttledDecision(r, refused, free), nil
}

// shifts reports whether a request takes another time than the one that it asks for.
func (c *chargedReserve) shifts(r sendlimit.Request) bool { return shifts(c.rules, r) }

func shifts(rules *sendlimit.Rules, r sendlimit.Request) bool {
	return r.Shift || r.ByPolicy && rules.Of(r.User).OnConflict == policy.Shift
}

// throttledDecision returns the decision about a message whose throttle is used up.
func throttledDecision(r sendlimit.Request, refused quota.Charge, free time.Time) sendlimit.Decision {
	d := sendlimit.Decision{Code: fault.CodeThrottled, At: refused.At, Now: refused.Now, NextFree: free}
	if !r.At.IsZero() && !d.At.Equal(r.At) {
		d.RequestedAt = r.At
	}
	return d
}

// free completes a refusal for a message that has a throttle: its free times are those at
// which the throttle has messages left, too.
func (c *chargedReserve) free(ctx context.Context, r sendlimit.Request, d sendlimit.Decision) (sendlimit.Decision, error) {
	throttle := c.rules.Throttle(r.User, r.Category)
	if !takenOrQuiet(d) || throttle.IsZero() {
		return d, nil
	}
	search := throttleSearch{c.holder, c.judge, c.rules}
	return search.correct(ctx, r, d)
}

func (c *chargedReserve) nextFree(ctx context.Context, r sendlimit.Request, from, now time.Time) (time.Time, error) {
	return throttleSearch{c.holder, c.judge, c.rules}.next(ctx, r, from, now)
}

// throttleSearch looks for times at which a throttle has messages left and the rules of the
// user allow the message. It goes from the one's next free time to the other's.
type throttleSearch struct {
	opens opener
	judge checker
	rules *sendlimit.Rules
}

// opener knows when a throttle has messages left.
type opener interface {
	NextOpen(ctx context.Context, t policy.NamedThrottle, from, until time.Time) (time.Time, error)
}

// checker knows what the rules of a user allow.
type checker interface {
	Check(ctx context.Context, r sendlimit.Request) (sendlimit.Decision, error)
}

// next returns the first such time from a time on; zero for none. It changes nothing.
func (s throttleSearch) next(ctx context.Context, r sendlimit.Request, from, now time.Time) (time.Time, error) {
	throttle := s.rules.Throttle(r.User, r.Category)
	if throttle.IsZero() {
		return time.Time{}, nil
	}
	last := now.Add(cmp.Or(s.rules.Of(r.User).Reach, policy.DefaultReach))
	for {
		open, err := s.opens.NextOpen(ctx, throttle, from, last)
		if err != nil || open.IsZero() {
			return time.Time{}, err
		}
		r.At, r.Shift, r.ByPolicy, r.ShiftUntil = open, true, false, time.Time{}
		d, err := s.judge.Check(ctx, r)
		switch {
		case err != nil || !d.Allowed || d.Replayed:
			return time.Time{}, err
		case throttle.Around(d.At) == throttle.Around(open):
			return d.At, nil
		}
		from = d.At
	}
}

// correct replaces the free times of a refusal.
func (s throttleSearch) correct(ctx context.Context, r sendlimit.Request, d sendlimit.Decision) (sendlimit.Decision, error) {
	var err error
	if !d.NextFree.IsZero() {
		if d.NextFree, err = s.next(ctx, r, d.NextFree, d.Now); err != nil {
			return d, err
		}
	}
	if !d.PreviousFree.IsZero() {
		d.PreviousFree, err = s.opens.NextOpen(ctx, s.rules.Throttle(r.User, r.Category), d.PreviousFree, d.PreviousFree)
	}
	return d, err
}

// checkThrottle returns what the throttle changes about the answer of a check, see
// chargedReserve.reserve.
func (s *Submitter) checkThrottle(
	ctx context.Context, r sendlimit.Request, t *sendlimit.Timeline, d sendlimit.Decision,
) (sendlimit.Decision, quota.Charge, error) {
	rules := s.Policies.Rules()
	throttle := rules.Throttle(r.User, r.Category)
	if throttle.IsZero() || d.Replayed || !d.Allowed && !takenOrQuiet(d) {
		return d, quota.Charge{}, nil
	}
	search := throttleSearch{s.charger, t, rules}
	if d.Code == fault.CodeQuietHours {
		d, err := search.correct(ctx, r, d)
		return d, quota.Charge{}, err
	}
	asked := r.At
	if asked.Before(d.Now) {
		asked = d.Now
	}
	judge := asked
	charge, err := s.charger.charges.CheckThrottle(ctx, throttle, judge, d.Now)
	if err == nil && charge.Allowed && d.Allowed && d.Shifted {
		judge = d.At
		charge, err = s.charger.charges.CheckThrottle(ctx, throttle, judge, d.Now)
	}
	switch {
	case err != nil:
		return d, charge, err
	case charge.Allowed && d.Allowed:
		return d, quota.Charge{}, nil
	case charge.Allowed:
		d, err = search.correct(ctx, r, d)
		return d, quota.Charge{}, err
	}
	free, err := search.next(ctx, r, judge, d.Now)
	if err != nil {
		return d, charge, err
	}
	if shifts(rules, r) && !free.IsZero() && (r.ShiftUntil.IsZero() || !free.After(r.ShiftUntil)) {
		return sendlimit.Decision{Allowed: true, At: free, RequestedAt: asked, Shifted: true, Now: d.Now}, quota.Charge{}, nil
	}
	return throttledDecision(r, charge, free), charge, nil
}

// explainThrottle completes the outcome of a message whose throttle is used up. Another
// charge changes nothing.
func explainThrottle(o *message.Outcome, category string, refused quota.Charge, p payers.Payer) {
	p.Quota(o, refused)
	if refused.Code != fault.CodeThrottled || o.Code != fault.CodeThrottled {
		return
	}
	used := refused.UsedUp
	minute := "15:04"
	if used.From.YearDay() != refused.Now.YearDay() || used.From.Year() != refused.Now.Year() {
		minute = "2006-01-02 15:04"
	}
	from, a := used.From.Format(minute), "a minute"
	if used.Counter.Period == calendar.Hour {
		from, a = from+" to "+used.Until.Format("15:04"), "an hour"
	}
	o.Detail = fmt.Sprintf("%s messages are limited to %d %s over all users, and %s scheduled for %s; %s",
		category, used.Counter.Limit, a, are(used.Used), from,
		otherTimes(sendlimit.Decision{At: refused.At, NextFree: o.NextFreeAt.Time}))
}

// are returns a number with its verb.
func are(n int64) string {
	if n == 1 {
		return "1 is"
	}
	return fmt.Sprintf("%d are", n)
}
