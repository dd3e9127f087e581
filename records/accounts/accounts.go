package accounts

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Accounts keeps accounts, their API keys and tiers in the store. A change takes effect with the
// next call of any process. All keys are in one slot of a Redis Cluster, so that a change is
// atomic. It is safe for concurrent use.
//
// If Redis is unavailable, every call returns an *UnavailableError, and no key is accepted.
type Accounts struct {
	client redis.UniversalClient
	keys   keyspace.Keys
}

// New returns the accounts in a store.
func New(client redis.UniversalClient, keys keyspace.Keys) *Accounts {
	return &Accounts{client: client, keys: keys}
}

// Get returns an account; ok is false if it does not exist. Resolve also returns its tier.
func (a *Accounts) Get(ctx context.Context, name string) (_ Account, ok bool, err error) {
	found, err := a.find(ctx, name, "", "reading an account")
	if err != nil || found.name == "" {
		return Account{}, false, err
	}
	return found.account.public(name), true, nil
}

// Resolve returns an account with its tier in one round trip; ok is false if it does not exist. An
// account without a tier has the zero Tier, which has no limits.
func (a *Accounts) Resolve(ctx context.Context, name string) (_ Account, _ Tier, ok bool, err error) {
	found, err := a.find(ctx, name, "", "reading an account")
	if err != nil || found.name == "" {
		return Account{}, Tier{}, false, err
	}
	return found.account.public(name), found.tier, true, nil
}

// List returns all accounts by name.
func (a *Accounts) List(ctx context.Context) ([]Account, error) {
	const doing = "listing accounts"
	all, err := a.client.HGetAll(ctx, a.keys.Accounts()).Result()
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	list := make([]Account, 0, len(all))
	for name, text := range all {
		stored, err := decodeAccount(name, text, doing)
		if err != nil {
			return nil, err
		}
		list = append(list, stored.public(name))
	}
	slices.SortFunc(list, func(x, y Account) int { return strings.Compare(x.Name, y.Name) })
	return list, nil
}

// Page returns at most limit accounts by name whose names come after a name; "" comes before all.
// next is the name to continue after, "" at the end. It reads only the names of other accounts, in
// two round trips.
func (a *Accounts) Page(ctx context.Context, after string, limit int) (list []Account, next string, err error) {
	const doing = "listing accounts"
	list = []Account{}
	next, err = a.readPage(ctx, a.keys.Accounts(), doing, after, limit, func(name, text string) error {
		stored, err := decodeAccount(name, text, doing)
		list = append(list, stored.public(name))
		return err
	})
	return list, next, err
}

// readPage calls each for the names and texts of a page of a hash.
func (a *Accounts) readPage(
	ctx context.Context, key, doing, after string, limit int, each func(name, text string) error,
) (next string, err error) {
	names, err := a.client.HKeys(ctx, key).Result()
	if err != nil {
		return "", store.Explain(err, doing)
	}
	names, next = script.PageOf(names, after, limit)
	if len(names) == 0 {
		return "", nil
	}
	texts, err := a.client.HMGet(ctx, key, names...).Result()
	if err != nil {
		return "", store.Explain(err, doing)
	}
	for i, name := range names {
		text, there := texts[i].(string)
		if !there {
			continue // removed meanwhile
		}
		if err := each(name, text); err != nil {
			return "", err
		}
	}
	return next, nil
}

// Create stores a new account without keys; CreatedAt is the store's clock. The error is an
// *ExistsError if the account exists, and an *InvalidError if its tier does not exist or a field is
// not allowed.
func (a *Accounts) Create(ctx context.Context, account Account) (Account, error) {
	if err := account.Validate(); err != nil {
		return Account{}, err
	}
	account.FormerZone, account.ZoneFrom = "", time.Time{}
	return a.change(ctx, account.Name, "creating an account", func(now time.Time, found *storedAccount) (*storedAccount, error) {
		if found != nil {
			return nil, &fault.ExistsError{What: "account", Name: account.Name}
		}
		created := storedAccount{CreatedAt: now.UnixMilli(), Disabled: account.Disabled}
		created.describe(account)
		return &created, nil
	})
}

// Set changes an account. A lower quota takes effect with the next charge; existing charges stay. A
// new time zone takes effect at the end of the account's current day in the old zone. The error is
// a *NoSuchError if the account does not exist.
func (a *Accounts) Set(ctx context.Context, name string, change Change) (Account, error) {
	return a.changeExisting(ctx, name, "changing an account", func(now time.Time, next *storedAccount) error {
		changed := next.public(name)
		change.apply(&changed)
		if change.TimeZone != nil {
			changed.changeZone(*change.TimeZone, now)
		}
		if err := changed.Validate(); err != nil {
			return err
		}
		next.describe(changed)
		if change.Disabled != nil {
			next.Disabled = *change.Disabled
		}
		return nil
	})
}
