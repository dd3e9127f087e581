package sendlimit

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// UserSettings are what is set for one user. The zero value is a user for whom
// nothing is.
type UserSettings struct {
	// Contact is where the user's quota alerts go, an e-mail address or an https:
	// URL, see ValidContact; "" for nowhere.
	Contact string
}

// Validate says whether each setting is allowed as it is. The error is an
// *InvalidError.
func (s UserSettings) Validate() error {
	if s.Contact == "" {
		return nil
	}
	return ValidContact(s.Contact)
}

// The fields of a user's settings in the store.
const fieldContact = "contact"

// UserSettingsStore keeps the settings of users in the store, the only place they
// live: what is changed holds from the next decision on. Its methods return an
// *InvalidError for a user that can't be one, and an *UnavailableError when the
// store did not answer. It is safe for concurrent use.
type UserSettingsStore struct {
	client redis.Cmdable
	keys   Keys
}

// NewUserSettingsStore returns the settings under a prefix, "" for
// DefaultPrefix. The error is an *InvalidError.
func NewUserSettingsStore(client redis.Cmdable, prefix string) (*UserSettingsStore, error) {
	keys, err := NewKeys(prefix)
	if err != nil {
		return nil, err
	}
	return &UserSettingsStore{client: client, keys: keys}, nil
}

// Get returns what is set for a user.
func (s *UserSettingsStore) Get(ctx context.Context, user string) (UserSettings, error) {
	if err := checkUser(user); err != nil {
		return UserSettings{}, err
	}
	values, err := s.client.HMGet(ctx, s.keys.Settings(user), fieldContact).Result()
	if err != nil {
		return UserSettings{}, Unavailable(err, "reading the settings of a user")
	}
	f := fields{values: values}
	return UserSettings{Contact: f.text(0)}, nil
}

// Set puts settings in place of those that there are; what is empty is set no
// more. Settings that only a newer program knows stay.
func (s *UserSettingsStore) Set(ctx context.Context, user string, settings UserSettings) error {
	if err := checkUser(user); err != nil {
		return err
	}
	if err := settings.Validate(); err != nil {
		return err
	}
	var err error
	if settings.Contact == "" {
		err = s.client.HDel(ctx, s.keys.Settings(user), fieldContact).Err()
	} else {
		err = s.client.HSet(ctx, s.keys.Settings(user), fieldContact, settings.Contact).Err()
	}
	return Unavailable(err, "storing the settings of a user")
}

// Clear removes all that is set for a user, and reports whether anything was.
func (s *UserSettingsStore) Clear(ctx context.Context, user string) (bool, error) {
	if err := checkUser(user); err != nil {
		return false, err
	}
	removed, err := s.client.Del(ctx, s.keys.Settings(user)).Result()
	return removed > 0, Unavailable(err, "removing the settings of a user")
}
