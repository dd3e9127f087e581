package sendlimit

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Request asks for a place: Reserve takes it, Check only looks.
type Request struct {
	User string // 1 to 256 bytes of UTF-8 without control characters
	ID   string // 1 to 128 of A-Z a-z 0-9 . _ : -; unique per user
	// At is the send time, cut to the millisecond. The zero value means now.
	At time.Time
	// Shift takes the next free time when At is refused, up to and including
	// ShiftUntil; a zero ShiftUntil means as far as the reach goes.
	Shift      bool
	ShiftUntil time.Time
	// ByPolicy does as Shift if the user's policy says so: see Policy.OnConflict.
	ByPolicy bool
	// Category is what rules judge the message by; "" for none. With a Record it is
	// the record's where either is empty, and not another.
	Category string
	// SearchFrom is where a shift begins to look for a free time, and takes none
	// before it, At included; zero means At. Check does not look at it.
	SearchFrom time.Time
	// Hold binds the place to what an account is charged for it; nil for no
	// account. It needs a Record. Check does not look at it.
	Hold *Hold
	// Record is what to remember of the message; required by a Timeline with
	// records, refused by one without.
	Record *Record
	// Now replaces the server's clock, for tests; zero means the server's.
	Now time.Time
}

// MoveRequest asks for another place for a reservation that has one. The old
// place is kept when the new one is refused.
type MoveRequest struct {
	User string
	ID   string
	At   time.Time // the new send time; the zero value means now
	// Generation is the new generation, see Record; required by a Timeline
	// with records, refused by one without.
	Generation string
	// Hold binds the move to what an account is charged for it, and to the
	// reservation being as Hold.Former and From say; nil for no account, with which
	// a reservation that one was charged for is refused with CodeChanged. It needs
	// a timeline with records. A move to where the reservation stands changes
	// nothing, and names no attempt.
	Hold *Hold
	From time.Time // where the reservation has to stand, or CodeChanged; required with Hold, else zero is anywhere
	Now  time.Time // as in Request
}

// ReleaseRequest gives a reservation back.
type ReleaseRequest struct {
	User string
	ID   string
	Hold *Hold     // as in MoveRequest
	From time.Time // as in MoveRequest
	Now  time.Time // as in Request
}

// NextFreeRequest asks for the next Count free times from From on, each
// counting those before it as taken.
type NextFreeRequest struct {
	User     string
	Category string    // of the messages to be sent at them; "" for none
	From     time.Time // the zero value means now; earlier than now is taken as now
	Count    int       // 1 to MaxNextFree
	Now      time.Time // as in Request
}

// MaxNextFree is how many free times one call gives at most.
const MaxNextFree = 100

// ListRequest asks for a user's reservations in [From, To), ascending by time,
// then id.
type ListRequest struct {
	User     string
	From, To time.Time            // zero: from the oldest remembered, to the end
	After    keyspace.Reservation // go on after this one; the zero value starts at From
	Limit    int                  // 1 to MaxList; zero means MaxList
	Now      time.Time            // as in Request
}

// MaxList is how many reservations one List call gives at most.
const MaxList = 10_000

// UsageRequest asks how full a user's rules are around At, and which
// stretches of [From, To) are free for a message of a category.
type UsageRequest struct {
	User     string
	Category string    // whose rules are looked at beside the overall ones; "" for none
	At       time.Time // the zero value means now
	From, To time.Time // To after From, at most MaxUsageSpan; both zero: no stretches
	Now      time.Time // as in Request
}

// MaxUsageSpan bounds the span whose free stretches one Usage call gives.
const MaxUsageSpan = 32 * 24 * time.Hour
