package message

import (
	"time"
)

// Listed is a message of a list, as every surface spells it. Status says more
// of one.
type Listed struct {
	ID     string `json:"id"`
	User   string `json:"user"`
	SendAt Time   `json:"send_at"`
	// Status is absent where there is a place and nothing more is known.
	Status   string `json:"status,omitempty"`
	Attempts int    `json:"attempts,omitempty"`
	Reason   string `json:"reason,omitempty"` // as in Status
}

// ListedOf is what a list says of a message.
func ListedOf(s Status) Listed {
	return Listed{ID: s.ID, User: s.User, SendAt: s.SendAt, Status: s.Status, Attempts: s.Attempts, Reason: s.Reason}
}

// FreeTime is a time that is free for a user, as every surface spells it.
type FreeTime struct {
	User   string `json:"user"`
	FreeAt Time   `json:"free_at"`
}

// FreeTimesOf spells a user's free times.
func FreeTimesOf(user string, times []time.Time) []FreeTime {
	free := make([]FreeTime, len(times))
	for i, at := range times {
		free[i] = FreeTime{User: user, FreeAt: Time{at}}
	}
	return free
}
