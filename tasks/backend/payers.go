package backend

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// payerFor is the greatest age of a cached account.
const payerFor = time.Second

// Payer is an account that is charged for messages, with its tier.
type Payer struct {
	Account accounts.Account
	Tier    accounts.Tier
	Zone    *time.Location // that counts now
	loaded  time.Time
}

// Payers follows the accounts in the store.
type Payers struct {
	accounts *accounts.Accounts
	local    func() time.Time

	mu        sync.Mutex
	known     map[string]Payer
	several   bool // more than one account was active at severalAt
	severalAt time.Time
}

func newPayers(accounts *accounts.Accounts, local func() time.Time) *Payers {
	return &Payers{accounts: accounts, local: local, known: make(map[string]Payer)}
}

// Active returns an account that may submit. The error is a *fault.InvalidError if the
// account does not exist or is disabled.
func (p *Payers) Active(ctx context.Context, name string) (Payer, error) {
	found, err := p.get(ctx, name)
	switch {
	case err != nil:
		return Payer{}, err
	case found.loaded.IsZero():
		return Payer{}, fault.Wrong("account", "there is no account %q", fault.Clip(name))
	case found.Account.Disabled:
		return Payer{}, fault.Wrong("account", "account %q is disabled", name)
	}
	return found, nil
}

// Charged returns an account that was charged for a message, even if it is disabled now.
// An account that was removed has no limits.
func (p *Payers) Charged(ctx context.Context, name string) (Payer, error) {
	found, err := p.get(ctx, name)
	if err == nil && found.loaded.IsZero() {
		found = Payer{Account: accounts.Account{Name: name}, Zone: time.UTC}
	}
	return found, err
}

// severalFor is the greatest age of Payers.several.
const severalFor = 10 * time.Second

// Several reports whether more than one account is active, see accounts.SeveralActive.
func (p *Payers) Several(ctx context.Context) (bool, error) {
	now := p.local()
	p.mu.Lock()
	several, at := p.several, p.severalAt
	p.mu.Unlock()
	if !at.IsZero() && now.Sub(at) < severalFor {
		return several, nil
	}
	several, err := p.accounts.SeveralActive(ctx, now)
	if err != nil {
		return false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.several, p.severalAt = several, now
	return several, nil
}

// get returns the zero Payer for an account that does not exist.
func (p *Payers) get(ctx context.Context, name string) (Payer, error) {
	p.mu.Lock()
	found, ok := p.known[name]
	p.mu.Unlock()
	if ok && p.local().Sub(found.loaded) < payerFor {
		return found, nil
	}
	account, tier, ok, err := p.accounts.Resolve(ctx, name)
	if err != nil {
		return Payer{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !ok {
		delete(p.known, name)
		return Payer{}, nil
	}
	now := p.local()
	zone, err := account.LocationAt(now)
	if err != nil {
		return Payer{}, err
	}
	fresh := Payer{Account: account, Tier: tier, Zone: zone, loaded: now}
	p.known[name] = fresh
	return fresh, nil
}

// Quota completes the outcome of a message whose quota is used up, in the time zone of its account.
// It ignores other charges.
func (p Payer) Quota(o *message.Outcome, c quota.Charge) {
	if c.Code != fault.CodeQuotaExceeded {
		return
	}
	const layout = "2006-01-02 15:04"
	used, zone := c.UsedUp, p.Zone
	if its, err := p.Account.LocationAt(c.At); err == nil {
		zone = its // the zone may change before or after the period
	}
	period := "the day " + used.From.In(zone).Format("2006-01-02")
	if used.Counter.Period == calendar.Hour {
		period = "the hour from " + used.From.In(zone).Format(layout)
	}
	o.Detail = fmt.Sprintf("account %s has no messages left for %s: its quota is %s; the next begins at %s %s",
		p.Account.Name, period, used.Counter, used.Until.In(zone).Format(layout), zone)
	o.ResetsAt = message.Time{Time: used.Until}
	o.RetryAfterSeconds = int64((c.RetryAfter + time.Second - 1) / time.Second)
}
