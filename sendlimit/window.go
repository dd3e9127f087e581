package sendlimit

import (
	"context"
	"errors"
	"time"

	"github.com/sendlimit/sendlimiter/internal/judge"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Window asks for a free time from From on and before Until. The reach of send times shortens it.
type Window struct {
	From, Until time.Time
	Prefer      policy.Prefer
	Near        time.Time // for PreferNearest; zero for the others
}

// check returns an *InvalidError for an invalid window, or a request that has a send time beside it.
func (w Window) check(r Request) error {
	if err := w.Prefer.Check(); err != nil {
		return err
	}
	switch {
	case !r.At.IsZero() || r.Shift || r.ByPolicy || !r.ShiftUntil.IsZero() || !r.SearchFrom.IsZero():
		return &fault.InvalidError{Field: "window", Value: w.From.String(), Want: "a window without a send time and a shift"}
	case w.From.IsZero() || w.Until.UnixMilli() <= w.From.UnixMilli():
		return &fault.InvalidError{Field: "until", Value: w.Until.String(), Want: "a time after the begin of the window"}
	case w.Near.IsZero() == (w.Prefer == policy.PreferNearest):
		return &fault.InvalidError{Field: "near", Value: w.Near.String(), Want: "a time with nearest, and none without"}
	}
	return nil
}

// windowTries bounds how often others may take the times that a search has found.
const windowTries = 8

// windowSearch takes a time of a window by requests for single times and for shifts.
type windowSearch struct {
	request     Request // of a single time
	window      Window
	from, until time.Time
	rules       *judge.Rules
	reserve     func(context.Context, Request) (Decision, error)
}

// InWindow calls reserve for times of the request's Window until it takes one, or until none is free.
// It is how Reserve and Check judge a window: use it with another reserve that also observes other
// limits, such as quotas. Each request for it has a send time, maybe with a shift, and no Window. A
// refusal by reserve has to name the next and the previous free time.
//
// A refusal is about the first time of the window, with Decision.AtEnd for the last one. Its free
// times are outside the window. A decision has no RequestedAt, and is not Shifted. PreferEarliest,
// PreferSpread and PreferBest ignore the policy's ShiftSpread.
//
// PreferBest draws by the user's last known settings. If reserve finds others, its error has
// ErrOtherHours in its chain, and InWindow draws again.
func (t *Timeline) InWindow(ctx context.Context, r Request, reserve func(context.Context, Request) (Decision, error)) (Decision, error) {
	w := *r.Window
	if err := w.check(r); err != nil {
		return Decision{}, err
	}
	s := windowSearch{
		request: r, window: w, from: w.From.UTC().Truncate(time.Millisecond), until: w.Until.UTC().Truncate(time.Millisecond),
		rules: t.rules, reserve: reserve,
	}
	s.request.Window, s.request.before, s.request.WithoutFreeTimes, s.request.WithoutSpread = nil, s.until, false, true
	var err error
	for range windowTries {
		var d Decision
		d, err = s.take(ctx)
		if err == nil && d.Code.Shiftable() {
			d, err = s.refusal(ctx)
		}
		d.RequestedAt, d.Shifted = time.Time{}, false
		switch {
		case errors.Is(err, ErrOtherHours):
		case err != nil || d.Allowed:
			return d, err
		case d.Code == fault.CodeTooFarAhead && !d.Latest.Before(s.from):
			s.until = d.Latest.Add(time.Millisecond)
		case d.Code != "":
			switch {
			case d.Code == fault.CodeInPast:
				d.At = s.until.Add(-time.Millisecond)
			case !d.Code.Shiftable():
				d.At = s.from
			}
			return d, nil
		}
	}
	if err != nil {
		return Decision{}, err
	}
	return Decision{}, &fault.UnavailableError{Detail: "others keep taking the free times of the window: try again in a moment"}
}

// take takes the preferred time. The zero Decision says that another message took it meanwhile. A
// refusal with a Shiftable code says that no time is free.
func (s *windowSearch) take(ctx context.Context) (Decision, error) {
	last := s.until.Add(-time.Millisecond)
	var d Decision
	var err error
	switch s.window.Prefer {
	case policy.PreferLatest:
		d, err = s.near(ctx, last)
	case policy.PreferNearest:
		near := s.window.Near.UTC().Truncate(time.Millisecond)
		if near.Before(s.from) {
			near = s.from
		}
		if near.After(last) {
			near = last
		}
		if d, err = s.near(ctx, near); d.Code == fault.CodeInPast { // so the first free one is the nearest
			d, err = s.shift(ctx, s.from, last)
		}
	case policy.PreferSpread, policy.PreferBest:
		start := s.draw()
		if d, err = s.shift(ctx, start, last); d.Code.Shiftable() && start.After(s.from) && start.After(d.Now) {
			d, err = s.shift(ctx, s.from, start.Add(-time.Millisecond))
		}
	default:
		d, err = s.shift(ctx, s.from, last)
	}
	if d.Code == fault.CodeIDReused && s.request.Record == nil { // maybe its own place
		d, err = s.shift(ctx, s.from, last)
	}
	return d, err
}

// draw returns where the search of a spread begins.
func (s *windowSearch) draw() time.Time {
	var best judge.BestHours
	if s.window.Prefer == policy.PreferBest {
		best = s.rules.Book().Of(s.request.User).Best()
		s.request.best = &best
	}
	return time.UnixMilli(best.Draw(s.from.UnixMilli(), s.until.UnixMilli(), s.request.shift().Key())).UTC()
}

// shift takes the first free time from a time on, to a last one.
func (s *windowSearch) shift(ctx context.Context, from, last time.Time) (Decision, error) {
	r := s.request
	r.At, r.Shift, r.ShiftUntil = from, true, last
	d, err := s.reserve(ctx, r)
	if err == nil && d.Code == fault.CodeInPast && d.Now.Before(s.until) {
		r.At = time.Time{}
		d, err = s.reserve(ctx, r)
	}
	return d, err
}

// near takes a time, or else the free time of the window that is nearest to it.
func (s *windowSearch) near(ctx context.Context, at time.Time) (Decision, error) {
	r := s.request
	r.At = at
	d, err := s.reserve(ctx, r)
	if err != nil || !d.Code.Shiftable() {
		return d, err
	}
	later, earlier := d.NextFree, d.PreviousFree
	if !later.Before(s.until) {
		later = time.Time{}
	}
	if earlier.Before(s.from) {
		earlier = time.Time{}
	}
	switch {
	case later.IsZero() && earlier.IsZero():
		return d, nil
	case earlier.IsZero() || !later.IsZero() && later.Sub(at) < at.Sub(earlier):
		r.At = later
	default:
		r.At = earlier
	}
	d, err = s.reserve(ctx, r)
	if d.Code.Shiftable() || d.Code == fault.CodeInPast && d.Now.Before(s.until) {
		return Decision{}, err
	}
	return d, err
}

// refusal returns the decision about a window without a free time. If one of its ends has become free
// meanwhile, the message gets that.
func (s *windowSearch) refusal(ctx context.Context) (Decision, error) {
	r := s.request
	r.At = s.until.Add(-time.Millisecond)
	end, err := s.reserve(ctx, r)
	if err != nil || !end.Code.Shiftable() {
		return end, err
	}
	if r.At = s.from; !s.from.After(end.Now) {
		r.At = time.Time{}
	}
	d, err := s.reserve(ctx, r)
	if err == nil && d.Code.Shiftable() {
		end.RequestedAt = time.Time{}
		d.NextFree, d.AtEnd = end.NextFree, &end
	}
	return d, err
}

// inTime returns the decision about a time of a window, or CodeInPast if the window has passed. The
// grace for times that have just passed does not reach beyond the window, nor does a replay without a
// record.
func (r Request) inTime(d Decision, err error) (Decision, error) {
	switch {
	case err != nil || r.before.IsZero() || d.Code == fault.CodeIDReused:
	case d.Replayed && r.Record == nil && !d.At.Before(r.before):
		return Decision{Code: fault.CodeIDReused, Now: d.Now}, nil
	case !d.Replayed && !d.Now.Before(r.before):
		return Decision{Code: fault.CodeInPast, Now: d.Now}, nil
	}
	return d, err
}

// bounds returns the bounds of a place by the hold and the window, as Hold.bounds does.
func (r Request) bounds() string {
	if r.before.IsZero() {
		return r.Hold.bounds()
	}
	var h Hold
	if r.Hold != nil {
		h = *r.Hold
	}
	if h.Until.IsZero() || r.before.Before(h.Until) {
		h.Until = r.before
	}
	return h.bounds()
}
