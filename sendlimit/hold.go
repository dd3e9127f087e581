package sendlimit

import (
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Hold is what binds a change of a timeline to the charge that an account bears
// for it. The account's charge is held first, on another server perhaps; then
// the change is made, or refused; then the charge is settled accordingly. The
// record of the message names the attempt of each change that was made, so that
// whoever finds a hold unsettled can tell: what is not named by NotAfter never
// will be.
type Hold struct {
	Account string // whose charge it is, 1 to 64 of a-z 0-9 _ -
	// Attempt is the token of the hold, made for this change alone, see
	// NewGeneration.
	Attempt string
	// NotAfter is until when, by the server's clock, the change may be made; later
	// it is refused with CodeHoldOver.
	NotAfter time.Time
	// Until is the end of the period that is charged: a place at or after it is
	// refused with CodeOutsideHold, and a shift looks no further. Zero means
	// anywhere.
	Until time.Time
	// Former is, of a move or a release, the attempt that the reservation has to
	// have come to its place under, Standing.Hold; "" for none. Under another one,
	// or where it does not stand at From, the change is refused with CodeChanged.
	Former string
}

// check says what is wrong with a hold; one that is nil is right.
func (h *Hold) check(records bool) error {
	switch {
	case h == nil:
		return nil
	case !records:
		return &fault.InvalidError{Field: "hold", Value: h.Attempt, Want: "none: this timeline keeps places only"}
	case !keyspace.ValidName(h.Account): // accounts are named as policies are
		return &fault.InvalidError{Field: "account", Value: h.Account, Want: "a name of 1 to 64 of a-z 0-9 _ -"}
	case h.NotAfter.IsZero():
		return &fault.InvalidError{Field: "not_after", Value: "", Want: "a time until which the change may be made"}
	}
	return keyspace.CheckToken(h.Attempt)
}

// charge is the field y of a record, see lua/fragments/record.lua; "" without a
// hold.
func (h *Hold) charge() string {
	if h == nil {
		return ""
	}
	return h.Account + " " + h.Attempt
}

// bounds are until when a change may be made and where its place may be, as
// lua/fragments/hold.lua reads them, and where to search from; "" for none of
// these.
func (h *Hold) bounds(searchFrom time.Time) string {
	if h == nil && searchFrom.IsZero() {
		return ""
	}
	words := []string{script.NoValue, script.NoValue, script.Word(searchFrom)}
	if h != nil {
		words[0], words[1] = script.Word(h.NotAfter), script.Word(h.Until)
	}
	return strings.Join(words, " ")
}

// changeArguments are the arguments of lua.Move and lua.Release for a hold on
// what stands at from; without a hold, zero is anywhere.
func (h *Hold) changeArguments(from time.Time) []any {
	if h == nil {
		return []any{"", "", "", script.Milliseconds(from)}
	}
	return []any{h.charge(), h.bounds(time.Time{}), h.Former, script.Milliseconds(from)}
}
