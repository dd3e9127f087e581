package sendlimit

import (
	"cmp"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Hold ties a change of a timeline to the charge for it, of an account, of a throttle or of both.
// First the charge is held, maybe on another server. Then the change is made or refused. Then the
// charge is settled. The record of the message has the attempt of its last change. To resolve an
// unsettled hold, read the record: an attempt that is not in it after NotAfter never will be.
type Hold struct {
	Account string // the charged account, 1 to 64 of a-z 0-9 _ -; "" for none
	// Throttle is the throttle that is charged; zero for none.
	Throttle policy.NamedThrottle
	// Attempt is the random token of the hold, for this change only, see package quota.
	Attempt string
	// NotAfter is the last time at which the change may be made, by the clock of the user's server.
	// Later it is refused with CodeHoldOver. So is a place in a category with a throttle other than
	// Throttle.
	NotAfter time.Time
	// From and Until are the charged period. A place before From, or at or after Until, is refused
	// with CodeOutsideHold, and a shift searches only before Until. Zero means no bound.
	From, Until time.Time
	// Former is the attempt that last charged the reservation (Info.Hold); "" for none. Moves,
	// replacements and releases only. They are refused with CodeChanged if the reservation has another attempt or
	// another time than From.
	Former string
}

// check returns an *InvalidError for an invalid hold; nil is valid.
func (h *Hold) check(records bool) error {
	switch {
	case h == nil:
		return nil
	case !records:
		return &fault.InvalidError{Field: "hold", Value: h.Attempt, Want: "none: this timeline keeps places only"}
	case h.Account != "" && !keyspace.ValidName(h.Account): // accounts and policies have the same form of names
		return &fault.InvalidError{Field: "account", Value: h.Account, Want: keyspace.WantName}
	case h.NotAfter.IsZero():
		return &fault.InvalidError{Field: "not_after", Value: "", Want: "a time until which the change may be made"}
	}
	return keyspace.CheckAttempt(h.Attempt)
}

// charge returns field y of a record, see lua/fragments/record.lua; "" without a hold.
func (h *Hold) charge() string {
	if h == nil {
		return ""
	}
	return cmp.Or(h.Account, script.NoValue) + " " + h.Attempt
}

// throttle returns the throttle that is charged; zero for none.
func (h *Hold) throttle() policy.NamedThrottle {
	if h == nil {
		return policy.NamedThrottle{}
	}
	return h.Throttle
}

const (
	// noBounds are the bounds without a hold.
	noBounds = script.NoValue + " " + script.NoValue + " " + script.NoValue
	// holdsNothing are the bounds of an expired hold: no change can be made with it.
	holdsNothing = "0 " + script.NoValue + " " + script.NoValue
)

// bounds returns the last time of the change, the first time for its place, and the end, as
// lua/fragments/choice.lua and held.lua read them.
func (h *Hold) bounds() string {
	if h == nil {
		return noBounds
	}
	return script.Word(h.NotAfter) + " " + script.Word(h.From) + " " + script.Word(h.Until)
}

// held returns the hold of a move or a release, as lua/fragments/held.lua reads it.
func (h *Hold) held() any {
	if h == nil {
		return ""
	}
	return h.charge() + " " + h.bounds() + " " + cmp.Or(h.Former, script.NoValue)
}
