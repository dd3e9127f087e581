package accounts

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// foundAccount is an account in the store.
type foundAccount struct {
	now     time.Time
	name    string // "" if it does not exist
	text    string // as stored
	account storedAccount
	tier    Tier
}

// find looks up an account by its name or, if that is "", by the hash of a key.
func (a *Accounts) find(ctx context.Context, name, hash, doing string) (foundAccount, error) {
	in := script.Call(ctx, a.client, lua.AccountFind, doing,
		[]string{a.keys.Accounts(), a.keys.AccountKeys(), a.keys.Tiers()}, []any{name, hash})
	found := foundAccount{now: in.Time(0), name: in.String(1), text: in.String(2)}
	tier := in.String(3)
	if in.Err != nil || found.name == "" {
		return found, in.Err
	}
	var err error
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

// maxChangeTries bounds the repetitions of a change while others change the same account.
const maxChangeTries = 32

// change stores the account that edit returns; nil is an account that does not exist. Edit runs
// again if others changed the account in between.
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

// changeExisting is change for an account that exists. The error of another one is a *NoSuchError.
func (a *Accounts) changeExisting(ctx context.Context, name, doing string, edit func(now time.Time, next *storedAccount) error) (Account, error) {
	return a.change(ctx, name, doing, func(now time.Time, found *storedAccount) (*storedAccount, error) {
		if found == nil {
			return nil, fault.NoSuchAccount(name)
		}
		next := *found
		return &next, edit(now, &next)
	})
}

// store replaces an account that was found. It reports false if the account has changed since.
func (a *Accounts) store(ctx context.Context, name, doing string, found foundAccount, after storedAccount) (bool, error) {
	text, err := json.Marshal(after)
	if err != nil {
		return false, fmt.Errorf("%s: %w", doing, err)
	}
	in := script.Call(ctx, a.client, lua.AccountChange, doing,
		[]string{a.keys.Accounts(), a.keys.AccountKeys(), a.keys.Tiers(), a.keys.Callbacks()},
		[]any{
			name, found.text, text, after.Tier, after.hashesBeside(found.account), found.account.hashesBeside(after),
			after.Events != nil,
		})
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
