package judge

import (
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// scopeQuiet has the quiet times of a scope.
type scopeQuiet struct {
	category string // "" for all categories without their own, ownQuiet for the user's hours
	quiet    policy.Quiet
}

// ownQuiet stands for a category in lua/judge/quiet.lua: the user's own quiet hours.
const ownQuiet = "*"

// yearTables has the zones and quiet times around a year, for the scripts.
type yearTables struct {
	year    int
	offsets string               // see lua/judge/zone.lua
	quiets  []*policy.QuietTable // of Ruleset.quiets
	words   []string             // of each, see lua/judge/quiet.lua
	all     string               // of all, for scripts that find the category themselves
}

func (s *Ruleset) tablesAt(at time.Time) *yearTables {
	at = calendar.OrLocalClock(at)
	year := at.UTC().Year()
	kept := &s.tables[year&3]
	if t := kept.Load(); t != nil && t.year == year {
		return t
	}
	t := &yearTables{year: year}
	if s.zoned {
		t.offsets = s.zones.TableAt(s.zone, at).Words
	}
	if s.quiets != nil {
		t.addQuiets(s.quiets, s.zones.TableAt(s.quietZone, at))
	}
	kept.Store(t)
	return t
}

func (t *yearTables) addQuiets(quiets []scopeQuiet, zone *calendar.ZoneTable) {
	entries, some := make([]string, 0, len(quiets)), false
	for _, q := range quiets {
		table := q.quiet.Table(zone, t.year)
		words := table.Words()
		entry := q.category + "|" + words
		if words == "" {
			entry += "|"
		}
		entries, some = append(entries, entry), some || words != ""
		if words != "" {
			words = zone.Words + "|" + words
		}
		t.quiets, t.words = append(t.quiets, table), append(t.words, words)
	}
	if some {
		t.all = zone.Words + strings.Join(entries, ";")
	}
}

// DisturbsUntil returns before which time, Unix ms, the user gets no messages of the scope; 0 for
// none.
func (c *Scope) DisturbsUntil() int64 {
	if c.exempt {
		return 0
	}
	return c.Set.disturb
}

// QuietAt reports whether at a time, Unix ms, quiet times or a do-not-disturb apply to the category.
func (c *Scope) QuietAt(at int64) bool {
	if at < c.DisturbsUntil() {
		return true
	}
	table := c.quietTable(at)
	return table != nil && table.At(at)
}

// QuietPeriod returns the quiet stretch that contains a time, or nil.
func (c *Scope) QuietPeriod(at time.Time) *policy.QuietPeriod {
	ms := at.UnixMilli()
	table := c.quietTable(ms)
	if table == nil {
		return nil
	}
	from, until, quiet := table.StretchAt(ms)
	if !quiet {
		return nil
	}
	zone := c.Set.quietZone
	return &policy.QuietPeriod{
		From: time.UnixMilli(from).UTC(), Until: time.UnixMilli(until).UTC(),
		TimeZone: zone.String(), Location: zone, Hours: table.LineAt(ms),
	}
}

// QuietWithin returns the quiet stretches in [from, until), Unix ms.
func (c *Scope) QuietWithin(from, until int64) []calendar.Stretch {
	table := c.quietTable(from)
	if table == nil {
		return nil
	}
	return table.Within(from, until)
}

// QuietLinesWithin returns the quiet stretches in [from, until), Unix ms, each with the hours of
// QuietPeriod for all its times. Stretches with different hours may touch.
func (c *Scope) QuietLinesWithin(from, until int64) []policy.QuietLine {
	table := c.quietTable(from)
	if table == nil {
		return nil
	}
	return table.LinesWithin(from, until)
}

// quietTable returns the quiet times around a time, Unix ms; nil if none apply.
func (c *Scope) quietTable(at int64) *policy.QuietTable {
	if !c.hasQuiet() {
		return nil
	}
	return c.Set.tablesAt(time.UnixMilli(at)).quiets[c.quiet]
}

func (c *Scope) hasQuiet() bool {
	return !c.exempt && c.Set.quiets != nil && !c.Set.quiets[c.quiet].quiet.IsZero()
}
