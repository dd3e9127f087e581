package judge

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

// SearchCursor is where a search for a free time continues in the next call. It is valid only under
// the same rules: under others the search starts again, since skipped times may be free.
type SearchCursor struct {
	Begin   any // where the search starts, as the script's argument
	next    any // where it continues; nil before the first reply
	book    *Rulebook
	version string // of the user's settings
	from    any    // where the last call started
}

// Under returns where a call with these rules starts.
func (c *SearchCursor) Under(by UserRules) any {
	c.from = c.Begin
	if c.next != nil && c.book == by.Book && c.version == by.Version {
		c.from = c.next
	}
	return c.from
}

// At returns the time at which a call with these rules starts; zero means the requested time.
func (c *SearchCursor) At(by UserRules) time.Time {
	if ms, ok := c.Under(by).(int64); ok {
		return time.UnixMilli(ms)
	}
	return time.Time{}
}

// Anew reports whether the last call started the search again.
func (c *SearchCursor) Anew() bool { return c.from == c.Begin }

// GoOn sets where the search continues after the last call, with these rules. It returns an
// ErrReply if that is where the call started: the search would not end.
func (c *SearchCursor) GoOn(doing string, by UserRules, next any) error {
	if next == c.from {
		return script.ReplyError(doing, fmt.Sprintf("the next call would start at the same place, at %v", next))
	}
	c.next, c.book, c.version = next, by.Book, by.Version
	return nil
}

// Search is a search for free times of a user.
type Search struct {
	Client   redis.Scripter
	User     string
	Timeline string // key of the timeline
	Settings string // key of the settings
	Reach    time.Duration
	Places   int   // see Case
	Share    Share // see Case

	Category string
	Self     string // a reservation that does not count; "" for none
	From     time.Time
	Now      time.Time // replaces the server's clock; zero means the server's
	Count    int
	Shift    *Shift // the shift that searches later; nil for none
	Later    bool   // searches after From, ascending; otherwise before it, descending
}

// FreeTimes searches in as many calls as necessary: one long call would block the server. It also
// returns the rules that judged the times.
func (b *Rulebook) FreeTimes(ctx context.Context, s Search) (times []time.Time, by UserRules, err error) {
	direction := -1
	if s.Later {
		direction = 1
	}
	cursor := SearchCursor{Begin: script.Milliseconds(s.From)}
	var taken []string
	years := s.years()
	call := Call{Client: s.Client, Script: lua.NextFree, Doing: "looking for free times", User: s.User, At: func(by UserRules) time.Time {
		return cmp.Or(cursor.At(by), s.Now)
	}}
	arguments := func(by UserRules) ([]string, []any) {
		from, found, before := cursor.Under(by), len(times), strings.Join(taken, " ")
		if cursor.Anew() {
			found, before = 0, ""
		}
		about := Case{Now: s.Now, Year: years, Reach: s.Reach, Places: s.Places, Share: s.Share, Scope: by.Rules.Scope(s.Category)}
		return []string{s.Timeline, s.Settings}, append(by.Arguments(about, 6), from, direction, s.Count-found, s.Self, before, by.Rules.search(s.Shift))
	}
	for {
		var answer script.Reply
		if answer, by, err = b.Run(ctx, call, arguments); err != nil {
			return nil, by, err
		}
		b = by.Book
		if cursor.Anew() {
			times, taken = nil, nil
		}
		in := script.Read(answer, call.Doing)
		next := in.Int(1)
		for i := 2; i < len(answer); i++ {
			times = append(times, in.Time(i))
			taken = append(taken, strconv.FormatInt(in.Int(i), 10))
		}
		if in.Err != nil || next == 0 {
			return times, by, in.Err
		}
		if err := cursor.GoOn(call.Doing, by, next); err != nil {
			return nil, by, err
		}
	}
}

// years returns a time near the start and end of the search, for the offsets of zones.
func (s Search) years() time.Time {
	now := calendar.OrLocalClock(s.Now)
	if s.From.After(now) {
		return s.From
	}
	return now
}
