package accounts

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/page"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Account is a sender. It has API keys, a tier that limits what it may send, and
// a contact that is told when its quota is used up.
type Account struct {
	Name string // 1 to 64 of a-z 0-9 _ -
	Tier string // name of its tier; "" limits nothing
	// Contact is told about the account's quota: an e-mail address or an https:
	// URL, see policy.ValidContact. "" means nobody.
	Contact string
	// TimeZone is the IANA zone of the quota's hours and days; "" means UTC. After
	// Set has changed it, the FormerZone counts until ZoneFrom, which is the end of the
	// day that was under way then; see ZoneAt. Only Set sets these two.
	TimeZone   string
	FormerZone string
	ZoneFrom   time.Time // zero if the zone was never changed
	// ReportAt is the local time of the daily report, "08:00"; "" means no report.
	ReportAt  string
	Disabled  bool      // its keys let nobody in; what it submitted is still sent
	CreatedAt time.Time // UTC with milliseconds
	// Keys are the keys that were not removed, oldest first. Only AddKey,
	// RotateKey and RemoveKey change them.
	Keys []APIKey
}

// Validate checks each field. The error is an *InvalidError, or InvalidErrors for several
// fields.
func (a Account) Validate() error {
	var wrong fault.InvalidErrors
	if !ValidName(a.Name) {
		wrong.Add(&fault.InvalidError{Field: "account", Value: a.Name, Want: "a name of 1 to 64 of a-z 0-9 _ -"})
	}
	wrong.Add(a.validateDescription())
	return wrong.Err()
}

// validateDescription checks each field except the name.
func (a Account) validateDescription() error {
	var wrong fault.InvalidErrors
	if a.Tier != "" && !keyspace.ValidName(a.Tier) {
		wrong.Add(&fault.InvalidError{Field: "tier", Value: a.Tier, Want: tierNameWant})
	}
	if a.Contact != "" {
		wrong.Add(policy.ValidContact(a.Contact))
	}
	_, err := a.Location()
	wrong.Add(err)
	if a.ReportAt != "" {
		if at, err := time.Parse("15:04", a.ReportAt); err != nil || at.Format("15:04") != a.ReportAt {
			wrong.Add(&fault.InvalidError{Field: "report_at", Value: a.ReportAt, Want: "a time of day such as 08:00"})
		}
	}
	return wrong.Err()
}

// ValidName reports whether an account may have a name: 1 to 64 of a-z 0-9 _ -.
func ValidName(name string) bool { return keyspace.ValidName(name) }

// Accounts keeps accounts, their API keys and tiers in the store. A change takes
// effect with the next call of any process. All of them share a slot of a Redis
// Cluster, so that a change is made whole or not at all. It is safe for
// concurrent use.
//
// While Redis is away every call returns an *UnavailableError, and nobody is let
// in.
type Accounts struct {
	client redis.UniversalClient
	keys   keyspace.Keys
}

// New returns the accounts in the store behind client. Its keys begin with
// prefix; "" means keyspace.DefaultPrefix. The error is an *InvalidError.
func New(client redis.UniversalClient, prefix string) (*Accounts, error) {
	keys, err := keyspace.NewKeys(prefix)
	if err != nil {
		return nil, err
	}
	return &Accounts{client: client, keys: keys}, nil
}

// Get returns an account; ok is false if it does not exist. Resolve returns its
// tier as well.
func (a *Accounts) Get(ctx context.Context, name string) (_ Account, ok bool, err error) {
	found, err := a.find(ctx, name, "", "reading an account")
	if err != nil || found.name == "" {
		return Account{}, false, err
	}
	return found.account.public(name), true, nil
}

// Resolve returns an account with its tier in one round trip; ok is false if it
// does not exist. An account without a tier has the zero Tier, which limits
// nothing.
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

// Page returns at most limit accounts by name, of those whose names come after a name; ""
// is before all. Next is the name after which the next page begins, "" if there are no
// more. Of the other accounts it reads only the names, in two round trips.
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

// readPage calls each with the names and texts of a page of a hash.
func (a *Accounts) readPage(
	ctx context.Context, key, doing, after string, limit int, each func(name, text string) error,
) (next string, err error) {
	names, err := a.client.HKeys(ctx, key).Result()
	if err != nil {
		return "", store.Explain(err, doing)
	}
	names, next = page.Of(names, after, limit)
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

// Create stores a new account without keys; CreatedAt is the store's clock. The
// error is an *ExistsError if the account exists, and an *InvalidError if its tier
// does not exist or a field is not allowed.
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

// Change says what to change of an account. Nil fields stay.
type Change struct {
	Tier, Contact, TimeZone, ReportAt *string
	Disabled                          *bool
}

// Validate checks each field that changes. The error is an *InvalidError, or InvalidErrors
// for several fields.
func (c Change) Validate() error {
	var a Account
	c.apply(&a)
	if c.TimeZone != nil {
		a.TimeZone = *c.TimeZone
	}
	return a.validateDescription()
}

// apply changes the fields that only replace what was there.
func (c Change) apply(a *Account) {
	for _, field := range []struct{ to, from *string }{
		{&a.Tier, c.Tier},
		{&a.Contact, c.Contact},
		{&a.ReportAt, c.ReportAt},
	} {
		if field.from != nil {
			*field.to = *field.from
		}
	}
}

// Set changes an account. A lower quota takes effect with the next charge, and
// what is charged stays charged. Another time zone takes effect when the present day
// of the account has ended in the zone that it had. The error is a *NoSuchError if the account does
// not exist.
func (a *Accounts) Set(ctx context.Context, name string, change Change) (Account, error) {
	return a.change(ctx, name, "changing an account", func(now time.Time, found *storedAccount) (*storedAccount, error) {
		if found == nil {
			return nil, fault.NoSuchAccount(name)
		}
		changed := found.public(name)
		change.apply(&changed)
		if change.TimeZone != nil {
			changed.changeZone(*change.TimeZone, now)
		}
		if err := changed.Validate(); err != nil {
			return nil, err
		}
		next := *found
		next.describe(changed)
		if change.Disabled != nil {
			next.Disabled = *change.Disabled
		}
		return &next, nil
	})
}

// foundAccount is what the store knows of an account.
type foundAccount struct {
	now     time.Time
	name    string // "" if it does not exist
	text    string // as stored
	account storedAccount
	tier    Tier
}

// find looks an account up by its name or, if that is "", by the hash of a key.
func (a *Accounts) find(ctx context.Context, name, hash, doing string) (foundAccount, error) {
	answer, err := script.Run(ctx, a.client, lua.AccountFind, doing,
		[]string{a.keys.Accounts(), a.keys.AccountKeys(), a.keys.Tiers()}, []any{name, hash})
	if err != nil {
		return foundAccount{}, err
	}
	in := script.Read(answer, doing)
	found := foundAccount{now: in.Time(0), name: in.String(1), text: in.String(2)}
	tier := in.String(3)
	if in.Err != nil || found.name == "" {
		return found, in.Err
	}
	if found.account, err = decodeAccount(found.name, found.text, doing); err != nil {
		return foundAccount{}, err
	}
	if found.account.Tier == "" {
		return found, nil
	}
	if tier == "" {
		return foundAccount{}, fmt.Errorf("%s: %w", doing, &fault.UnavailableError{Detail: fmt.Sprintf(
			"account %q has the tier %q, which the store has not: set the tier", found.name, found.account.Tier)})
	}
	found.tier, err = decodeTier(found.account.Tier, tier, doing)
	return found, err
}

// maxChangeTries is how often a change is made again because others changed the
// same account meanwhile.
const maxChangeTries = 32

// change stores what edit makes of an account; nil stands for one that does not
// exist. Edit runs again if others changed the account meanwhile.
func (a *Accounts) change(
	ctx context.Context, name, doing string, edit func(now time.Time, found *storedAccount) (*storedAccount, error),
) (Account, error) {
	for range maxChangeTries {
		found, err := a.find(ctx, name, "", doing)
		if err != nil {
			return Account{}, err
		}
		var before *storedAccount
		if found.name != "" {
			before = &found.account
		}
		after, err := edit(found.now, before)
		if err != nil {
			return Account{}, err
		}
		after.forgetExpired(found.now)
		stored, err := a.store(ctx, name, doing, found, *after)
		if err != nil {
			return Account{}, err
		}
		if stored {
			return after.public(name), nil
		}
	}
	return Account{}, fmt.Errorf("%s: %w", doing, &fault.UnavailableError{
		Detail: fmt.Sprintf("account %q is being changed by others all the time: try again in a moment", name),
	})
}

// store replaces an account that was found. It reports false if the account was
// changed since.
func (a *Accounts) store(ctx context.Context, name, doing string, found foundAccount, after storedAccount) (bool, error) {
	text, err := json.Marshal(after)
	if err != nil {
		return false, fmt.Errorf("%s: %w", doing, err)
	}
	answer, err := script.Run(ctx, a.client, lua.AccountChange, doing,
		[]string{a.keys.Accounts(), a.keys.AccountKeys(), a.keys.Tiers()},
		[]any{name, found.text, text, after.Tier, after.hashesBeside(found.account), found.account.hashesBeside(after)})
	if err != nil {
		return false, err
	}
	in := script.Read(answer, doing)
	switch result := in.Int(0); {
	case in.Err != nil:
		return false, in.Err
	case result == 1:
		return true, nil
	case result == 0:
		return false, nil
	case result == -1:
		return false, &fault.InvalidError{Field: "tier", Value: after.Tier, Says: fmt.Sprintf("there is no tier %q", fault.Clip(after.Tier))}
	case result == -2:
		return false, &fault.InvalidError{Field: "key", Says: "another account has this key"}
	default:
		return false, script.ReplyError(doing, fmt.Sprintf("result %d", result))
	}
}
