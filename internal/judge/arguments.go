package judge

import (
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
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

// Judging is the number of arguments that Arguments returns.
const Judging = 3

// Arguments returns ARGV[1] to ARGV[3] of a script that judges, see lua/judge/arguments.lua, with
// room for the script's own.
func (u UserRules) Arguments(c Case, own int) []any {
	return append(make([]any, 0, Judging+own), u.clock(c), u.settings(c), u.policyWord(c))
}

// wording has everything that the policy word of a scope may depend on.
type wording struct {
	keep, reach, since time.Duration
	places             int
	share              Share
	alerts             bool
	tables             *yearTables // nil without a zone and quiet times
	bounds             string      // see UserRules.bounds
}

// policyWord returns ARGV[3]. Most calls for a scope have the same one.
func (u UserRules) policyWord(c Case) any {
	set := u.Rules
	w := wording{keep: u.Keep(c.Now), reach: set.Reach(c.Reach), alerts: c.Alerts(), tables: set.tablesFor(c), bounds: u.bounds}
	if c.Late {
		w.reach = c.Reach
	}
	if c.Places > 0 {
		w.places, w.since = c.Places, u.Book.Keep
	}
	if c.Places > 0 && c.Share.Places > 0 {
		w.share = c.Share
	}
	word := set.word
	if c.Scope != nil {
		word = c.Scope.word
	}
	return word.of(w, func() string { return set.spell(c.Scope, w) })
}

// spell returns the policy word for a scope, nil for any.
func (s *Ruleset) spell(c *Scope, w wording) string {
	words, whose := s.words, s.categories
	if c != nil {
		words, whose = c.words, c.whose
	}
	alertFrom, alerts := script.NoValue, ""
	if w.alerts && s.alerting() {
		alertFrom, alerts = strconv.Itoa(s.alertFrom), s.alerts
	}
	places, since := script.NoValue, script.NoValue
	if w.places > 0 {
		places, since = strconv.Itoa(w.places), milliseconds(w.since)
	}
	numbers := []string{milliseconds(w.keep), milliseconds(w.reach), alertFrom, places, since}
	if w.share.Places > 0 {
		percent := script.NoValue
		if s.Policy.AccountShare > 0 {
			percent = strconv.Itoa(s.Policy.AccountShare)
		}
		numbers = append(numbers, strconv.Itoa(w.share.Places), w.share.Account, percent)
	}
	offsets, quiet := w.bounds, ""
	if t := w.tables; t != nil {
		offsets = t.offsets + w.bounds
		switch {
		case c == nil:
			quiet = t.all
		case c.hasQuiet():
			quiet = t.words[c.quiet]
		}
	}
	switch {
	case c == nil:
		quiet = s.own + quiet
	case s.disturb != 0 && !c.exempt:
		quiet = strconv.FormatInt(s.disturb, 10) + "~~" + quiet
	}
	return strings.Join([]string{strings.Join(numbers, " "), words, whose, alerts, offsets, quiet}, "\n")
}

// Delays returns delays of the watch entry of a message as lua/fragments/watched.lua reads them.
func Delays(look, horizon, expiry time.Duration) string {
	return milliseconds(look) + " " + milliseconds(horizon) + " " + milliseconds(expiry)
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

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
	return u.Book.untilWord.of(until, func() string { return "!" + strconv.FormatInt(until, 10) })
}

// Alerts reports whether places of the case may raise alerts.
func (c Case) Alerts() bool { return c.CopiesStay == 0 && (c.Scope == nil || !c.Scope.Uncounted) }

// tablesFor returns the zones and quiet times for a case; nil if it needs none.
func (s *Ruleset) tablesFor(c Case) *yearTables {
	unquiet := s.quiets == nil || c.Scope != nil && !c.Scope.hasQuiet()
	if !s.zoned && unquiet {
		return nil
	}
	year := c.Year
	if year.IsZero() {
		year = c.Now
	}
	return s.tablesAt(year)
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
