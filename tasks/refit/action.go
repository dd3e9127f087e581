package refit

import (
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// RefitAction is what is done with reservations that do not fit their policy.
type RefitAction string

// The actions.
const (
	RefitKeep   RefitAction = "keep"   // they are sent as they were promised
	RefitShift  RefitAction = "shift"  // each goes to its next free time before it expires
	RefitCancel RefitAction = "cancel" // they are taken back
)

// ParseRefitAction reads an action. The error is a *sendlimit.InvalidError.
func ParseRefitAction(text string) (RefitAction, error) {
	switch a := RefitAction(text); a {
	case RefitKeep, RefitShift, RefitCancel:
		return a, nil
	default:
		return "", message.NotAllowed("then", text, "%s, %s or %s", RefitKeep, RefitShift, RefitCancel)
	}
}
