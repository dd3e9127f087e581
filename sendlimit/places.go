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
)

// placesSearch reads the places that the rules count around a time and in a span. Usage and
// Forbidden explain them to people; the scripts in lua/judge decide. It reads in as many calls as
// necessary, and starts again if the rules change.
type placesSearch struct {
	timeline *Timeline
	user     string
	category string    // whose rules apply; "" for none
	id       string    // a message whose place does not count; "" for none
	asked    time.Time // as in Request.Now
	usage    bool      // whether to read the places that count at the time `at`
	at       int64     // Unix ms; 0 for now
	// The span, Unix ms; equal for none.
	from, until int64

	by     judge.UserRules
	now    time.Time
	parts  []rulesPart
	around *judge.Scope // rules at the time `at`
	unread []*placesRead
	reads  map[string]*placesRead // by key
}

// rulesPart is a part of the span in which the rules do not change.
type rulesPart struct {
	from, until int64 // Unix ms
	scope       *judge.Scope
	zone        *calendar.ZoneTable // for the calendar rules
}

// placesRead has the times in [from, until) of the places under a key, as far as they were read.
type placesRead struct {
	key         string
	from, until int64   // Unix ms
	times       []int64 // ascending
	next, same  int64   // where the next call continues: a time, and how many places at it were read
}

// read reads all places that matter.
func (s *placesSearch) read(ctx context.Context) error {
	book, err := s.timeline.book()
	if err != nil {
		return err
	}
	call := judge.Call{Client: s.timeline.client, Script: lua.Times, Doing: "reading the places of a user", User: s.user}
	for first := true; first || len(s.unread) > 0; first = false {
		answer, by, err := book.Run(ctx, call, s.arguments)
		if err != nil {
			return err
		}
		book = by.Book
		if err := s.add(script.Read(answer, call.Doing)); err != nil {
			return err
		}
	}
	return nil
}

// arguments returns the keys and arguments of the next call.
func (s *placesSearch) arguments(by judge.UserRules) ([]string, []any) {
	if s.by.Book != by.Book || s.by.Version != by.Version || s.reads == nil {
		s.by, s.now = by, time.Time{}
		if !s.asked.IsZero() {
			s.now = time.UnixMilli(s.asked.UnixMilli()).UTC()
		}
		s.plan()
	}
	next := &placesRead{key: s.timeline.keys.Timeline(s.user)} // reads only the server's time
	if len(s.unread) > 0 {
		next = s.unread[0]
	}
	about := s.timeline.about(s.asked, s.asked, by.Rules.Scope(s.category))
	return []string{next.key, s.timeline.settings(s.user)}, append(by.Arguments(about, 4), next.next, next.same, next.until, s.id)
}

// plan lists the places to read, once the time is known.
func (s *placesSearch) plan() {
	s.parts, s.around, s.unread, s.reads = nil, nil, nil, make(map[string]*placesRead)
	at := s.at
	if at == 0 && !s.now.IsZero() {
		at = s.now.UnixMilli()
	}
	if s.usage && at == 0 {
		return // the first call returns the server's time
	}
	for _, p := range s.by.Parts() {
		part := rulesPart{from: s.from, until: s.until, scope: p.Rules.Scope(s.category)}
		part.zone = part.scope.Zone(time.UnixMilli(s.from))
		here := s.usage
		if !p.From.IsZero() {
			part.from, here = max(part.from, p.From.UnixMilli()), here && at >= p.From.UnixMilli()
		}
		if !p.Until.IsZero() {
			part.until, here = min(part.until, p.Until.UnixMilli()), here && at < p.Until.UnixMilli()
		}
		if here {
			s.around = part.scope
			s.need(rulesPart{from: at, until: at + 1, scope: part.scope, zone: part.scope.Zone(time.UnixMilli(at))})
		}
		if part.from < part.until {
			s.parts = append(s.parts, part)
			s.need(part)
			s.needPlaces(part.scope.Places(s.timeline.keys, s.user), startOfDay(part.from), startOfDay(part.until-1)+dayMs)
		}
	}
}

// need adds the places that the rules of a part count to the list of places to read.
func (s *placesSearch) need(p rulesPart) {
	last := p.until - 1
	for number := 1; number <= p.scope.Count(); number++ {
		rule, category := p.scope.Rule(number)
		from, until := p.from-rule.Window.Milliseconds()+1, last+rule.Window.Milliseconds()
		if rule.Calendar() {
			from, _ = p.zone.PeriodAt(rule.Period, p.from)
			_, until = p.zone.PeriodAt(rule.Period, last)
		}
		s.needPlaces(s.counted(category), from, until)
	}
}

// needPlaces adds the places in [from, until) under a key to that list.
func (s *placesSearch) needPlaces(key string, from, until int64) {
	read := s.reads[key]
	if read == nil {
		read = &placesRead{key: key, from: from, until: until}
		s.reads[key], s.unread = read, append(s.unread, read)
	}
	read.from, read.until = min(read.from, from), max(read.until, until)
	read.next = read.from
}

// counted returns the key of the places that a rule of a category counts; "" for all.
func (s *placesSearch) counted(category string) string {
	if category == "" {
		return s.timeline.keys.Timeline(s.user)
	}
	return s.timeline.keys.Category(s.user, category)
}

// add adds the answer of a call, see lua/place/times.lua.
func (s *placesSearch) add(in *script.ReplyReader) error {
	now, next, same := in.Time(0), in.Int(1), in.Int(2)
	if in.Err != nil {
		return in.Err
	}
	s.now = cmp.Or(s.now, now)
	if len(s.unread) == 0 {
		if s.usage && s.around == nil {
			s.plan()
			if s.around == nil {
				return script.ReplyError(in.Doing, "no rules for the present time")
			}
		}
		return nil
	}
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

// times returns the times in [from, until) that a rule of a category counts; "" for all.
func (s *placesSearch) times(category string, from, until int64) []int64 {
	times := since(s.reads[s.counted(category)].times, max(from, s.now.Add(-s.by.Keep(s.now)).UnixMilli()))
	end, _ := slices.BinarySearch(times, until)
	return times[:end]
}

// since returns the times that are not before from.
func since(times []int64, from int64) []int64 {
	i, _ := slices.BinarySearch(times, from)
	return times[i:]
}

const dayMs = int64(calendar.DayLong / time.Millisecond)

// startOfDay returns the start of a time's day of UTC, Unix ms.
func startOfDay(at int64) int64 {
	from, _ := calendar.NaturalPeriod(calendar.Day, at)
	return from
}
