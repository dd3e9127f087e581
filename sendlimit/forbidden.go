package sendlimit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/internal/judge"
	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// ForbiddenRequest asks which send times of [From, To) are not free for a message of a
// category.
type ForbiddenRequest struct {
	User     string
	Category string // its rules are added to the overall ones; "" for none
	// ID is a message of the user whose own place does not count, as for a move; "" for a
	// new message. Category must be that of the message.
	ID string
	// From and To are required, and cut to the millisecond. From is up to the year 9997, To
	// after From, at most MaxUsageSpan.
	From, To time.Time
	Now      time.Time // as in Request
}

// Forbidden is the answer to Timeline.Forbidden.
type Forbidden struct {
	// Stretches are the forbidden times with their reasons, ascending by From. Those of
	// different reasons may overlap. Those of one reason neither overlap nor touch.
	Stretches []ForbiddenStretch
	// Blocked reports that the user is blocked, OptedOut that the user does not want messages
	// of the category. Then no time is free, also outside of the stretches.
	Blocked, OptedOut bool
	// Latest is the last send time that is accepted now.
	Latest time.Time
	Now    time.Time
}

// ForbiddenStretch is a stretch of send times that are forbidden for one reason. It is
// clipped to the span of the request and has whole milliseconds: both its first and its last
// millisecond are forbidden.
type ForbiddenStretch struct {
	calendar.Stretch

	// Code is CodeSendLimit, CodeQuietHours or CodeTooManyPlaces.
	Code fault.Code
	// Rule is the rule that a message would break, with CodeSendLimit, and Category the one
	// whose messages it counts; "" for all.
	Rule     policy.Rule
	Category string
	// Quiet has the hours as the policy has them, with CodeQuietHours: "22:00-08:00",
	// "only mon-fri 10:00-18:00" or "blackout 12-25". Of several that apply it is the first,
	// as in Decision.Quiet.
	Quiet string
}

// Forbidden returns which send times of a span are forbidden, and for what reason. A time
// that is in no stretch breaks no rule, is not quiet, and its day has room: Check, or a Move
// with Check, allows it. The present time of the message ID is an exception: Move accepts it
// whatever the rules say, and here it is judged as any other.
//
// It judges only by places. It does not know whether a time is past or too far ahead, see
// Forbidden.Latest; when the message expires; what throttles have left; whether the policy
// refuses the category; and what keeps a message from being moved. Places that are too old to
// count for a time from now on may be missing around past times.
//
// It reads the places in as many calls as necessary, and others may submit, move and cancel
// between them. So the answer is what to show, and no promise: Reserve and Move decide.
func (t *Timeline) Forbidden(ctx context.Context, r ForbiddenRequest) (Forbidden, error) {
	if err := r.check(); err != nil {
		return Forbidden{}, err
	}
	book, err := t.book()
	if err != nil {
		return Forbidden{}, err
	}
	s := &forbiddenSearch{timeline: t, request: r, from: r.From.UnixMilli(), until: r.To.UnixMilli()}
	call := judge.Call{Client: t.client, Script: lua.Times, Doing: "reading the places around forbidden times", User: r.User}
	for {
		answer, by, err := book.Run(ctx, call, s.arguments)
		if err != nil {
			return Forbidden{}, err
		}
		book = by.Book
		if err := s.read(script.Read(answer, call.Doing)); err != nil {
			return Forbidden{}, err
		}
		if len(s.unread) == 0 {
			return s.forbidden(by), nil
		}
	}
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
		return &fault.InvalidError{Field: "to", Want: "a time"}
	}
	span := UsageRequest{From: r.From, To: r.To}
	if err := span.checkYears(); err != nil {
		return err
	}
	return span.checkSpan()
}

// forbiddenSearch reads the places that matter to a span. Under other rules than before it
// starts anew.
type forbiddenSearch struct {
	timeline    *Timeline
	request     ForbiddenRequest
	from, until int64 // the span, Unix ms

	book    *judge.Rulebook
	version string // of the user's settings
	now     time.Time
	parts   []forbiddenPart
	unread  []*placesRead
	reads   map[string]*placesRead // by key
}

// forbiddenPart is a part of the span with rules of its own.
type forbiddenPart struct {
	from, until int64 // Unix ms
	scope       *judge.Scope
	zone        *calendar.ZoneTable // of its calendar rules; nil without rules
}

// placesRead has the times in [from, until) of the places under a key, as far as they are
// read.
type placesRead struct {
	key         string
	from, until int64   // Unix ms
	times       []int64 // ascending
	next, same  int64   // where the next call continues: a time, and how many of it were read
}

// arguments returns the keys and arguments of the next call.
func (s *forbiddenSearch) arguments(by judge.UserRules) ([]string, []any) {
	if s.book != by.Book || s.version != by.Version || s.reads == nil {
		s.start(by)
	}
	t, next := s.timeline, s.unread[0]
	about := t.about(s.request.Now, s.request.From, by.Rules.Scope(s.request.Category))
	return []string{next.key, t.settings(s.request.User)},
		append(by.Arguments(about, 4), next.next, next.same, next.until, s.request.ID)
}

// start notes what is to be read under the rules.
func (s *forbiddenSearch) start(by judge.UserRules) {
	s.book, s.version, s.now = by.Book, by.Version, time.Time{}
	s.parts, s.unread, s.reads = nil, nil, make(map[string]*placesRead)
	for _, p := range by.Parts() {
		part := forbiddenPart{from: s.from, until: s.until, scope: p.Rules.Scope(s.request.Category)}
		if !p.From.IsZero() {
			part.from = max(part.from, p.From.UnixMilli())
		}
		if !p.Until.IsZero() {
			part.until = min(part.until, p.Until.UnixMilli())
		}
		if part.from >= part.until {
			continue
		}
		if part.scope.Count() > 0 {
			part.zone = part.scope.Zone(s.request.From)
		}
		s.parts = append(s.parts, part)
		s.plan(part)
	}
}

// plan notes what is to be read for a part of the span.
func (s *forbiddenSearch) plan(p forbiddenPart) {
	last := p.until - 1
	s.need(s.placesOf(p.scope), startOfDay(p.from), startOfDay(last)+dayMs)
	for number := 1; number <= p.scope.Count(); number++ {
		rule, category := p.scope.Rule(number)
		from, until := p.from-rule.Window.Milliseconds()+1, last+rule.Window.Milliseconds()
		if rule.Calendar() {
			from, _ = p.zone.PeriodAt(rule.Period, p.from)
			_, until = p.zone.PeriodAt(rule.Period, last)
		}
		s.need(s.counted(category), from, until)
	}
}

// need notes that the places in [from, until) under a key are to be read.
func (s *forbiddenSearch) need(key string, from, until int64) {
	read := s.reads[key]
	if read == nil {
		read = &placesRead{key: key, from: from, until: until}
		s.reads[key], s.unread = read, append(s.unread, read)
	}
	read.from, read.until = min(read.from, from), max(read.until, until)
	read.next = read.from
}

// counted returns the key of the places that rules count, of a category or "" for all.
func (s *forbiddenSearch) counted(category string) string {
	if category == "" {
		return s.timeline.keys.Timeline(s.request.User)
	}
	return s.timeline.keys.Category(s.request.User, category)
}

// placesOf returns the key of the places that are bounded together with those of a scope.
func (s *forbiddenSearch) placesOf(c *judge.Scope) string {
	return c.Places(s.timeline.keys, s.request.User)
}

// read adds the answer of a call, see lua/place/times.lua.
func (s *forbiddenSearch) read(in *script.ReplyReader) error {
	now, next, same := in.Time(0), in.Int(1), in.Int(2)
	s.now = cmp.Or(s.now, now)
	of := s.unread[0]
	earliest := of.next
	for i := 3; i < len(in.Reply); i++ {
		time := in.Int(i)
		if in.Err == nil && (time < earliest || time >= of.until) {
			in.Fail(i, "a later time of the span")
		}
		earliest, of.times = time, append(of.times, time)
	}
	switch {
	case in.Err != nil:
		return in.Err
	case next == 0:
		s.unread = s.unread[1:]
	case next == of.next && same == of.same:
		return script.ReplyError(in.Doing, fmt.Sprintf("the next call would start at the same place, at %d", next))
	default:
		of.next, of.same = next, same
	}
	return nil
}

// forbidden returns the answer, once all places are read.
func (s *forbiddenSearch) forbidden(by judge.UserRules) Forbidden {
	f := Forbidden{
		Blocked: by.Blocked, OptedOut: by.Rules.Scope(s.request.Category).OptedOut,
		Now: s.now, Latest: s.now.Add(by.Rules.Reach(s.timeline.options.Reach)),
	}
	var found reasons
	for _, p := range s.parts {
		for number := 1; number <= p.scope.Count(); number++ {
			rule, category := p.scope.Rule(number)
			why := ForbiddenStretch{Code: fault.CodeSendLimit, Rule: rule, Category: category}
			times := since(s.reads[s.counted(category)].times, s.now.Add(-by.Keep(s.now)))
			if rule.Calendar() {
				found.addFull(p, why, times, rule.Limit, func(at int64) (int64, int64) { return p.zone.PeriodAt(rule.Period, at) })
			} else {
				found.addSliding(p, why, times)
			}
		}
		for _, quiet := range p.scope.QuietLinesWithin(p.from, p.until) {
			found.add(p, ForbiddenStretch{Code: fault.CodeQuietHours, Quiet: quiet.Hours}, quiet.From.UnixMilli(), quiet.Until.UnixMilli())
		}
		times := since(s.reads[s.placesOf(p.scope)].times, s.now.Add(-by.Book.Keep))
		found.addFull(p, ForbiddenStretch{Code: fault.CodeTooManyPlaces}, times, s.timeline.options.PlacesPerDay, func(at int64) (int64, int64) {
			return startOfDay(at), startOfDay(at) + dayMs
		})
	}
	f.Stretches = found.list()
	return f
}

// since returns the times from a time on.
func since(times []int64, from time.Time) []int64 {
	i, _ := slices.BinarySearch(times, from.UnixMilli())
	return times[i:]
}

const dayMs = int64(calendar.DayLong / time.Millisecond)

// startOfDay returns the start of the day of UTC that a time is in, Unix ms.
func startOfDay(at int64) int64 {
	from, _ := calendar.NaturalPeriod(calendar.Day, at)
	return from
}

// reasons collects stretches by their reasons, in the order in which the reasons came.
type reasons struct {
	order []ForbiddenStretch // without a Stretch
	spans map[ForbiddenStretch][]calendar.Stretch
}

// add adds [from, until), Unix ms, as far as it is in a part of the span. Those of one reason
// come in the order of time.
func (r *reasons) add(p forbiddenPart, why ForbiddenStretch, from, until int64) {
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

// addSliding adds what a sliding rule forbids: each group of `limit` neighbours that is
// shorter than the window forbids the open interval from its last place less the window to
// its first place and the window.
func (r *reasons) addSliding(p forbiddenPart, why ForbiddenStretch, times []int64) {
	limit, window := why.Rule.Limit, why.Rule.Window.Milliseconds()
	for i := 0; i+limit <= len(times); i++ {
		first, last := times[i], times[i+limit-1]
		if last-first < window {
			r.add(p, why, last-window+1, first+window)
		}
	}
}

// addFull adds the periods with `limit` places or more.
func (r *reasons) addFull(p forbiddenPart, why ForbiddenStretch, times []int64, limit int, period func(at int64) (from, until int64)) {
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
