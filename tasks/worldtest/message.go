package worldtest

import (
	"cmp"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Message returns the message that an event submits. at returns a time of the story, and shiftUntil is
// the last time that a shift may choose.
func (e Event) Message(at func(time.Duration) time.Time, shiftUntil time.Time) message.Message {
	m := message.Message{
		ID: e.ID, User: e.User, SendAt: at(e.SendAt), Now: e.Now, Title: cmp.Or(e.Title, FirstTitle),
		Category: e.Category, Campaign: e.Campaign, Account: e.Account, Late: e.Late,
	}
	switch {
	case e.Window > 0:
		m.Window, m.SendAt = &message.Window{From: m.SendAt, Until: at(e.SendAt + e.Window), Prefer: e.Prefer}, time.Time{}
		if e.Prefer == policy.PreferNearest {
			m.SendAt = at(e.SendAt + e.Window/2)
		}
	case e.Shift:
		m.OnConflict, m.ShiftUntil = message.OnConflictShift, shiftUntil
	case e.Now, e.SendAt < e.At: // it would shift to any day
		m.OnConflict = message.OnConflictRefuse
	}
	if e.Keeps {
		m.SendAt = m.SendAt.Truncate(time.Second)
		m.Local = keeping(m.SendAt)
	}
	if e.Expires > 0 {
		m.ExpiresAt = at(e.SendAt + e.Expires)
	}
	return m
}
