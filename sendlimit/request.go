package sendlimit

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/internal/judge"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Request asks for a place. Reserve takes it; Check only judges.
type Request struct {
	User string // see keyspace.ValidUser
	ID   string // 1 to 128 of A-Z a-z 0-9 . _ : -; unique per user
	// At is the send time, cut to the millisecond. The zero value means now.
	At time.Time
	// Window takes a free time in a window, instead of at At; nil for none. At is zero then, and
	// nothing else shifts the message. It ignores WithoutFreeTimes.
	Window *Window
	// Shift takes the next free time when At is refused, up to and including ShiftUntil; a zero
	// ShiftUntil means the end of the reach.
	Shift      bool
	ShiftUntil time.Time
	// ByPolicy shifts if the user's policy says so, see Policy.OnConflict.
	ByPolicy bool
	// WithoutFreeTimes leaves Decision.NextFree and PreviousFree zero if At is refused, and sets
	// Decision.WithoutFreeTimes. Such a refusal costs Redis less. It has no effect on a message
	// that shifts, since a shift searches for free times anyway.
	WithoutFreeTimes bool
	// Category selects the rules that judge the message; "" for none. It must equal the category of
	// the Record, unless one of them is empty.
	Category string
	// SearchFrom is where a shift starts its search. The shift takes no earlier time, not even At;
	// zero means At. Check ignores it.
	SearchFrom time.Time
	// WithoutSpread ignores the policy's ShiftSpread. Use it if no time is free with it: without a
	// Hold, Reserve and Check do so themselves.
	WithoutSpread bool
	// Hold ties the place to the charge of an account or a throttle; nil for none. It needs a
	// Record. Check ignores it. If the category has a throttle that Hold does not charge, the code
	// is CodeHoldOver.
	Hold *Hold
	// Share names the message's account, and bounds that account's places in a day. It needs a
	// Record.
	Share Share
	// Replace lets Reserve replace the pending message with the ID; nil refuses a used id with
	// CodeIDReused. It needs a Record.
	Replace *Replacement
	// Record is the message's record. It is required by a Timeline with records, and refused by one
	// without.
	Record *Record
	// Valid returns until when the place may be taken, by the clock of Rules.UseUntil; an error ends
	// the request. If the store gets the request later, Valid is called again. Check ignores it; nil
	// means at any time.
	Valid func(context.Context) (time.Time, error)
	// Zone is the user's time zone by which the caller has chosen the times, see Rules.Zone; "" if they
	// depend on no zone. If the user has another one, the error has ErrOtherZone in its chain.
	Zone string
	// Now replaces the server's clock, for tests; zero means the server's.
	Now time.Time

	before time.Time        // the end of the window that the request is for; zero for none
	best   *judge.BestHours // by which the time was drawn; nil for none
}

// Share names the account of a message, and bounds how many of a user's places in a day of UTC
// (Options.PlacesPerDay) that account may have. The code is CodeAccountPlaces if it has as many on
// that day. Zero Places mean no bound; otherwise Policy.AccountShare bounds the account's part of
// each rule too, see Violation.Share. A place counts for the account in its Hold for as long as its
// record is kept. The code is CodeCategoryReserved if a new message is of a category that is
// reserved for other accounts. The zero value is a message of no account.
type Share = judge.Share

// checkShare returns an *InvalidError for an invalid share.
func (o Options) checkShare(s Share) error {
	switch {
	case s == Share{}:
		return nil
	case !o.Records:
		return &fault.InvalidError{Field: "share", Value: s.Account, Want: "none: this timeline keeps places only"}
	case !keyspace.ValidName(s.Account): // accounts and policies have the same form of names
		return &fault.InvalidError{Field: "account", Value: s.Account, Want: keyspace.WantName}
	case s.Places < 0 || s.Places > o.PlacesPerDay:
		return &fault.InvalidError{Field: "share", Value: strconv.Itoa(s.Places), Want: fmt.Sprintf("0 to %d places", o.PlacesPerDay)}
	}
	return nil
}

// MoveRequest asks for another place for a reservation. The old place is kept if the new one is
// refused.
type MoveRequest struct {
	User string
	ID   string
	At   time.Time // the new send time; the zero value means now
	// Generation is the new generation, see Record. It is required by a Timeline with records, and
	// refused by one without.
	Generation string
	// Hold ties the move to the charge of an account or a throttle; nil for none. The code is
	// CodeChanged if the reservation is not as Hold.Former and From say, if Hold is nil although
	// the reservation was charged, or if its category has a throttle that is not Hold.Throttle.
	// Hold needs a timeline with records. A move to the present time changes nothing: the record
	// does not get the attempt of Hold.
	Hold *Hold
	// From must be the present time of the reservation, else the code is CodeChanged. Hold requires
	// it; without Hold, zero means any time.
	From time.Time
	// Share is as in Request. Its account must be that of the reservation.
	Share Share
	// Check returns what Move would answer, and changes nothing. It ignores how the reservation was
	// charged. It needs a timeline with records.
	Check bool
	// Edit is made together with the move, even if the message has its new send time already; nil
	// for none. It needs a timeline with records.
	Edit *Edit
	// Unlimited moves the message even if it was moved Options.MovesPerMinute times.
	Unlimited bool
	// Reason is why an Unlimited move is made, for the history of the message; "" for none.
	Reason string
	Zone   string    // as in Request
	Now    time.Time // as in Request
}

// ReleaseRequest gives a reservation back.
type ReleaseRequest struct {
	User string
	ID   string
	Hold *Hold     // as in MoveRequest
	From time.Time // as in MoveRequest
	// Dropped is why the message is dropped; "" if it is cancelled. It needs a timeline with records.
	Dropped string
	Now     time.Time // as in Request
}

// NextFreeRequest asks for the Count free times nearest to From, not before it. Each counts those
// before it as taken.
type NextFreeRequest struct {
	User     string
	Category string // of the messages to be sent; "" for none
	// ID is a message of the user whose own place does not count, as for a move; "" for a new
	// message. Category must be the message's.
	ID    string
	From  time.Time // zero or a past time means now
	Count int       // 1 to MaxNextFree
	// Earlier searches from From back to now instead.
	Earlier bool
	// Shifts is the request of a message that shifts; nil for none. Then a time that the policy's
	// ShiftSpread delays is not free for it.
	Shifts *Request
	Share  Share     // as in Request
	Now    time.Time // as in Request
}

// MaxNextFree is the maximum number of free times that one call returns.
const MaxNextFree = 100

// ListRequest asks for a user's reservations in [From, To), ascending by time, then id.
type ListRequest struct {
	User     string
	From, To time.Time            // zero: from the oldest remembered, to the end
	After    keyspace.Reservation // continue after this one; the zero value starts at From
	Limit    int                  // 1 to MaxList; zero means MaxList
	Now      time.Time            // as in Request
}

// MaxList is the maximum number of reservations that one List call returns.
const MaxList = 10_000

// UsageRequest asks how full a user's rules are around At, and which stretches of [From, To) are
// free for a message of a category.
type UsageRequest struct {
	User     string
	Category string    // its rules are added to the overall ones; "" for none
	At       time.Time // up to the year 9997; the zero value means now
	From, To time.Time // From up to the year 9997, To after From, at most MaxUsageSpan; both zero: no stretches
	Now      time.Time // as in Request
}

// MaxUsageSpan is the longest span that one Usage call accepts.
const MaxUsageSpan = 32 * 24 * time.Hour
