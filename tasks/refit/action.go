package refit

import (
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Action is what is done with reservations that do not fit their policy.
type Action string

// The actions.
const (
	Keep   Action = "keep"   // they are sent as they were promised
	Shift  Action = "shift"  // each goes to its next free time before it expires
	Cancel Action = "cancel" // they are taken back
)

// ParseAction reads an action. The error is a *sendlimit.InvalidError.
func ParseAction(text string) (Action, error) {
	switch a := Action(text); a {
	case Keep, Shift, Cancel:
		return a, nil
	default:
		return "", message.NotAllowed("then", text, "%s, %s or %s", Keep, Shift, Cancel)
	}
}
