package tasks

import (
	"context"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// maxLook bounds how many messages one round trip looks at.
const maxLook = 1000

// Owners says which accounts were charged for a user's messages, in the order of
// the ids: "" for a message that was charged to nobody or is not known.
func (s *Submitter) Owners(ctx context.Context, user string, ids ...string) ([]string, error) {
	owners := make([]string, 0, len(ids))
	for len(ids) > 0 {
		some := ids[:min(len(ids), maxLook)]
		ids = ids[len(some):]
		statuses, err := s.Statuses(ctx, user, some...)
		if err != nil {
			return nil, err
		}
		for _, status := range statuses {
			owners = append(owners, status.Account)
		}
	}
	return owners, nil
}

// NotWaiting is the outcome of cancelling or moving a message of which nothing is
// known.
func NotWaiting(user, id string) Outcome {
	d := sendlimit.Decision{Code: sendlimit.CodeNotFound}
	return outcomeOf(d, "", user, id)
}
