package accounts

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Seed is an account for a store that does not have it.
type Seed struct {
	Account

	Keys []KeySeed
}

// KeySeed is an API key of which only the SHA-256 is known.
type KeySeed struct {
	SHA256 string // of the whole key, 64 of 0-9 a-f
	Scopes []Scope
}

// Validate checks each field. The error is an *InvalidError.
func (s Seed) Validate() error {
	if err := s.Account.Validate(); err != nil {
		return err
	}
	for _, key := range s.Keys {
		if len(key.SHA256) != hex.EncodedLen(sha256Bytes) || !keyspace.OnlyBytes(key.SHA256, "0123456789abcdef") {
			// The error does not show the value, which may be the key.
			return &fault.InvalidError{Field: "key_sha256", Want: "the SHA-256 of an API key, 64 of 0-9 a-f"}
		}
		if err := checkScopes(key.Scopes); err != nil {
			return err
		}
	}
	return nil
}

const sha256Bytes = 32

// Seed stores a new account with its keys. It does not change an account that exists; then created
// is false.
func (a *Accounts) Seed(ctx context.Context, s Seed) (created bool, err error) {
	if err := s.Validate(); err != nil {
		return false, err
	}
	_, err = a.change(ctx, s.Name, "giving the store an account", func(now time.Time, found *storedAccount) (*storedAccount, error) {
		created = found == nil
		if !created {
			return found, nil
		}
		seeded := storedAccount{CreatedAt: now.UnixMilli(), Disabled: s.Disabled}
		seeded.describe(s.Account)
		for _, key := range s.Keys {
			seeded.Keys = append(seeded.Keys, storedKey{
				ID: key.SHA256[:keyIDLength], SHA256: key.SHA256, Scopes: key.Scopes, CreatedAt: now.UnixMilli(),
			})
		}
		return &seeded, nil
	})
	return created && err == nil, err
}

// SeedTier stores a tier unless it exists; created reports whether it did.
func (a *Accounts) SeedTier(ctx context.Context, t Tier) (created bool, err error) {
	text, err := encodeTier(t)
	if err != nil {
		return false, err
	}
	created, err = a.client.HSetNX(ctx, a.keys.Tiers(), t.Name, text).Result()
	if err != nil {
		return false, store.Explain(err, "giving the store a tier")
	}
	return created, nil
}
