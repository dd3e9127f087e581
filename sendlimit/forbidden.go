package sendlimit

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// ForbiddenRequest asks which send times of [From, To) are not free for a message of a category.
type ForbiddenRequest struct {
	User     string
	Category string // its rules are added to the overall ones; "" for none
	// ID is a message of the user whose own place does not count, as for a move; "" for a new
	// message. Category must be the message's.
	ID string
	// From and To are required, and cut to the millisecond. From may be up to the year 9997. To
	// must be after From, by at most MaxUsageSpan.
	From, To time.Time
	Now      time.Time // as in Request
}

// Forbidden is the answer to Timeline.Forbidden.
type Forbidden struct {
	// Stretches are the forbidden times with their reasons, ascending by From. Stretches with
	// different reasons may overlap. Stretches with the same reason neither overlap nor touch.
	Stretches []ForbiddenStretch
	// Blocked reports that the user is blocked, OptedOut that the user does not want messages of
	// the category. Then no time is free, not even outside the stretches.
	Blocked, OptedOut bool
	// Latest is the last send time that is accepted now.
	Latest time.Time
	Now    time.Time
}

// ForbiddenStretch is a stretch of send times that are forbidden for one reason. It is clipped to
// the span of the request and has whole milliseconds: both its first and its last millisecond are
// forbidden.
type ForbiddenStretch struct {
	calendar.Stretch

	// Code is CodeSendLimit, CodeQuietHours, CodeDoNotDisturb or CodeTooManyPlaces.
	Code fault.Code
	// Rule is the rule that a message would break, with CodeSendLimit, and Category the category
	// that it counts; "" for all.
	Rule     policy.Rule
	Category string
	// Quiet is the entry of the policy that makes the time quiet, with CodeQuietHours:
	// "22:00-08:00", "only mon-fri 10:00-18:00" or "blackout 12-25". If several apply it is the
	// first, as in Decision.Quiet.
	Quiet string
}

// Forbidden returns which send times of a span are forbidden, and why. A time that is in no stretch
// breaks no rule, is not quiet, and its day has room: Check, or a Move with Check, allows it. The
// present time of the message ID is an exception: Move accepts it whatever the rules say, but here
// it is judged as any other.
//
// It judges only by places. It does not know whether a time is past or too far ahead (see
// Forbidden.Latest), when the message expires, what throttles have left, whether the policy refuses
// the category, or what prevents a move. Around past times, places may be missing that are too old
// to count for future times.
//
// It reads the places in as many calls as necessary, and others may submit, move and cancel between
// them. So show the answer to people, but do not rely on it: Reserve and Move decide.
func (t *Timeline) Forbidden(ctx context.Context, r ForbiddenRequest) (Forbidden, error) {
	if err := r.check(); err != nil {
		return Forbidden{}, err
	}
	s := &placesSearch{
		timeline: t, user: r.User, category: r.Category, id: r.ID, asked: r.Now, from: r.From.UnixMilli(), until: r.To.UnixMilli(),
	}
	if err := s.read(ctx); err != nil {
		return Forbidden{}, err
	}
	return Forbidden{
		Stretches: s.stretches(), Now: s.now, Latest: s.now.Add(s.by.Rules.Reach(t.options.Reach)),
		Blocked: s.by.Blocked, OptedOut: s.by.Rules.Scope(r.Category).OptedOut,
	}, nil
}

func (r ForbiddenRequest) check() error {
	if err := keyspace.CheckUser(r.User); err != nil {
		return err
	}
	if r.ID != "" {
		if err := keyspace.CheckID(r.ID); err != nil {
			return err
		}
	}
	switch {
	case r.From.IsZero():
		return &fault.InvalidError{Field: "from", Want: "a time"}
	case r.To.IsZero():
		return &fault.InvalidError{Field: "until", Want: "a time"}
	}
	span := UsageRequest{From: r.From, To: r.To}
	if err := span.checkYears(); err != nil {
		return err
	}
	return span.checkSpan()
}

// stretches returns the forbidden times of the span with their reasons, after all places were read.
func (s *placesSearch) stretches() []ForbiddenStretch {
	var found reasons
	for _, p := range s.parts {
		found.add(p, ForbiddenStretch{Code: fault.CodeDoNotDisturb}, p.from, p.scope.DisturbsUntil())
		for number := 1; number <= p.scope.Count(); number++ {
			rule, category := p.scope.Rule(number)
			why := ForbiddenStretch{Code: fault.CodeSendLimit, Rule: rule, Category: category}
			times := s.times(category, math.MinInt64, math.MaxInt64)
			if rule.Calendar() {
				found.addFull(p, why, times, rule.Limit, func(at int64) (int64, int64) { return p.zone.PeriodAt(rule.Period, at) })
			} else {
				found.addSliding(p, why, times)
			}
		}
		for _, quiet := range p.scope.QuietLinesWithin(p.from, p.until) {
			found.add(p, ForbiddenStretch{Code: fault.CodeQuietHours, Quiet: quiet.Hours}, quiet.From.UnixMilli(), quiet.Until.UnixMilli())
		}
		times := since(s.reads[p.scope.Places(s.timeline.keys, s.user)].times, s.now.Add(-s.by.Book.Keep).UnixMilli())
		found.addFull(p, ForbiddenStretch{Code: fault.CodeTooManyPlaces}, times, s.timeline.options.PlacesPerDay, func(at int64) (int64, int64) {
			return startOfDay(at), startOfDay(at) + dayMs
		})
	}
	return found.list()
}

// reasons collects stretches by reason, in the order in which the reasons were added.
type reasons struct {
	order []ForbiddenStretch // without a Stretch
	spans map[ForbiddenStretch][]calendar.Stretch
}

// add adds the part of [from, until), Unix ms, that is in part p of the span. Calls with the same
// reason must be in the order of time.
func (r *reasons) add(p rulesPart, why ForbiddenStretch, from, until int64) {
	if from, until = max(from, p.from), min(until, p.until); from >= until {
		return
	}
	s := calendar.Stretch{From: time.UnixMilli(from).UTC(), Until: time.UnixMilli(until).UTC()}
	if r.spans == nil {
		r.spans = make(map[ForbiddenStretch][]calendar.Stretch)
	}
	spans := r.spans[why]
	if spans == nil {
		r.order = append(r.order, why)
	}
	if last := len(spans) - 1; last >= 0 && !s.From.After(spans[last].Until) {
		if s.Until.After(spans[last].Until) {
			spans[last].Until = s.Until
		}
		return
	}
	r.spans[why] = append(spans, s)
}

// addSliding adds the times that a sliding rule forbids. Each group of `limit` neighbours that is
// shorter than the window forbids an open interval: from its last place minus the window to its
// first place plus the window.
func (r *reasons) addSliding(p rulesPart, why ForbiddenStretch, times []int64) {
	limit, window := why.Rule.Limit, why.Rule.Window.Milliseconds()
	for i := 0; i+limit <= len(times); i++ {
		first, last := times[i], times[i+limit-1]
		if last-first < window {
			r.add(p, why, last-window+1, first+window)
		}
	}
}

// addFull adds the periods with at least `limit` places.
func (r *reasons) addFull(p rulesPart, why ForbiddenStretch, times []int64, limit int, period func(at int64) (from, until int64)) {
	first, _ := period(p.from)
	i, _ := slices.BinarySearch(times, first)
	for i < len(times) {
		from, until := period(times[i])
		if from >= p.until {
			return
		}
		n, _ := slices.BinarySearch(times[i:], until)
		if n >= limit {
			r.add(p, why, from, until)
		}
		i += n
	}
}

// list returns the stretches of all reasons by From.
func (r *reasons) list() []ForbiddenStretch {
	var all []ForbiddenStretch
	for _, why := range r.order {
		for _, why.Stretch = range r.spans[why] {
			all = append(all, why)
		}
	}
	slices.SortStableFunc(all, func(a, b ForbiddenStretch) int { return a.From.Compare(b.From) })
	return all
}
