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

// View is the data of a template. Every text is one line.
type View struct {
	Kind  string
	Title string // the rendered subject; empty in the subject's own template
	// Name is the account or the user; in a digest, the policy; for an event, the event and the
	// key.
	Name      string
	Threshold int   // percent, reached
	Percent   int64 // of Limit used: Threshold or more
	Used      int64
	Limit     int64
	Left      int64 // of Limit, never below zero
	Full      bool  // nothing is left
	Day       string
	TimeZone  string
	// ResetsAt is the beginning of the next day, such as "2026-11-23 00:00 Europe/Berlin"; empty if
	// Day can't be read.
	ResetsAt string
	// Rule is the daily rule, and Policy its policy; both are empty for an account. Sliding means
	// any 24 hours, not the day.
	Rule    string
	Policy  string
	Sliding bool
	// Event is the event with the limit, Key the key that is counted, or the id of an API key, and
	// Period "minute", "hour" or "day". Since and Until are its begin and end, such as "2026-11-22 00:00 Europe/Berlin".
	// They are empty in other notices.
	Event, Key, Period string
	Since, Until       string
	// Change is the change of an account's callback or key at Since, Host the callback's new host, and
	// Scopes what an added key allows.
	Change, Host, Scopes string

	Users  []ViewUser
	More   int // users of a digest beyond Users
	Total  int // Users and More
	Report *ViewReport
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

// longName is the length from which on a name gets its own line, in characters.
const longName = 32

// ViewReport is the report of an account's day.
type ViewReport struct {
	Sent, Dropped, Failed, Cancelled, Late int64
	Accepted, Retried, WaitingChange       int64
	Refused                                int64
	RefusedBy                              []ViewRefusals // most first
}

// ViewRefusals counts the refusals by a rule or with a code.
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
		Scopes:    oneLine(strings.Join(n.Scopes, ", ")),
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

// percent rounds down: 100 means that nothing is left.
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

// resetsAt returns the beginning of the next day in a zone: midnight, or the first time after it if
// a clock change skips midnight.
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

// moment formats an RFC 3339 time that has the zone's offset; empty if it can't be read.
func moment(text, zone string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return ""
	}
	return at.Format(momentLayout) + oneLine(cmp.Or(zone, "UTC"))
}

// oneLine puts a text on one line: characters that a reader may show as a line break, and those
// that change the direction of text, become spaces.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// number formats a whole number with commas: 10,000.
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

// signed is number with a plus sign for numbers above zero.
func signed(n int64) string {
	if n > 0 {
		return "+" + number(n)
	}
	return number(n)
}
