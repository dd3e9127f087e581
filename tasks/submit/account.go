package submit

import (
	"context"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// For returns the same submitter, acting for an account: its messages are charged to the account,
// and it does not find the messages of other accounts. Closing one closes both. For("") acts for
// all accounts.
func (s *Submitter) For(account string) *Submitter {
	own := *s
	own.account = account
	return &own
}

// CheckAccount returns a *fault.InvalidError if an account does not exist or is disabled.
func (s *Submitter) CheckAccount(ctx context.Context, name string) error {
	_, err := s.charger.payers.Active(ctx, name)
	return err
}

// MaxDevices returns how many devices the submitter's account may have; 0 is no limit, also
// without an account.
func (s *Submitter) MaxDevices(ctx context.Context) (int64, error) {
	if s.account == "" {
		return 0, nil
	}
	payer, err := s.charger.payers.Active(ctx, s.account)
	return payer.Tier.Devices, err
}

// message returns a message as this submitter submits it.
func (s *Submitter) message(m message.Message) message.Message {
	if s.account != "" {
		m.Account = s.account
	}
	return m
}

// owns reports whether this submitter may see a message that an account was charged for.
func (s *Submitter) owns(account string) bool { return s.account == "" || s.account == account }

// ownStatuses empties the statuses that this submitter may not see.
func (s *Submitter) ownStatuses(statuses []message.Status) []message.Status {
	for i, status := range statuses {
		if !s.owns(status.Account) {
			statuses[i] = message.Status{}
		}
	}
	return statuses
}

// largestOwnPage bounds a page of all accounts' messages that is searched for one account's.
const largestOwnPage = 1000

// listOwn lists an account's messages to a user, in as many pages as needed. Pages grow, so that
// few messages among many of other accounts don't need a round trip each.
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

// change returns the change that Cancel and Move make, with its account's charge.
func (s *Submitter) change(user, id string) *chargedChange {
	return &chargedChange{
		charger: s.charger, records: s.records, rules: s.Policies.Rules(), timeline: s.timeline, account: s.account, user: user, id: id,
	}
}
