package message

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// statusFailed is the status of a dead notice, as that of a message.
const NoticeFailed = "failed"

func InvalidOutcome(err error, m Message) Outcome {
	o := OutcomeOf(err)
	o.ID, o.User = m.ID, m.User
	return o
}

// Outcome is the answer to a request on every surface. A refusal and an
// invalid request are outcomes, not errors.
type Outcome struct {
	Outcome        string      `json:"outcome"` // see the constants
	Line           int         `json:"line,omitempty"`
	Code           fault.Code  `json:"code,omitempty"`
	Field          string      `json:"field,omitempty"` // of invalid: the field at fault
	ID             string      `json:"id,omitempty"`
	User           string      `json:"user,omitempty"`
	SendAt         Time        `json:"send_at,omitzero"`
	RequestedAt    Time        `json:"requested_at,omitzero"`
	MovedFrom      Time        `json:"moved_from,omitzero"`
	Shifted        bool        `json:"shifted,omitempty"`
	Replayed       bool        `json:"replayed,omitempty"`
	Forgotten      bool        `json:"forgotten,omitempty"`   // of recorded: older than any rule looks back
	Detail         string      `json:"detail,omitempty"`      // a sentence for a person
	QuietHours     *QuietHours `json:"quiet_hours,omitempty"` // of quiet_hours
	Violations     []Violation `json:"violations,omitempty"`
	NextFreeAt     Time        `json:"next_free_at,omitzero"`
	PreviousFreeAt Time        `json:"previous_free_at,omitzero"`
	// ResetsAt is, of quota_exceeded, when the hour or day ends whose quota is used
	// up: a later send time counts in the next. RetryAfterSeconds is how long that
	// is, where it is the present one.
	ResetsAt          Time  `json:"resets_at,omitzero"`
	RetryAfterSeconds int64 `json:"retry_after_seconds,omitempty"`
}

// The outcomes.
const (
	Accepted  = "accepted"
	Refused   = "refused"
	Invalid   = "invalid"
	Cancelled = "cancelled"
	Moved     = "moved"
	Errored   = "error"
)

// QuietHours is the quiet stretch, From to Until, that a send time is in.
type QuietHours struct {
	Hours    string `json:"hours"` // as the policy has them, "22:00-08:00"
	TimeZone string `json:"time_zone"`
	From     Time   `json:"from"`
	Until    Time   `json:"until"`
}

// Violation is a rule that accepting would break. One of a category counts the
// messages of that category alone.
type Violation struct {
	Rule           string     `json:"rule"`
	Category       string     `json:"category,omitempty"`
	Limit          int        `json:"limit"`
	Kind           string     `json:"kind"` // sliding or calendar
	WindowSeconds  int        `json:"window_seconds,omitempty"`
	From           Time       `json:"from,omitzero"`
	Until          Time       `json:"until,omitzero"`
	Conflicts      []Conflict `json:"conflicts"`
	ConflictsTotal int        `json:"conflicts_total"`
}

// Name names the rule among all of a policy, as refusals are counted by it:
// "1/minute", or "marketing 2/calendar_day" of a category.
func (v Violation) Name() string { return inCategory(v.Category, v.Rule) }

// ruleName is the name of a rule of a category, "" for all.
func RuleName(category string, rule policy.Rule) string {
	return inCategory(category, rule.String())
}

func inCategory(category, rule string) string {
	if category == "" {
		return rule
	}
	return category + " " + rule
}

// Conflict is a reservation in the way. Of another account's it has the time
// alone.
type Conflict struct {
	ID     string `json:"id,omitempty"`
	SendAt Time   `json:"send_at"`
}

// Time is a time as outcomes spell it: UTC with milliseconds.
type Time struct{ time.Time }

// TimeLayout is how outcomes spell a time.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// MarshalText writes the time in TimeLayout.
func (t Time) MarshalText() ([]byte, error) {
	return t.UTC().AppendFormat(nil, TimeLayout), nil
}

// MarshalJSON writes the time in TimeLayout, in quotes.
func (t Time) MarshalJSON() ([]byte, error) {
	return t.UTC().AppendFormat(nil, `"`+TimeLayout+`"`), nil
}

// UnmarshalJSON reads an RFC 3339 time.
func (t *Time) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &t.Time); err != nil {
		return fmt.Errorf("time of an outcome: %w", err)
	}
	t.Time = t.UTC()
	return nil
}

// OK reports whether the request was done: accepted, cancelled, moved or
// recorded.
func (o Outcome) OK() bool {
	return o.Outcome == Accepted || o.Outcome == Cancelled || o.Outcome == Moved || o.Outcome == Recorded
}

// RefusedBy is the name of the rule that a refusal counts under, the first that
// would break; "" where it was not for a rule.
func (o Outcome) RefusedBy() string {
	if o.Code != fault.CodeSendLimit || len(o.Violations) == 0 {
		return ""
	}
	return o.Violations[0].Name()
}

// OutcomeOf makes an outcome of an error: invalid of a *sendlimit.InvalidError, or
// of sendlimit.InvalidErrors, of which it has the first field and all sentences;
// otherwise error with the code of the error, where it has one.
func OutcomeOf(err error) Outcome {
	if several, ok := errors.AsType[fault.InvalidErrors](err); ok && len(several) > 0 {
		return Outcome{Outcome: Invalid, Code: several.Code(), Field: several[0].Field, Detail: several.Error()}
	}
	if wrong, ok := errors.AsType[*fault.InvalidError](err); ok {
		return Outcome{Outcome: Invalid, Code: wrong.Code(), Field: wrong.Field, Detail: wrong.Error()}
	}
	if away, ok := errors.AsType[*fault.UnavailableError](err); ok {
		return Outcome{Outcome: Errored, Code: away.Code(), Detail: away.Detail}
	}
	return Outcome{Outcome: Errored, Detail: err.Error()}
}

// outcomeOf makes the outcome of a decision about a message; done is what it
// is called when it was allowed.
func DecisionOutcome(d sendlimit.Decision, done, user, id string) Outcome {
	o := Outcome{
		Outcome: done, ID: id, User: user,
		SendAt: Time{d.At}, RequestedAt: Time{d.RequestedAt}, MovedFrom: Time{d.MovedFrom},
		Shifted: d.Shifted, Replayed: d.Replayed,
	}
	if d.Allowed {
		return o
	}
	o.Outcome, o.Code = Refused, d.Code
	if d.Code == fault.CodeInPast || d.Code == fault.CodeTooFarAhead || d.Code == fault.CodePastExpiry {
		o.Outcome, o.Field = Invalid, "send_at"
	}
	for _, v := range d.Violations {
		o.Violations = append(o.Violations, violationOf(v))
	}
	o.QuietHours = QuietHoursOf(d.Quiet)
	o.NextFreeAt, o.PreviousFreeAt = Time{d.NextFree}, Time{d.PreviousFree}
	o.Detail = detail(d, user, id)
	return o
}

// quietHoursOf spells a quiet stretch, nil for none.
func QuietHoursOf(q *policy.QuietPeriod) *QuietHours {
	if q == nil {
		return nil
	}
	return &QuietHours{Hours: q.Hours, TimeZone: zoneName(q.TimeZone), From: Time{q.From}, Until: Time{q.Until}}
}

func violationOf(v sendlimit.Violation) Violation {
	out := Violation{
		Rule: v.Rule.String(), Category: v.Category, Limit: v.Rule.Limit, Kind: "sliding",
		WindowSeconds:  int(v.Rule.Window / time.Second),
		Conflicts:      make([]Conflict, len(v.Conflicts)),
		ConflictsTotal: v.ConflictsTotal,
	}
	if v.Rule.Calendar() {
		out.Kind, out.From, out.Until = "calendar", Time{v.From}, Time{v.Until}
	}
	for i, c := range v.Conflicts {
		out.Conflicts[i] = Conflict{ID: c.ID, SendAt: Time{c.At}}
	}
	return out
}

// Recorded is the outcome of a send that was made by something else and counts
// from now on.
const Recorded = "recorded"

// invalidOr makes an outcome of an invalid argument; other errors stay errors.
func InvalidOr(err error, user, id string) (Outcome, error) {
	if o := OutcomeOf(err); o.Outcome == Invalid {
		o.User, o.ID = user, id
		return o, nil
	}
	return Outcome{}, err
}

// usageAround is how much of a timeline is looked at on each side of a time.
const usageAround = 12 * time.Hour

// UsageSpan is the stretch of a timeline that is looked at around a time, unless
// the caller says otherwise: whole minutes, so that drawn rows begin with one.
func UsageSpan(around time.Time) (from, to time.Time) {
	return around.Add(-usageAround).Truncate(time.Minute), around.Add(usageAround).Truncate(time.Minute)
}

// Usage says how full a user's rules are around a time, and what is taken and
// free in a stretch of the timeline, as every surface spells it.
type Usage struct {
	User  string      `json:"user"`
	At    Time        `json:"at"`
	From  Time        `json:"from"`
	To    Time        `json:"to"`
	Rules []RuleUsage `json:"rules"`
	Free  []Stretch   `json:"free"`
	// Blocked says that the user is, so that nothing is free.
	Blocked bool       `json:"blocked,omitempty"`
	Quiet   []Stretch  `json:"quiet,omitempty"` // what is in quiet hours
	Sends   []Conflict `json:"sends"`           // sent and unsent
	// More says that there are more sends than those listed.
	More bool `json:"more,omitempty"`
}

// RuleUsage is how full a rule is, which is spelled as that of a Violation: of a
// sliding rule in the fullest window that has the time, of a calendar rule in
// the period that has it.
type RuleUsage struct {
	Rule          string `json:"rule"`
	Category      string `json:"category,omitempty"`
	Limit         int    `json:"limit"`
	Kind          string `json:"kind"`
	WindowSeconds int    `json:"window_seconds,omitempty"`
	Used          int    `json:"used"`
	From          Time   `json:"from"`
	Until         Time   `json:"until"`
}

// Stretch is a stretch of time, Until not included.
type Stretch struct {
	From  Time `json:"from"`
	Until Time `json:"until"`
}

// UsageOf spells the answer to a request, with the reservations between its From
// and To.
func UsageOf(r sendlimit.UsageRequest, u sendlimit.Usage, sends []keyspace.Reservation) Usage {
	usage := Usage{
		User: r.User, At: Time{u.At}, From: Time{r.From}, To: Time{r.To},
		Rules: make([]RuleUsage, len(u.Rules)), Free: stretchesOf(u.Free), Blocked: u.Blocked, Sends: make([]Conflict, len(sends)),
	}
	for i, rule := range u.Rules {
		kind := "sliding"
		if rule.Rule.Calendar() {
			kind = "calendar"
		}
		usage.Rules[i] = RuleUsage{
			Rule: rule.Rule.String(), Category: rule.Category, Limit: rule.Rule.Limit, Kind: kind, WindowSeconds: int(rule.Rule.Window / time.Second),
			Used: rule.Used, From: Time{rule.From}, Until: Time{rule.Until},
		}
	}
	if len(u.Quiet) > 0 {
		usage.Quiet = stretchesOf(u.Quiet)
	}
	for i, m := range sends {
		usage.Sends[i] = Conflict{ID: m.ID, SendAt: Time{m.At}}
	}
	return usage
}

func stretchesOf(list []calendar.Stretch) []Stretch {
	stretches := make([]Stretch, len(list))
	for i, s := range list {
		stretches[i] = Stretch{From: Time{s.From}, Until: Time{s.Until}}
	}
	return stretches
}
