package judge

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/script"
)

// SearchCursor is where a search for a free time goes on that takes several calls.
// It holds for the rules that it was made under: under others the search begins
// anew, as what was passed over may be free.
type SearchCursor struct {
	Begin   any // where the search begins, as the script is told it
	next    any // where it goes on; nil before a call has said so
	book    *Rulebook
	version string // of the user's settings
	from    any    // where the last call began
}

// Under returns where a call by these rules begins.
func (c *SearchCursor) Under(by UserRules) any {
	c.from = c.Begin
	if c.next != nil && c.book == by.Book && c.version == by.Version {
		c.from = c.next
	}
	return c.from
}

// Anew reports whether the last call began where the search does.
func (c *SearchCursor) Anew() bool { return c.from == c.Begin }

// GoOn notes where the last call, by these rules, wants the search to go on. A
// search that goes on where it was would not end: that is an ErrReply.
func (c *SearchCursor) GoOn(doing string, by UserRules, next any) error {
	if next == c.from {
		return script.ReplyError(doing, fmt.Sprintf("it goes on where it was, at %v", next))
	}
	c.next, c.book, c.version = next, by.Book, by.Version
	return nil
}

// Search looks for free times of a user.
type Search struct {
	Client      redis.Scripter
	User        string
	Timeline    string // its key
	Settings    string // their key
	RealRecords string // as in Case
	Reach       time.Duration

	Category string
	Self     string // a reservation that does not count; "" for none
	From     time.Time
	Now      time.Time // replaces the server's clock; zero means the server's
	Count    int
	Later    bool // than From, ascending; else earlier, descending
}

// FreeTimes searches in as many calls as it takes: one call that takes too long
// would hold up the server. It returns the rules that the times were judged by, too.
func (b *Rulebook) FreeTimes(ctx context.Context, s Search) (times []time.Time, by UserRules, err error) {
	direction := -1
	if s.Later {
		direction = 1
	}
	cursor := SearchCursor{Begin: script.Milliseconds(s.From)}
	var taken []string
	years := s.years()
	call := Call{Client: s.Client, Script: lua.NextFree, Doing: "looking for free times", User: s.User}
	arguments := func(by UserRules) ([]string, []any) {
		from, found, before := cursor.Under(by), len(times), strings.Join(taken, " ")
		if cursor.Anew() {
			found, before = 0, ""
		}
		about := Case{Now: s.Now, Year: years, Reach: s.Reach, Scope: by.Rules.Scope(s.Category), RealRecords: s.RealRecords}
		return []string{s.Timeline, s.Settings}, append(by.Arguments(about, 5), from, direction, s.Count-found, s.Self, before)
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

// years is a time around which begin and end of the search are, for the offsets of
// zones.
func (s Search) years() time.Time {
	now := calendar.OrLocalClock(s.Now)
	if s.From.After(now) {
		return s.From
	}
	return now
}
