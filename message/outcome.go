package message

import (
	"errors"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// InvalidOutcome returns the outcome of a message that is not valid.
func InvalidOutcome(err error, m Message) Outcome {
	o := OutcomeOf(err)
	o.ID, o.User = m.ID, m.User
	return o
}

// Outcome is the answer to a request. A refusal and an invalid request are outcomes,
// not errors.
type Outcome struct {
	Outcome        string      `json:"outcome"` // see the constants
	Line           int         `json:"line,omitempty"`
	Code           fault.Code  `json:"code,omitempty"`
	Field          string      `json:"field,omitempty"` // of invalid: the field that is wrong, of several the first
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
	Others         string      `json:"others,omitempty"` // whether the messages in the way are other accounts', see NoteOthers
	NextFreeAt     Time        `json:"next_free_at,omitzero"`
	PreviousFreeAt Time        `json:"previous_free_at,omitzero"`
	// ResetsAt is set for quota_exceeded: the end of the hour or day whose quota is
	// used up. A send time from then on counts in the next one. RetryAfterSeconds is
	// the time until then, if the hour or day is the present one. For rate_limited it is how
	// long the message cannot be moved.
	ResetsAt          Time  `json:"resets_at,omitzero"`
	RetryAfterSeconds int64 `json:"retry_after_seconds,omitempty"`

	// Day is what the account has used of the day of SendAt, for the header fields of
	// an answer. It is nil without a limit or a charge.
	Day *DayQuota `json:"-"`
}

// DayQuota says how much of an account's messages of a day is used.
type DayQuota struct {
	Limit, Used int64
	Length      time.Duration // of the day
	ResetsIn    time.Duration // until the day ends
}

// Values of Outcome.Outcome.
const (
	Accepted  = "accepted"
	Refused   = "refused"
	Invalid   = "invalid"
	Cancelled = "cancelled"
	Moved     = "moved"
	Changed   = "changed" // it keeps its send time
	Errored   = "error"
	Retried   = "retried" // a dead letter is sent after all, at SendAt
	Purged    = "purged"  // a dead letter is forgotten
)

// QuietHours is the quiet period, From to Until, that a send time is in.
type QuietHours struct {
	Hours    string `json:"hours"` // as the policy has them, "22:00-08:00"
	TimeZone string `json:"time_zone"`
	From     Time   `json:"from"`
	Until    Time   `json:"until"`
}

// Violation is a rule that the message would break. A rule of a category counts only
// the messages of that category.
type Violation struct {
	Rule     string `json:"rule"`
	Category string `json:"category,omitempty"`
	Limit    int    `json:"limit"`
	// AccountLimit is how many of these one account may have, if the message's account has as many.
	AccountLimit   int        `json:"account_limit,omitempty"`
	Kind           string     `json:"kind"` // sliding or calendar
	WindowSeconds  int        `json:"window_seconds,omitempty"`
	From           Time       `json:"from,omitzero"`
	Until          Time       `json:"until,omitzero"`
	Conflicts      []Conflict `json:"conflicts"`
	ConflictsTotal int        `json:"conflicts_total"`
}

// Name returns the name of the rule within its policy: "1/minute", or
// "marketing 2/calendar_day" for a rule of a category. Refusals are counted by it.
func (v Violation) Name() string { return inCategory(v.Category, v.Rule) }

// RuleName returns the name of a rule within its policy; category is "" for a rule that
// counts all messages.
func RuleName(category string, rule policy.Rule) string {
	return inCategory(category, rule.String())
}

func inCategory(category, rule string) string {
	if category == "" {
		return rule
	}
	return category + " " + rule
}

// Conflict is a message in the way. ID is empty if it is another account's.
type Conflict struct {
	ID     string `json:"id,omitempty"`
	SendAt Time   `json:"send_at"`
}

// OK reports whether the request was accepted, cancelled, moved or recorded.
func (o Outcome) OK() bool {
	return o.Outcome == Accepted || o.Outcome == Cancelled || o.Outcome == Moved || o.Outcome == Changed || o.Outcome == Recorded
}

// RefusedBy returns the name of the first rule that the message would break; "" if it
// was refused for another reason, or not refused.
func (o Outcome) RefusedBy() string {
	if o.Code != fault.CodeSendLimit || len(o.Violations) == 0 {
		return ""
	}
	return o.Violations[0].Name()
}

// OutcomeOf returns the outcome of an error. It is Invalid for a *fault.InvalidError
// and for fault.InvalidErrors, with the first field and the sentences of the first 20. Any other error
// is Errored, with the error's code if it has one.
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

// QuietHoursOf returns a quiet period as outcomes show it; nil for nil.
func QuietHoursOf(q *policy.QuietPeriod) *QuietHours {
	if q == nil {
		return nil
	}
	return &QuietHours{Hours: q.Hours, TimeZone: zoneName(q.TimeZone), From: Time{q.From}, Until: Time{q.Until}}
}

// Recorded is the outcome of a send by another system, which counts from now on.
const Recorded = "recorded"

// InvalidOr returns an outcome for an invalid argument, and any other error as it is.
func InvalidOr(err error, user, id string) (Outcome, error) {
	if o := OutcomeOf(err); o.Outcome == Invalid {
		o.User, o.ID = user, id
		return o, nil
	}
	return Outcome{}, err
}
