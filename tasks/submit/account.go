package submit

import (
	"context"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// For returns the same submitter, acting for an account: what it submits is
// charged to it, and another's message is to it as if there were none. Closing
// one of them closes both. For("") acts for everybody.
func (s *Submitter) For(account string) *Submitter {
	own := *s
	own.account = account
	return &own
}

// CheckAccount returns a *sendlimit.InvalidError where an account does not exist
// or is disabled.
func (s *Submitter) CheckAccount(ctx context.Context, name string) error {
	_, err := s.charger.payers.Active(ctx, name)
	return err
}

// message is a message as this submitter submits it.
func (s *Submitter) message(m message.Message) message.Message {
	if s.account != "" {
		m.Account = s.account
	}
	return m
}

// owns says whether this submitter is to see a message that an account was
// charged for.
func (s *Submitter) owns(account string) bool { return s.account == "" || s.account == account }

// ownStatuses leaves nothing of messages that are not to be seen.
func (s *Submitter) ownStatuses(statuses []message.Status) []message.Status {
	for i, status := range statuses {
		if !s.owns(status.Account) {
			statuses[i] = message.Status{}
		}
	}
	return statuses
}

// largestOwnPage bounds a page of everybody's messages, among which an account's
// are looked for.
const largestOwnPage = 1000

// listOwn lists an account's messages among a user's, as many pages as it takes:
// larger ones each time, or a few among many others' would take a round trip each.
func (s *Submitter) listOwn(ctx context.Context, r sendlimit.ListRequest, limit int) ([]message.Status, error) {
	var own []message.Status
	everybody := s.For("")
	for r.Limit = limit; ; r.Limit = max(limit, min(2*r.Limit, largestOwnPage)) {
		page, err := everybody.listAll(ctx, r)
		if err != nil {
			return nil, err
		}
		for _, status := range page {
			if s.owns(status.Account) && len(own) < limit {
				own = append(own, status)
			}
		}
		if len(own) == limit || len(page) < r.Limit {
			return own, nil
		}
		last := page[len(page)-1]
		r.After = keyspace.Reservation{ID: last.ID, At: last.SendAt.Time}
	}
}

// change is what Cancel and Move do to a message, with its account's charge.
func (s *Submitter) change(user, id string) *chargedChange {
	return &chargedChange{charger: s.charger, records: s.records, account: s.account, user: user, id: id}
}
