package email

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

// View is the data of a template. Every text in it is on one line.
type View struct {
	Kind  string
	Title string // the rendered subject; empty in the subject's own template
	// Name is the account, the user or, in a digest, the policy. Of an event it is the
	// event and the key.
	Name      string
	Threshold int   // percent, reached
	Percent   int64 // of Limit used: Threshold or more
	Used      int64
	Limit     int64
	Left      int64 // of Limit, never below zero
	Full      bool  // nothing is left
	Day       string
	TimeZone  string
	// ResetsAt is when the next day begins, such as
	// "2026-11-23 00:00 Europe/Berlin"; empty for a day that can't be read.
	ResetsAt string
	// Rule is the daily rule that counts, and Policy where it stands; both empty
	// for an account. Sliding says that the rule counts any 24 hours rather than
	// the day.
	Rule    string
	Policy  string
	Sliding bool
	// Event is the event whose limit counts, Key whose calls it counts, and Period
	// "minute", "hour" or "day". Since and Until are its begin and end, such as
	// "2026-11-22 00:00 Europe/Berlin". They are empty in other notices.
	Event, Key, Period string
	Since, Until       string
	// Change is what was done with the callback of an account at Since, and Host where it is
	// now.
	Change, Host string
	Users        []ViewUser
	More         int // users of a digest beyond Users
	Total        int // Users and More
	Report       *ViewReport
}

// ViewUser is one user of a digest.
type ViewUser struct {
	Name      string
	Long      bool  // the name fills most of a line
	Threshold int   // percent, reached
	Percent   int64 // of Limit used
	Used      int64
	Limit     int64
	Day       string
}

// longName is how many characters a name has at least that gets a line of its own.
const longName = 32

// ViewReport is the report of an account's day.
type ViewReport struct {
	Sent, Dropped, Failed, Cancelled, Late int64
	Accepted, Retried, WaitingChange       int64
	Refused                                int64
	RefusedBy                              []ViewRefusals // most first
}

// ViewRefusals are the refusals by one rule or with one code.
type ViewRefusals struct {
	Name  string
	Count int64
}

func newView(n notifier.Notice) View {
	v := View{
		Kind:      string(n.Kind),
		Name:      oneLine(n.Subject),
		Threshold: n.Threshold,
		Percent:   percent(n.Used, n.Limit),
		Used:      n.Used,
		Limit:     n.Limit,
		Left:      max(n.Limit-n.Used, 0),
		Full:      n.Used >= n.Limit,
		Day:       oneLine(n.Day),
		TimeZone:  "UTC",
		ResetsAt:  resetsAt(n.Day, n.TimeZone),
		Rule:      oneLine(n.Rule),
		Policy:    oneLine(n.Policy),
		Event:     oneLine(n.Event),
		Key:       oneLine(n.Key),
		Since:     moment(n.Since, n.TimeZone),
		Until:     moment(n.Until, n.TimeZone),
		Change:    oneLine(n.Change),
		Host:      oneLine(n.Host),
		Sliding:   n.Rule != "" && !strings.Contains(n.Rule, "calendar"),
		More:      n.More,
		Total:     len(n.Users) + n.More,
	}
	if n.Event != "" {
		_, v.Period, _ = strings.Cut(v.Rule, "calendar_")
	}
	if n.TimeZone != "" {
		v.TimeZone = oneLine(n.TimeZone)
	}
	for _, u := range n.Users {
		v.Users = append(v.Users, ViewUser{
			Name: oneLine(u.User), Long: utf8.RuneCountInString(u.User) >= longName, Threshold: u.Threshold, Percent: percent(u.Used, u.Limit),
			Used: u.Used, Limit: u.Limit, Day: oneLine(u.Day),
		})
	}
	if n.Report != nil {
		v.Report = newViewReport(*n.Report)
	}
	return v
}

// percent is cut off rather than rounded: 100 is all of it.
func percent(used, limit int64) int64 {
	if limit <= 0 {
		return 100
	}
	return used * 100 / limit
}

func newViewReport(r notifier.Report) *ViewReport {
	v := &ViewReport{
		Sent: r.Sent, Dropped: r.Dropped, Failed: r.Failed, Cancelled: r.Cancelled, Late: r.Late,
		Accepted: r.Accepted, Retried: r.Retried, WaitingChange: r.WaitingChange,
	}
	for name, count := range r.Refused {
		v.Refused += count
		v.RefusedBy = append(v.RefusedBy, ViewRefusals{Name: oneLine(name), Count: count})
	}
	slices.SortFunc(v.RefusedBy, func(a, b ViewRefusals) int {
		if a.Count != b.Count {
			return int(max(min(b.Count-a.Count, 1), -1))
		}
		return strings.Compare(a.Name, b.Name)
	})
	return v
}

// resetsAt says when the day after begins in a zone: most often at midnight,
// and where a clock change skips that, at what the clocks show instead.
func resetsAt(day, zone string) string {
	location, err := calendar.ParseTimeZone(zone)
	if err != nil {
		return ""
	}
	from, err := time.ParseInLocation(time.DateOnly, day, location)
	if err != nil {
		return ""
	}
	next := time.Date(from.Year(), from.Month(), from.Day()+1, 0, 0, 0, 0, location)
	if next.Hour() == 23 { // time.Date may give the hour before the gap
		next = next.Add(time.Hour)
	}
	return next.Format(momentLayout) + cmp.Or(zone, "UTC")
}

const momentLayout = "2006-01-02 15:04 "

// moment writes an instant of RFC 3339, whose offset is that of the zone; empty for one
// that can't be read.
func moment(text, zone string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return ""
	}
	return at.Format(momentLayout) + oneLine(cmp.Or(zone, "UTC"))
}

// oneLine puts a text on one line: whatever a reader may take for a line break,
// and what turns the direction of text, becomes a space.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// number writes a whole number with a comma before each three digits.
func number(n any) string {
	var digits string
	switch n := n.(type) {
	case int:
		digits = strconv.Itoa(n)
	case int64:
		digits = strconv.FormatInt(n, 10)
	default:
		return "?"
	}
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// signed is number with a plus sign before what is above zero.
func signed(n int64) string {
	if n > 0 {
		return "+" + number(n)
	}
	return number(n)
}
