package message

import (
	"errors"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
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
	Retried   = "retried" // a dead letter is sent after all, at SendAt
	Purged    = "purged"  // a dead letter is forgotten
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

// quietHoursOf spells a quiet stretch, nil for none.
func QuietHoursOf(q *policy.QuietPeriod) *QuietHours {
	if q == nil {
		return nil
	}
	return &QuietHours{Hours: q.Hours, TimeZone: zoneName(q.TimeZone), From: Time{q.From}, Until: Time{q.Until}}
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
