package judge

import (
	"fmt"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

// Case has the judging arguments of a call besides a user's rules.
type Case struct {
	Now   time.Time     // replaces the server's clock; zero means the server's
	Year  time.Time     // a time in the year that the script judges; zero means Now
	Reach time.Duration // the program's own, see Ruleset.Reach
	// Places is how many places a user may have in a day of UTC; 0 for any number.
	Places int
	// Share is the message's account and its share of the user's places.
	Share Share
	// Scope has the rules for the message's category. It is nil if the script finds the category
	// itself.
	Scope *Scope
	// CopiesStay is how long the writes of a dry run stay; zero for no dry run. A dry run raises no
	// alerts.
	CopiesStay time.Duration
	// Late is for a late message at the gate: the policy's reach does not bound it.
	Late bool
}

// Share is how many of a user's places in a day of UTC one account may have.
type Share struct {
	Account string // 1 to 64 of a-z 0-9 _ -; "" for none
	Places  int    // 0 for all
}

// Keep returns how long places count at a time, see Rulebook.Keep; longer if the user's own or
// former rules need it. A zero now means the local clock.
func (u UserRules) Keep(now time.Time) time.Duration {
	keep := max(u.Rules.Keep, u.Book.Keep)
	if u.former.Keeps > keep {
		keep = max(keep, u.former.At(calendar.OrLocalClock(now)))
	}
	return keep
}

// Arguments returns ARGV[1] to ARGV[9] of a script that judges, see lua/judge/arguments.lua, with
// room for the script's own.
func (u UserRules) Arguments(c Case, own int) []any {
	set := u.Rules
	keep, reach := u.Book.keep, set.Reach(c.Reach)
	switch kept := u.Keep(c.Now); kept {
	case u.Book.Keep:
	case set.Keep:
		keep = set.keep
	default:
		keep = kept.Milliseconds()
	}
	if c.Late {
		reach = c.Reach
	}
	words, whose := set.words, set.categories
	if c.Scope != nil {
		words, whose = c.Scope.words, c.Scope.whose
	}
	offsets, quiet := set.clocks(c)
	if u.bounds != "" {
		offsets = fmt.Sprint(offsets, u.bounds)
	}
	alerts := any("")
	if c.Alerts() {
		alerts = set.alerts
	}
	farthest := any(reach.Milliseconds())
	if c.Places > 0 {
		farthest = u.Book.ahead.of(ahead{reach, u.Book.Keep, c.Places, c.Share, set.Policy.AccountShare}, spellAhead)
	}
	return append(make([]any, 0, 9+own),
		u.clock(c), keep, farthest, words, offsets, whose, quiet, alerts, u.settings(c))
}

// clock returns ARGV[1]: the time, how long the rules may judge, or how long copies stay, see
// lua/judge/arguments.lua.
func (u UserRules) clock(c Case) any {
	switch {
	case !c.Now.IsZero():
		return c.Now.UnixMilli()
	case c.CopiesStay > 0:
		return "~" + strconv.FormatInt(c.CopiesStay.Milliseconds(), 10)
	default:
		return u.untilWord()
	}
}

// untilWord returns until when the rules may judge, by the clock of the user's server; "" for any
// time.
func (u UserRules) untilWord() any {
	until := u.until
	if until == 0 {
		if until = u.Book.until.Load(); until != 0 {
			until += u.Book.owner.ahead.OfUser(u.user).Milliseconds()
		}
	}
	if u.valid != 0 && (until == 0 || u.valid < until) {
		until = u.valid
	}
	if until == 0 {
		return ""
	}
	return u.Book.untilWord.of(until, spellUntil)
}

// Alerts reports whether places of the case may raise alerts.
func (c Case) Alerts() bool { return c.CopiesStay == 0 && (c.Scope == nil || !c.Scope.Uncounted) }

// clocks returns the offsets of the calendar rules' zone as lua/judge/zone.lua reads them, and the
// quiet times as lua/judge/quiet.lua does; "" for none.
func (s *Ruleset) clocks(c Case) (offsets, quiet any) {
	unquiet := s.quiets == nil || c.Scope != nil && !c.Scope.hasQuiet()
	if !s.zoned && unquiet {
		return "", ""
	}
	year := c.Year
	if year.IsZero() {
		year = c.Now
	}
	t := s.tablesAt(year)
	switch {
	case unquiet:
		return t.offsets, ""
	case c.Scope != nil:
		return t.offsets, t.words[c.Scope.quiet]
	default:
		return t.offsets, t.all
	}
}

// settings returns the version of the settings that were used, with a mark if nothing is accepted,
// see lua/fragments/settings.lua.
func (u UserRules) settings(c Case) any {
	version := u.Version
	if u.Book.owner.fixed {
		version = "-"
	}
	if u.Accepts(c.Scope, c.Share.Account) {
		return version
	}
	return version + " b"
}

// Accepts reports whether new messages of a scope, nil for any, are accepted from an account, ""
// for none.
func (u UserRules) Accepts(s *Scope, account string) bool {
	return !u.Blocked && (s == nil || !s.Refused && !s.OptedOut && s.Admits(account))
}
