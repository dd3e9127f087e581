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

// Outcome is the answer to a request. Refusals and invalid requests are outcomes, not errors.
type Outcome struct {
	Outcome           string          `json:"outcome" doc:"What was done. With refused, invalid and error nothing was done."`
	Line              int             `json:"line,omitempty" doc:"The line of a batch, from 1."`
	Code              fault.Code      `json:"code,omitempty" doc:"The code of a refusal or an error, for programs."`
	Field             string          `json:"field,omitempty" doc:"The field or parameter that is wrong. If several are wrong, this is the first and detail names all."`
	ID                string          `json:"id,omitempty" doc:"The message's id."`
	User              string          `json:"user,omitempty" doc:"The user's name."`
	SendAt            Time            `json:"send_at,omitzero" doc:"The send time."`
	RequestedAt       Time            `json:"requested_at,omitzero" doc:"The send time that was requested, if it differs from send_at."`
	Local             *ResolvedLocal  `json:"local,omitempty" doc:"How the send time was read, if it was asked for as a local time."`
	Window            *ResolvedWindow `json:"window,omitempty" doc:"The window that was asked for. Then there is no requested_at."`
	WindowEnd         *WindowEnd      `json:"window_end,omitempty" doc:"Why the last time of the window is not free. code, violations and the like are about send_at, its first time that is not past, and next_free_at and previous_free_at are outside the window."`
	MovedFrom         Time            `json:"moved_from,omitzero" doc:"The send time before the last move; with replaced, that of the former message, not in a repetition."`
	Shifted           bool            `json:"shifted,omitempty" doc:"The message got the next free time instead of the requested one."`
	Late              bool            `json:"late,omitempty" doc:"The requested send time had passed, and the message is sent now."`
	Replayed          bool            `json:"replayed,omitempty" doc:"The request is a repetition, and this is the answer to the first one."`
	Forgotten         bool            `json:"forgotten,omitempty" doc:"The message was recorded, but is too old to count in any rule."`
	Detail            string          `json:"detail,omitempty" doc:"A sentence for a person."`
	QuietHours        *QuietHours     `json:"quiet_hours,omitempty" doc:"The quiet hours that contain the send time, with the code quiet_hours."`
	DoNotDisturbUntil Time            `json:"do_not_disturb_until,omitzero" doc:"The time before which the user is not disturbed, with the code do_not_disturb."`
	Violations        []Violation     `json:"violations,omitempty" doc:"Every rule that the message would break, in the order of the policy."`
	Others            string          `json:"others,omitempty" doc:"all or some, if all or some of the messages in the way belong to other accounts; absent if none does, and with the scope admin."`
	NextFreeAt        Time            `json:"next_free_at,omitzero" doc:"The next free time; absent if there is none, or in a batch with without_free_times."`
	PreviousFreeAt    Time            `json:"previous_free_at,omitzero" doc:"The last free time before the requested one that is not in the past; absent if there is none."`
	ResetsAt          Time            `json:"resets_at,omitzero" doc:"When the exhausted quota starts again."`
	RetryAfterSeconds int64           `json:"retry_after_seconds,omitempty" doc:"Seconds until resets_at, if that is the end of the current hour or day; with rate_limited, until the message can be moved or replaced again."`

	// Day is the account's usage of the day of SendAt, for the header fields of an answer. It is
	// nil without a limit or a charge.
	Day *DayQuota `json:"-"`
}

// DayQuota is the usage of an account's daily quota.
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
	Changed   = "changed"  // it keeps its send time
	Replaced  = "replaced" // it takes the place of the pending message that had its id
	Errored   = "error"
	Retried   = "retried" // a dead letter is sent after all, at SendAt
	Purged    = "purged"  // a dead letter was removed
)

// QuietHours is the quiet period that contains a send time.
type QuietHours struct {
	Hours    string `json:"hours" doc:"The quiet hours as in the policy."`
	TimeZone string `json:"time_zone" doc:"The IANA time zone of the quiet hours."`
	From     Time   `json:"from" doc:"The begin."`
	Until    Time   `json:"until" doc:"The end, which is not included."`
}

// Violation is a rule that the message would break. A rule of a category counts only its messages.
type Violation struct {
	Rule           string     `json:"rule" doc:"The rule, as in the policy."`
	Category       string     `json:"category,omitempty" doc:"The category whose messages the rule counts; absent if it counts all messages."`
	Limit          int        `json:"limit" doc:"How many messages it allows in its window."`
	AccountLimit   int        `json:"account_limit,omitempty" doc:"How many of these one account may have by the policy's account_share. Set if the message's account has reached it."`
	Kind           string     `json:"kind" doc:"sliding: counts in every window of the length. calendar: counts in natural periods such as days."`
	WindowSeconds  int        `json:"window_seconds,omitempty" doc:"The length of a sliding rule's window."`
	From           Time       `json:"from,omitzero" doc:"The begin."`
	Until          Time       `json:"until,omitzero" doc:"The end, which is not included."`
	Conflicts      []Conflict `json:"conflicts" doc:"Messages in the way, by time, at most 10."`
	ConflictsTotal int        `json:"conflicts_total" doc:"How many messages are in the way."`
}

// Name returns the name of the rule in its policy: "1/minute", or "marketing 2/calendar_day" for a
// rule of a category. Refusals are counted by it.
func (v Violation) Name() string { return inCategory(v.Category, v.Rule) }

// RuleName returns the name of a rule in its policy; category is "" for a rule of all messages.
func RuleName(category string, rule policy.Rule) string {
	return inCategory(category, rule.String())
}

func inCategory(category, rule string) string {
	if category == "" {
		return rule
	}
	return category + " " + rule
}

// Conflict is a message in the way. ID is empty if it belongs to another account.
type Conflict struct {
	ID     string `json:"id,omitempty" doc:"The message's id; absent if it belongs to another account."`
	SendAt Time   `json:"send_at" doc:"The send time."`
}

// OK reports whether the request succeeded.
func (o Outcome) OK() bool {
	return o.Submitted() || o.Outcome == Cancelled || o.Outcome == Moved || o.Outcome == Changed || o.Outcome == Recorded
}

// Submitted reports whether a message was accepted, or replaced another one.
func (o Outcome) Submitted() bool { return o.Outcome == Accepted || o.Outcome == Replaced }

// RefusedBy returns the name of the first rule that the message would break; "" if no rule refused
// it.
func (o Outcome) RefusedBy() string {
	if o.Code != fault.CodeSendLimit || len(o.Violations) == 0 {
		return ""
	}
	return o.Violations[0].Name()
}

// OutcomeOf returns the outcome of an error. It is Invalid for a *fault.InvalidError and for
// fault.InvalidErrors, with the first field and the first 20 sentences. Any other error is Errored,
// with the error's code if it has one.
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

// QuietHoursOf converts a quiet period; nil for nil.
func QuietHoursOf(q *policy.QuietPeriod) *QuietHours {
	if q == nil {
		return nil
	}
	return &QuietHours{Hours: q.Hours, TimeZone: zoneName(q.TimeZone), From: Time{q.From}, Until: Time{q.Until}}
}

// Recorded is the outcome of a send by another system, which now counts.
const Recorded = "recorded"

// InvalidOr returns an outcome for an invalid argument, and any other error unchanged.
func InvalidOr(err error, user, id string) (Outcome, error) {
	if o := OutcomeOf(err); o.Outcome == Invalid {
		o.User, o.ID = user, id
		return o, nil
	}
	return Outcome{}, err
}
