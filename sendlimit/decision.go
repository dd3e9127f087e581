package sendlimit

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Decision is the answer of a Timeline. A refusal is a Decision with Allowed
// false, never an error. All times are UTC with milliseconds; a zero time means none.
type Decision struct {
	Allowed bool
	Code    fault.Code // why it is refused; empty if Allowed

	// At is the judged send time: the place that was taken (Reserve, Move), is free (Check), was
	// freed (Release) or is refused.
	At time.Time
	// RequestedAt is the requested time if At differs from it: after a shift, or
	// for a past time within the grace.
	RequestedAt time.Time
	// MovedFrom is the place that a Move or a replacement gave up.
	MovedFrom time.Time
	// Superseded is the generation that a Move, a replacement or a Release ended; the zero value if the
	// call changed nothing, was repeated, or the timeline has no records.
	Superseded Timer

	// ExpiresAt is the message's expiry, with CodePastExpiry: a Move must be to an earlier time.
	ExpiresAt time.Time

	// RetryAfter is the wait until the message can be moved again, with CodeRateLimited. See
	// Options.MovesPerMinute.
	RetryAfter time.Duration

	// Latest is the last send time that is accepted now, with CodeTooFarAhead, or the last
	// Record.ExpiresAt, with CodeInvalidField.
	Latest time.Time
	// PlacesPerDay is Options.PlacesPerDay, with CodeTooManyPlaces, or Share.Places, with
	// CodeAccountPlaces.
	PlacesPerDay int
	// OfOthers reports that other accounts have places of the day, with CodeTooManyPlaces.
	OfOthers bool
	// Categories are the categories of the user's policy, sorted, with CodeUnknownCategory.
	Categories []string

	Shifted  bool // At is the next free time after RequestedAt
	Replayed bool // the same request was answered before
	Replaced bool // the request replaced another message, see Request.Replace

	// Violations lists every rule that would break, with CodeSendLimit, CodeQuietHours and
	// CodeDoNotDisturb: the policy's in order, then the category's. With a Hold the list is empty if the time has become
	// free meanwhile: try again with a hold for its own period.
	Violations []Violation
	// Quiet is the period of quiet hours that At is in, with CodeQuietHours.
	Quiet *policy.QuietPeriod
	// DoNotDisturbUntil is the setting of the user, with CodeDoNotDisturb.
	DoNotDisturbUntil time.Time
	// NextFree is the next time within the reach that breaks no rule, is not in quiet hours or a
	// full day, and not before DoNotDisturbUntil. PreviousFree is the last such time before At that is not past. Both are
	// zero with WithoutFreeTimes.
	NextFree     time.Time
	PreviousFree time.Time
	// AtEnd is the decision about the last time of a refused Window, where At is the first one that
	// is not past. NextFree and PreviousFree are outside the window then. It is nil without a window.
	AtEnd *Decision
	// WithoutFreeTimes reports that Request.WithoutFreeTimes left free times out.
	WithoutFreeTimes bool

	// Notices lists the ids of the alerts that the change raised. Deliver them; notices.Outbox.Due
	// finds those that were not delivered.
	Notices []string

	// Now is the time by which the request was judged: the server's, or the request's own.
	Now time.Time
}

// Violation is a rule that the message would break. The conflicts of a sliding rule are the
// reservations in all windows that would break; those of a calendar rule are the reservations in
// the period [From, Until).
type Violation struct {
	Rule     policy.Rule
	Category string // only messages of this category count; "" for all
	// Share is the account's limit for this rule by Policy.AccountShare, if the account has reached
	// it. The conflicts are then the account's. Zero if the rule itself would break.
	Share       int
	From, Until time.Time // the period of a calendar rule; zero for a sliding rule
	// Conflicts lists the first MaxConflicts reservations in the way, ascending by time, then id;
	// ConflictsTotal counts all.
	Conflicts      []keyspace.Reservation
	ConflictsTotal int
}

// MaxConflicts is the maximum number of reservations that a violation lists.
const MaxConflicts = 10

// RuleUsage is how full a rule is at a time: in the fullest window that contains the time (the
// earliest of equally full ones), or in its calendar period. Sent and unsent reservations both
// count.
type RuleUsage struct {
	Rule        policy.Rule
	Category    string // as in Violation
	Used        int
	From, Until time.Time // the window counted, half-open
}

// Usage is the answer to Timeline.Usage.
type Usage struct {
	At    time.Time
	Rules []RuleUsage // the policy's in order, then the category's
	// Free lists the longest stretches of the requested span in which every millisecond would be
	// accepted, ascending; none for a blocked user.
	Free []calendar.Stretch
	// Quiet lists the stretches of quiet hours in that span, ascending.
	Quiet []calendar.Stretch
	// Blocked reports that the user is blocked, whatever the rules leave free.
	Blocked bool
	// OptedOut reports that the user does not want messages of the category.
	OptedOut bool
	Now      time.Time
}
