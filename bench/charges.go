package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// chargedAccount is the account that is charged; its quotas are never reached.
// chargedPrefix keeps its data apart from the other side's.
const (
	chargedAccount = "bench"
	chargedPrefix  = "charged"
)

// measureCharges compares Submitter.Submit with an account, which is charged for each
// message, with Submit without an account. It waits for what is settled in the
// background, and counts it in.
func measureCharges(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	for _, prefix := range []string{"", chargedPrefix} {
		if err := s.seedPolicy(ctx, prefix); err != nil {
			return nil, err
		}
	}
	if err := s.seedAccount(ctx, chargedAccount, chargedPrefix); err != nil {
		return nil, err
	}
	each := 1 + (size.slices*size.submits+size.users-1)/size.users
	times := newSchedule(size.users, each)
	plain := s.submitting("", submit.Options{}, times)
	charged := s.submittingFor(chargedAccount, chargedPrefix, submit.Options{}, times)
	if err := s.interleave(ctx, size.slices, size.submits, plain, charged); err != nil {
		return nil, err
	}
	return []row{atLeast("submit-account", "Submit charged to an account, settled, a second / Submit without one",
		charged.rateOver(plain), 0.6,
		fmt.Sprintf("charged %.0f/s, %s of Redis time in %.0f scripts", charged.rate(), charged.timing(), charged.series.runs),
		fmt.Sprintf("without %.0f/s, %s", plain.rate(), plain.timing()))}, nil
}

// seedAccount creates an account under a prefix, with quotas that are never reached.
func (s *store) seedAccount(ctx context.Context, name, prefix string) error {
	directory := accounts.New(s.client, keyspace.KeysUnder(prefix))
	tier := accounts.Tier{
		Name: name, MessagesPerHour: accounts.MaxTierLimit, MessagesPerDay: accounts.MaxTierLimit,
	}
	if err := directory.SetTier(ctx, tier); err != nil {
		return fmt.Errorf("tier: %w", err)
	}
	_, err := directory.Create(ctx, accounts.Account{Name: name, Tier: tier.Name, Contact: "ops@example.com"})
	if err != nil {
		return fmt.Errorf("account: %w", err)
	}
	return nil
}
