package tasks

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// Listed is a message of a list, as every surface spells it. Status says more
// of one.
type Listed struct {
	ID     string `json:"id"`
	User   string `json:"user"`
	SendAt Time   `json:"send_at"`
	// Status is absent where there is a place and nothing more is known.
	Status string `json:"status,omitempty"`
}

// Listed looks what became of a user's messages, in one round trip.
func (s *Submitter) Listed(ctx context.Context, user string, messages []sendlimit.Reservation) ([]Listed, error) {
	ids := make([]string, len(messages))
	for i, m := range messages {
		ids[i] = m.ID
	}
	statuses, err := s.Statuses(ctx, user, ids...)
	if err != nil {
		return nil, err
	}
	listed := make([]Listed, len(messages))
	for i, m := range messages {
		listed[i] = Listed{ID: m.ID, User: user, SendAt: Time{m.At}, Status: statuses[i].Status}
	}
	return listed, nil
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
