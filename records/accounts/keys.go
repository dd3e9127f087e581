package accounts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Scope is a permission of an API key.
type Scope string

// The scopes. With submit and read a key reaches only its account's messages. Admin is for
// operators: it includes submit and read, and reaches the messages of all accounts, but not the
// content and metadata of other accounts' messages. Content, which needs admin, reaches these, too.
const (
	ScopeSubmit  Scope = "submit" // submit, check, move and cancel messages
	ScopeRead    Scope = "read"   // see messages, usage and free times
	ScopeAdmin   Scope = "admin"
	ScopeContent Scope = "content"
)

// ParseScopes reads scopes, each at most once. No names mean submit and read. The error is an
// *InvalidError.
func ParseScopes(names ...string) ([]Scope, error) {
	if len(names) == 0 {
		return []Scope{ScopeSubmit, ScopeRead}, nil
	}
	scopes := make([]Scope, len(names))
	for i, name := range names {
		scopes[i] = Scope(name)
	}
	return scopes, checkScopes(scopes)
}

func checkScopes(scopes []Scope) error {
	for i, scope := range scopes {
		known := scope == ScopeSubmit || scope == ScopeRead || scope == ScopeAdmin || scope == ScopeContent
		if !known || slices.Contains(scopes[:i], scope) {
			return &fault.InvalidError{Field: "scopes", Value: string(scope), Says: fmt.Sprintf("scopes has %q, which is unknown or given twice: there are submit, read, admin and content", fault.Clip(string(scope)))}
		}
	}
	if slices.Contains(scopes, ScopeContent) && !slices.Contains(scopes, ScopeAdmin) {
		return &fault.InvalidError{Field: "scopes", Value: string(ScopeContent), Says: `scopes has "content" without admin: content shows an operator the content of other accounts' messages, so give both, or leave content out`}
	}
	if len(scopes) == 0 {
		return &fault.InvalidError{Field: "scopes", Says: "scopes is empty: a key needs at least one of submit, read and admin"}
	}
	return nil
}

// APIKey describes an API key. The key itself is not stored, only its SHA-256.
type APIKey struct {
	ID        string // public: the part after "sk_", or the first 8 characters of a seeded key's SHA-256
	Scopes    []Scope
	CreatedAt time.Time // UTC with milliseconds
	ExpiresAt time.Time // zero means never
}

// Identity is the owner of a key.
type Identity struct {
	Account Account
	Tier    Tier // the zero Tier, which has no limits, if the account has none
	Key     APIKey
}

// May reports whether the key has a scope. Admin includes all scopes except content.
func (i Identity) May(scope Scope) bool {
	return slices.Contains(i.Key.Scopes, scope) || scope != ScopeContent && slices.Contains(i.Key.Scopes, ScopeAdmin)
}

// The overlap of RotateKey: how long the old key still works.
const (
	DefaultOverlap = 24 * time.Hour
	MaxOverlap     = 366 * 24 * time.Hour
)

// ParseOverlap reads an overlap: "1h", "7d", or "0" for none. The error is an *InvalidError.
func ParseOverlap(s string) (time.Duration, error) {
	overlap, err := calendar.ParseDuration(s)
	if err != nil {
		return 0, invalidOverlap(s)
	}
	return overlap, checkOverlap(overlap, s)
}

// checkOverlap checks an overlap, given as a text.
func checkOverlap(overlap time.Duration, given string) error {
	if overlap < 0 || overlap > MaxOverlap {
		return invalidOverlap(given)
	}
	return nil
}

func invalidOverlap(given string) error {
	return &fault.InvalidError{
		Field: "overlap", Value: given,
		Want: "a length of time such as 1h or 7d, 0 for none, at most " + calendar.FormatDuration(MaxOverlap),
	}
}

// MaxKeys is the maximum number of keys of an account.
const MaxKeys = 16

// maxSecret is the maximum length of a key, in bytes.
const maxSecret = 256

const (
	keyPrefix      = "sk_"
	keyIDLength    = 8
	keySecretChars = 43 // of 62: 256 bits
	keyAlphabet    = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)

// Authenticate finds the account of a key in one round trip. ok is false for a key that is unknown,
// has expired or belongs to a disabled account; callers can't tell which.
func (a *Accounts) Authenticate(ctx context.Context, secret string) (_ Identity, ok bool, err error) {
	if secret == "" || len(secret) > maxSecret {
		return Identity{}, false, nil
	}
	return a.Identify(ctx, HashKey(secret))
}

// Identify is Authenticate with the hash of a key, see HashKey.
func (a *Accounts) Identify(ctx context.Context, hash string) (_ Identity, ok bool, err error) {
	found, err := a.find(ctx, "", hash, "checking an API key")
	if err != nil || found.name == "" || found.account.Disabled {
		return Identity{}, false, err
	}
	for _, key := range found.account.Keys {
		if subtle.ConstantTimeCompare([]byte(key.SHA256), []byte(hash)) == 1 && !key.expired(found.now) {
			return Identity{Account: found.account.public(found.name), Tier: found.tier, Key: key.public()}, true, nil
		}
	}
	return Identity{}, false, nil
}

// KeyChange is called once when a change of a key is allowed, before it is stored: with the account
// as it was, and the key that is added, replaced or removed. An error prevents the change. It may be
// nil.
type KeyChange func(account Account, key APIKey) error

// changeKeys changes the keys of an account. edit returns the key that it changes.
func (a *Accounts) changeKeys(
	ctx context.Context, account, doing string, before KeyChange, edit func(now time.Time, next *storedAccount) (APIKey, error),
) (Account, error) {
	called := false
	return a.changeExisting(ctx, account, doing, func(now time.Time, next *storedAccount) error {
		was := next.public(account)
		key, err := edit(now, next)
		if err != nil || called || before == nil {
			return err
		}
		called = true // and not again if another change came between
		return before(was, key)
	})
}

// AddKey gives an account a new key and returns the key, which can't be read again. A zero expiry
// means never.
func (a *Accounts) AddKey(
	ctx context.Context, account string, scopes []Scope, expires time.Time, before KeyChange,
) (secret string, _ APIKey, err error) {
	if err := checkScopes(scopes); err != nil {
		return "", APIKey{}, err
	}
	secret, id := newKey()
	var added storedKey
	_, err = a.changeKeys(ctx, account, "adding an API key", before, func(now time.Time, next *storedAccount) (APIKey, error) {
		if !expires.IsZero() && !expires.After(now) {
			return APIKey{}, &fault.InvalidError{Field: "expires_at", Value: expires.Format(time.RFC3339), Says: "expires_at has passed: " + expires.Format(time.RFC3339)}
		}
		if expires.UTC().Year() > 9999 { // RFC 3339 can't write it
			return APIKey{}, &fault.InvalidError{Field: "expires_at", Value: expires.UTC().Format(time.RFC3339), Want: "a time before the year 10000"}
		}
		added = storedKey{ID: id, SHA256: HashKey(secret), Scopes: scopes, CreatedAt: now.UnixMilli()}
		if !expires.IsZero() {
			added.ExpiresAt = expires.UnixMilli()
		}
		return added.public(), next.addKey(now, added)
	})
	if err != nil {
		return "", APIKey{}, err
	}
	return secret, added.public(), nil
}

// RotateKey gives an account a new key without an expiry and with the scopes of an old one. The old
// key still works for the overlap, unless it expires earlier; with an overlap of 0 it ends at once.
// An id of "" means the only key. The error is a *NoSuchError or an *InvalidError.
func (a *Accounts) RotateKey(
	ctx context.Context, account, id string, overlap time.Duration, before KeyChange,
) (secret string, _ APIKey, err error) {
	if err := checkOverlap(overlap, calendar.FormatDuration(overlap)); err != nil {
		return "", APIKey{}, err
	}
	secret, newID := newKey()
	var added storedKey
	_, err = a.changeKeys(ctx, account, "rotating an API key", before, func(now time.Time, next *storedAccount) (APIKey, error) {
		next.forgetExpired(now)
		old, err := next.key(id)
		if err != nil {
			return APIKey{}, err
		}
		replaced := old.public()
		added = storedKey{ID: newID, SHA256: HashKey(secret), Scopes: old.Scopes, CreatedAt: now.UnixMilli()}
		until := now.Add(overlap).UnixMilli()
		if old.ExpiresAt == 0 || old.ExpiresAt > until {
			old.ExpiresAt = until
		}
		return replaced, next.addKey(now, added)
	})
	if err != nil {
		return "", APIKey{}, err
	}
	return secret, added.public(), nil
}

// RemoveKey removes a key, which stops working at once, and returns the changed account. The error
// is a *NoSuchError.
func (a *Accounts) RemoveKey(ctx context.Context, account, id string, before KeyChange) (Account, error) {
	return a.changeKeys(ctx, account, "removing an API key", before, func(_ time.Time, next *storedAccount) (APIKey, error) {
		if id == "" {
			return APIKey{}, &fault.NoSuchError{What: "key", Name: id}
		}
		found, err := next.key(id)
		if err != nil {
			return APIKey{}, err
		}
		old := *found
		next.Keys = slices.DeleteFunc(slices.Clone(next.Keys), func(k storedKey) bool { return k.SHA256 == old.SHA256 })
		return old.public(), nil
	})
}

// HasUsableKey reports whether any account has a key that works.
func (a *Accounts) HasUsableKey(ctx context.Context) (bool, error) {
	const doing = "looking for an API key"
	now, err := a.client.Time(ctx).Result()
	if err != nil {
		return false, store.Explain(err, doing)
	}
	all, err := a.List(ctx)
	if err != nil {
		return false, err
	}
	for _, account := range all {
		if !account.Disabled && slices.ContainsFunc(account.Keys, func(k APIKey) bool {
			return k.ExpiresAt.IsZero() || k.ExpiresAt.After(now)
		}) {
			return true, nil
		}
	}
	return false, nil
}

// addKey adds a key, and removes expired ones.
func (s *storedAccount) addKey(now time.Time, added storedKey) error {
	s.forgetExpired(now)
	if len(s.Keys) >= MaxKeys {
		return &fault.InvalidError{Field: "keys", Says: fmt.Sprintf("the account has %d keys, which is the most: remove one first", MaxKeys)}
	}
	s.Keys = append(s.Keys, added)
	return nil
}

// key returns the key with an id, or the only key for "".
func (s *storedAccount) key(id string) (*storedKey, error) {
	if id == "" && len(s.Keys) == 1 {
		return &s.Keys[0], nil
	}
	if id == "" {
		ids := make([]string, len(s.Keys))
		for i, key := range s.Keys {
			ids[i] = key.ID
		}
		want := "the id of a key: " + strings.Join(ids, ", ")
		if len(ids) == 0 {
			want = "an account with a key: add one"
		}
		return nil, &fault.InvalidError{Field: "key", Want: want}
	}
	for i := range s.Keys {
		if s.Keys[i].ID == id {
			return &s.Keys[i], nil
		}
	}
	return nil, &fault.NoSuchError{What: "key", Name: id}
}

// newKey generates a key: "sk_", its public id, "_" and 256 random bits.
func newKey() (secret, id string) {
	id = randomText(keyIDLength)
	return keyPrefix + id + "_" + randomText(keySecretChars), id
}

func randomText(length int) string {
	text := make([]byte, 0, length)
	var b [64]byte
	for {
		_, _ = rand.Read(b[:]) // never fails, and ends the program if the system has no randomness
		for _, random := range b {
			random &= 0x3F // two of 64 are skipped, so that all 62 are equally likely
			if int(random) >= len(keyAlphabet) {
				continue
			}
			if text = append(text, keyAlphabet[random]); len(text) == length {
				return string(text)
			}
		}
	}
}

// HashKey returns the stored hash of a key: its SHA-256 in hex. A key has 256 random bits, so
// nobody can search for it by this hash.
func HashKey(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
