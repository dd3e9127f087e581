package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier/notice"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const (
	keysPattern = accountPattern + "/keys"
	keyPattern  = keysPattern + "/{key}"
)

func (s *server) accountKeyRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("addAccountKey", http.MethodPost, keysPattern, "accounts",
				"Add an API key to an account",
				"The other keys stay valid. rotateAccountKey replaces one. Each request creates a key, even a repeated one."),
			scope: accounts.ScopeAdmin, says: "Created. The key is shown only once.", makes: true, once: true, refuses: []int{http.StatusNotFound},
		}, s.addKey),
		operation(s, route{
			Operation: named("rotateAccountKey", http.MethodPost, keyPattern+"/rotate", "accounts",
				"Replace an API key",
				"Creates a key with the same scopes, which does not expire. The old key stays valid for the overlap, unless it expires "+
					"earlier, so that you can install the new one. Each request creates a key, even a repeated one; none extends the life of the old key."),
			scope: accounts.ScopeAdmin, says: "Created. The key is shown only once.", makes: true, once: true, refuses: []int{http.StatusNotFound},
		}, s.rotateKey),
		operation(s, route{
			Operation: named("removeAccountKey", http.MethodDelete, keyPattern, "accounts",
				"Remove an API key",
				"The key becomes invalid within a second in every process."),
			scope: accounts.ScopeAdmin, says: "Removed. The account after the change.", refuses: []int{http.StatusNotFound},
		}, s.removeKey),
	}
}

// mayGive returns an error if the caller may not create a key with these scopes. A caller without
// the scope content can't create a key that has it.
func mayGive(ctx context.Context, scopes []accounts.Scope) error {
	if slices.Contains(scopes, accounts.ScopeContent) && !callerOf(ctx).may(accounts.ScopeContent) {
		return forbidden(accounts.ScopeContent)
	}
	return nil
}

// scopesOf reads the scopes of a key. Without the field, a key gets the default scopes. An empty
// list is an error.
func scopesOf(d message.APIKeyDraft) ([]accounts.Scope, error) {
	if d.Scopes != nil && len(d.Scopes) == 0 {
		return nil, fault.Wrong("scopes", "scopes is empty: a key needs at least one of submit, read and admin")
	}
	return accounts.ParseScopes(d.Scopes...)
}

// expiryOf reads the expiry of a key. The zero time means never.
func expiryOf(d message.APIKeyDraft) (time.Time, error) {
	if d.ExpiresAt == "" {
		return time.Time{}, nil
	}
	at, err := calendar.ParseTime(d.ExpiresAt, nil)
	return at, fault.InField(err, "expires_at")
}

type newKey struct {
	ofAccount

	Body    object[message.APIKeyDraft]
	scopes  []accounts.Scope
	expires time.Time
}

func (in *newKey) check(context.Context, *server) error {
	var wrong fault.InvalidErrors
	var err error
	in.scopes, err = scopesOf(in.Body.value)
	wrong.Add(err)
	in.expires, err = expiryOf(in.Body.value)
	wrong.Add(err)
	return wrong.Err()
}

func (s *server) addKey(ctx context.Context, in newKey) (message.NewAPIKey, error) {
	if err := mayGive(ctx, in.scopes); err != nil {
		return message.NewAPIKey{}, err
	}
	secret, key, err := s.Accounts.AddKey(ctx, in.Account, in.scopes, in.expires, func(account accounts.Account, key accounts.APIKey) error {
		scopes := make([]string, len(key.Scopes))
		for i, scope := range key.Scopes {
			scopes[i] = string(scope)
		}
		return s.tellOfKey(ctx, account, notices.Details{Change: notice.KeyAdded, Scopes: scopes})
	})
	s.logKey(ctx, err, "a key was created", in.Account, key.ID)
	return message.NewAPIKey{APIKey: KeyOf(key), Secret: secret}, err
}

type ofKey struct {
	ofAccount

	Key string `path:"key"`
}

type keyRotation struct {
	ofKey

	Body    object[message.APIKeyRotation]
	overlap time.Duration
}

func (in *keyRotation) check(context.Context, *server) (err error) {
	in.overlap, err = overlapOf(in.Body.value.Overlap)
	return err
}

func (s *server) rotateKey(ctx context.Context, in keyRotation) (message.NewAPIKey, error) {
	secret, key, err := s.Accounts.RotateKey(ctx, in.Account, in.Key, in.overlap, func(account accounts.Account, old accounts.APIKey) error {
		if err := mayGive(ctx, old.Scopes); err != nil { // the new key has the same
			return err
		}
		return s.tellOfKey(ctx, account, notices.Details{Change: notice.KeyReplaced, Key: old.ID})
	})
	s.logKey(ctx, err, "a key was created", in.Account, key.ID, "replaces", in.Key)
	return message.NewAPIKey{APIKey: KeyOf(key), Secret: secret}, err
}

func (s *server) removeKey(ctx context.Context, in ofKey) (message.Account, error) {
	account, err := s.Accounts.RemoveKey(ctx, in.Account, in.Key, func(account accounts.Account, old accounts.APIKey) error {
		return s.tellOfKey(ctx, account, notices.Details{Change: notice.KeyRemoved, Key: old.ID})
	})
	s.logKey(ctx, err, "a key was removed", in.Account, in.Key)
	return AccountOf(account), err
}

// tellOfKey alerts the contact of an account of a change of its keys.
func (s *server) tellOfKey(ctx context.Context, account accounts.Account, d notices.Details) error {
	d.TimeZone = account.TimeZone
	return s.Notices.PutChange(ctx, notices.KeysChanged, account.Name, d)
}

// logKey logs a change of the keys of an account, unless it failed, with the caller's account and key.
func (s *server) logKey(ctx context.Context, err error, what, owner, id string, more ...any) {
	if err != nil {
		return
	}
	who := callerOf(ctx)
	more = append([]any{"owner", owner, "owner_key", id, "account", who.account(), "key", who.identity.Key.ID}, more...)
	s.Logger.InfoContext(ctx, what, more...) //nolint:sloglint // one of two sentences, fixed in the code
}
