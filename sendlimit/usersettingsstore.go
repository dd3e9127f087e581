package sendlimit

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/lua"
)

// UserSettingsStore keeps the settings of users in the store, the only place they
// live: what is changed holds from the next decision on. Its methods return an
// *InvalidError for a user that can't be one, and an *UnavailableError when the
// store did not answer, or has settings that only a newer program can read. It is
// safe for concurrent use.
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
	values, err := s.client.HGetAll(ctx, s.keys.Settings(user)).Result()
	if err != nil {
		return UserSettings{}, Unavailable(err, "reading the settings of a user")
	}
	settings, err := readSettings(values)
	if err != nil {
		return UserSettings{}, unreadableSettings(err)
	}
	return settings, nil
}

// ErrUnreadableSettings is in the chain of the *UnavailableError that is returned
// for a user whose settings only a newer program can read.
var ErrUnreadableSettings = errors.New("the settings of a user can't be read")

// unreadableSettings leaves what is wrong with them out of the chain: an
// *InvalidError there would be the fault of who called.
func unreadableSettings(err error) error {
	return &UnavailableError{
		Detail: "the settings of the user in the store can't be read:" +
			" clear them and set them anew, or run the newer program that wrote them",
		Err: fmt.Errorf("%w: %s", ErrUnreadableSettings, err.Error()),
	}
}

// Set puts settings in place of those that there are, under a new version; what
// is empty is set no more. Settings that only a newer program knows stay. The
// error may also be an *InvalidError as of UserSettings.Validate.
func (s *UserSettingsStore) Set(ctx context.Context, user string, settings UserSettings) error {
	if err := checkUser(user); err != nil {
		return err
	}
	_, _, err := s.change(ctx, user, "*", settings)
	return err
}

// mostUpdates is how often Update tries to be faster than other changes.
const mostUpdates = 16

// Update sets what change makes of a user's settings, as one step: where somebody
// else changes them meanwhile, it is asked again with those. It returns what is set
// then. An error of change ends it, and is returned as it is. Where change leaves
// everything as it was, the version stays, too.
func (s *UserSettingsStore) Update(
	ctx context.Context, user string, change func(UserSettings) (UserSettings, error),
) (UserSettings, error) {
	for range mostUpdates {
		before, err := s.Get(ctx, user)
		if err != nil {
			return UserSettings{}, err
		}
		settings, err := change(before)
		if err != nil {
			return UserSettings{}, err
		}
		if settings.Equal(before) {
			return before, nil
		}
		settings, done, err := s.change(ctx, user, before.Version, settings)
		if err != nil || done {
			return settings, err
		}
	}
	return UserSettings{}, &UnavailableError{
		Detail: "the settings of the user are being changed by others all the time: try again in a moment",
	}
}

// change stores settings in place of those of a version, * for any, and reports
// whether it was that.
func (s *UserSettingsStore) change(
	ctx context.Context, user, version string, settings UserSettings,
) (UserSettings, bool, error) {
	const doing = "storing the settings of a user"
	if err := settings.Validate(); err != nil {
		return UserSettings{}, false, err
	}
	args := append([]any{version, NewGeneration()}, settings.stored()...)
	answer, err := run(ctx, s.client, lua.SettingsChange, doing, []string{s.keys.Settings(user)}, args)
	if err != nil {
		return UserSettings{}, false, err
	}
	r := read(answer, doing)
	done := r.int(0) == 1
	settings.Version = r.string(1)
	return settings, done, r.err
}

// Clear removes all that is set for a user, and reports whether anything was.
func (s *UserSettingsStore) Clear(ctx context.Context, user string) (bool, error) {
	if err := checkUser(user); err != nil {
		return false, err
	}
	removed, err := s.client.Del(ctx, s.keys.Settings(user)).Result()
	return removed > 0, Unavailable(err, "removing the settings of a user")
}
