package submit

import (
	"cmp"
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// List returns a user's messages, ascending by send time, then id: those with a place, as in
// Timeline.List, and those that were cancelled, dropped or failed, until they are forgotten. Fewer
// than the limit means that there are no more. For the next page, set r.After to the last one. The
// status of a place without a record is "".
func (s *Submitter) List(ctx context.Context, r sendlimit.ListRequest) ([]message.Status, error) {
	if s.account != "" {
		return s.listOwn(ctx, r, cmp.Or(r.Limit, sendlimit.MaxList))
	}
	return s.listAll(ctx, r)
}

// listAll lists the messages of all accounts to a user.
func (s *Submitter) listAll(ctx context.Context, r sendlimit.ListRequest) ([]message.Status, error) {
	t, err := s.Timeline(ctx)
	if err != nil {
		return nil, err
	}
	limit := cmp.Or(r.Limit, sendlimit.MaxList)
	places, err := t.List(ctx, r)
	if err != nil {
		return nil, err
	}
	others := r
	if len(places) == limit {
		// Ended messages behind the last place come on a later page.
		others.To = places[limit-1].At.Add(time.Millisecond)
	}
	ended, err := s.records.Ended(ctx, others)
	if err != nil {
		return nil, err
	}
	placed, err := s.statusesOf(ctx, r.User, places)
	if err != nil {
		return nil, err
	}
	return merged(placed, ended, limit), nil
}

// statusesOf returns the statuses of the messages in places.
func (s *Submitter) statusesOf(ctx context.Context, user string, places []keyspace.Reservation) ([]message.Status, error) {
	ids := make([]string, len(places))
	for i, p := range places {
		ids[i] = p.ID
	}
	statuses, err := s.Statuses(ctx, user, ids...)
	if err != nil {
		return nil, err
	}
	for i, p := range places {
		statuses[i].SendAt = message.Time{Time: p.At} // its record may be gone, or changed by now
	}
	return statuses, nil
}

// merged merges two ordered lists. A message in both, as it ended between the two reads, comes once.
func merged(placed []message.Status, ended []messages.Info, limit int) []message.Status {
	all := make([]message.Status, 0, min(limit, len(placed)+len(ended)))
	for len(all) < limit && len(placed)+len(ended) > 0 {
		order := 0
		switch {
		case len(placed) == 0:
			order = 1
		case len(ended) == 0:
			order = -1
		default:
			order = cmp.Or(placed[0].SendAt.Compare(ended[0].SendAt), cmp.Compare(placed[0].ID, ended[0].ID))
		}
		if order <= 0 {
			all, placed = append(all, placed[0]), placed[1:]
		} else {
			all = append(all, StatusOf(ended[0]))
		}
		if order >= 0 {
			ended = ended[1:]
		}
	}
	return all
}

// Find returns a page of the messages of all users that match a filter, without their
// contents; see find.Index.Page. A Submitter for an account finds only its messages.
func (s *Submitter) Find(ctx context.Context, f find.Filter, cursor string, limit int) (found []message.Status, next string, err error) {
	if s.account != "" {
		if f.Account != "" && f.Account != s.account {
			return nil, "", f.Check()
		}
		f.Account = s.account
	}
	page, err := s.index.Page(ctx, f, cursor, limit)
	if err != nil {
		return nil, "", err
	}
	found = make([]message.Status, len(page.Messages))
	for i, m := range page.Messages {
		found[i] = StatusOf(m)
	}
	return found, page.Next, nil
}
