package sendlimit

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Decision is the answer of every limiter. A refusal is a Decision with Allowed
// false, never an error. All times are UTC with
// milliseconds; a zero time means there is none.
type Decision struct {
	Allowed bool
	Code    fault.Code // why not; empty when Allowed

	// At is the send time that was judged: the place taken (Reserve, Move),
	// the one that is free (Check), the one freed (Release), or the one that
	// was refused. Of permits that are allowed it is when they were taken, which
	// was earlier where they were asked for again.
	At time.Time
	// RequestedAt is what was asked for, where At differs from it: after a
	// shift, or for a time within the grace before now.
	RequestedAt time.Time
	// MovedFrom is the place that a Move gave up.
	MovedFrom time.Time

	// ExpiresAt is the message's expiry that a Move would outlive, with
	// CodePastExpiry.
	ExpiresAt time.Time

	Shifted  bool // At is the next free time after RequestedAt
	Replayed bool // the same request was answered before

	// Violations has every rule that would break, in the policy's order and then
	// that of the category, when Code is CodeSendLimit or CodeQuietHours.
	Violations []Violation
	// Quiet is the stretch of quiet hours that At is in, when Code is
	// CodeQuietHours.
	Quiet *policy.QuietPeriod
	// NextFree is the earliest later time that breaks no rule and is not quiet,
	// within the reach; PreviousFree the latest earlier one that is not in the past.
	NextFree     time.Time
	PreviousFree time.Time

	// Notices names the alerts that the change has raised, which are to be
	// delivered; what is not is found by looking after Notices that are due.
	Notices []string

	// Now is the clock the request was judged by: the server's, or the
	// request's own where it set one.
	Now time.Time
}

// Violation is a rule that accepting would break. A sliding rule's conflicts
// are the reservations in all windows that would break, a calendar rule's
// those in the period [From, Until).
type Violation struct {
	Rule        policy.Rule
	Category    string    // whose messages alone the rule counts; "" for all
	From, Until time.Time // of a calendar rule's period; zero for a sliding rule
	// Conflicts has the first MaxConflicts reservations in the way, ascending
	// by time, then id; ConflictsTotal counts all.
	Conflicts      []keyspace.Reservation
	ConflictsTotal int
}

// MaxConflicts is how many reservations a violation lists.
const MaxConflicts = 10

// RuleUsage is how full a rule is around a time: the fullest window that
// contains it (the earliest such, where several are as full), or the calendar
// period it is in. Reservations sent and unsent both count.
type RuleUsage struct {
	Rule        policy.Rule
	Category    string // as in Violation
	Used        int
	From, Until time.Time // the window counted, half-open
}

// Usage is the answer to Timeline.Usage.
type Usage struct {
	At    time.Time
	Rules []RuleUsage // in the policy's order, then that of the category
	// Free has the maximal stretches, ascending, in which every millisecond
	// would be accepted, within the span asked about; none for a user who is blocked.
	Free []calendar.Stretch
	// Quiet has the stretches of quiet hours within it, ascending.
	Quiet []calendar.Stretch
	// Blocked says that the user is, whatever the rules would leave free.
	Blocked bool
	Now     time.Time
}
