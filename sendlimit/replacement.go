package sendlimit

import (
	"cmp"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
)

// Replacement lets a Request replace the pending message with its id. The new message is judged
// without the place of the former one, of which only the accept, the history and the count of moves
// stay. A request with the fingerprint of the present message is Replayed, unless a Move or an Edit
// has changed the message since.
//
// The code is CodeTooLate if the message is being sent, has reached a device, may have arrived or
// was delivered, and CodeIDReused if it belongs to another account. An id that any Reserve may use
// is used. Options.MovesPerMinute bounds replacements as it does moves.
type Replacement struct {
	// Only refuses to create a message. The code is CodeNotFound if there is none to replace.
	Only bool
	// Account is the account of the request; "" for none.
	Account string
	// From is the present send time of the message, which Hold.Former charged; zero for no message.
	// The code is CodeChanged if they are not the message's, or if Hold is nil although the message
	// was charged. Without a Hold, zero means any time.
	From time.Time
}

// words returns the replacement as lua/fragments/replacement.lua reads it, after a "|"; ""
// without one.
func (r *Replacement) words(t *Timeline, h *Hold) string {
	if r == nil {
		return ""
	}
	mode, former := "+", script.NoValue
	if r.Only {
		mode = "="
	}
	if h != nil {
		former = cmp.Or(h.Former, former)
	}
	return fmt.Sprintf("|%s %s %s %s %d %d %s", mode, former, script.Word(r.From), cmp.Or(r.Account, script.NoValue),
		t.options.MovesPerMinute, t.options.Horizon.Milliseconds(), t.subscribers().Argument())
}
