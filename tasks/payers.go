package tasks

import (
	"context"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
)

// payerFor is how old what a process knows of an account may get: no submit pays
// a round trip for it, and a change holds for everybody soon after it.
const payerFor = time.Second

// payer is an account that is charged for messages, with its tier.
type payer struct {
	account accounts.Account
	tier    accounts.Tier
	zone    *time.Location
	loaded  time.Time
}

// payers follows the accounts in the store.
type payers struct {
	accounts *accounts.Accounts
	local    func() time.Time

	mu    sync.Mutex
	known map[string]payer
}

func newPayers(accounts *accounts.Accounts, local func() time.Time) *payers {
	return &payers{accounts: accounts, local: local, known: make(map[string]payer)}
}

// active returns an account that may submit. The error is a
// *sendlimit.InvalidError for one that there is not, or that is disabled.
func (p *payers) active(ctx context.Context, name string) (payer, error) {
	found, err := p.get(ctx, name)
	switch {
	case err != nil:
		return payer{}, err
	case found.loaded.IsZero():
		return payer{}, invalid("account", name, "the name of an account that exists")
	case found.account.Disabled:
		return payer{}, invalid("account", name, "an account that is not disabled")
	}
	return found, nil
}

// whatever returns an account that was charged for a message, though it were
// disabled; one that is known no more has no limits.
func (p *payers) whatever(ctx context.Context, name string) (payer, error) {
	found, err := p.get(ctx, name)
	if err == nil && found.loaded.IsZero() {
		found = payer{account: accounts.Account{Name: name}, zone: time.UTC}
	}
	return found, err
}

// get returns the zero payer for an account that there is not.
func (p *payers) get(ctx context.Context, name string) (payer, error) {
	p.mu.Lock()
	found, ok := p.known[name]
	p.mu.Unlock()
	if ok && p.local().Sub(found.loaded) < payerFor {
		return found, nil
	}
	account, tier, ok, err := p.accounts.Resolve(ctx, name)
	if err != nil {
		return payer{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !ok {
		delete(p.known, name)
		return payer{}, nil
	}
	zone, err := account.Location()
	if err != nil {
		return payer{}, err
	}
	fresh := payer{account: account, tier: tier, zone: zone, loaded: p.local()}
	p.known[name] = fresh
	return fresh, nil
}
