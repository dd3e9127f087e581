package settings

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Users keeps the settings of users in the store, the only place they
// live: what is changed holds from the next decision on. Its methods return an
// *InvalidError for a user that can't be one, and an *UnavailableError when the
// store did not answer, or has settings that only a newer program can read. It is
// safe for concurrent use.
type Users struct {
	client redis.Cmdable
	keys   keyspace.Keys
}

// NewUsers returns the settings under a prefix, "" for
// DefaultPrefix. The error is an *InvalidError.
func NewUsers(client redis.Cmdable, prefix string) (*Users, error) {
	keys, err := keyspace.NewKeys(prefix)
	if err != nil {
		return nil, err
	}
	return &Users{client: client, keys: keys}, nil
}

// Get returns what is set for a user.
func (s *Users) Get(ctx context.Context, user string) (policy.UserSettings, error) {
	if err := keyspace.CheckUser(user); err != nil {
		return policy.UserSettings{}, err
	}
	values, err := s.client.HGetAll(ctx, s.keys.Settings(user)).Result()
	if err != nil {
		return policy.UserSettings{}, store.Explain(err, "reading the settings of a user")
	}
	settings, err := policy.ReadSettings(values)
	if err != nil {
		return policy.UserSettings{}, policy.UnreadableSettings(err)
	}
	return settings, nil
}

// Set puts settings in place of those that there are, under a new version; what
// is empty is set no more. Settings that only a newer program knows stay. The
// error may also be an *InvalidError as of UserSettings.Validate.
func (s *Users) Set(ctx context.Context, user string, settings policy.UserSettings) error {
	if err := keyspace.CheckUser(user); err != nil {
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
func (s *Users) Update(
	ctx context.Context, user string, change func(policy.UserSettings) (policy.UserSettings, error),
) (policy.UserSettings, error) {
	for range mostUpdates {
		before, err := s.Get(ctx, user)
		if err != nil {
			return policy.UserSettings{}, err
		}
		settings, err := change(before)
		if err != nil {
			return policy.UserSettings{}, err
		}
		if settings.Equal(before) {
			return before, nil
		}
		settings, done, err := s.change(ctx, user, before.Version, settings)
		if err != nil || done {
			return settings, err
		}
	}
	return policy.UserSettings{}, &fault.UnavailableError{
		Detail: "the settings of the user are being changed by others all the time: try again in a moment",
	}
}

// change stores settings in place of those of a version, * for any, and reports
// whether it was that.
func (s *Users) change(
	ctx context.Context, user, version string, settings policy.UserSettings,
) (policy.UserSettings, bool, error) {
	const doing = "storing the settings of a user"
	if err := settings.Validate(); err != nil {
		return policy.UserSettings{}, false, err
	}
	args := append([]any{version, keyspace.NewToken()}, settings.Stored()...)
	answer, err := script.Run(ctx, s.client, lua.SettingsChange, doing, []string{s.keys.Settings(user)}, args)
	if err != nil {
		return policy.UserSettings{}, false, err
	}
	r := script.Read(answer, doing)
	done := r.Int(0) == 1
	settings.Version = r.String(1)
	return settings, done, r.Err
}

// Clear removes all that is set for a user, and reports whether anything was.
func (s *Users) Clear(ctx context.Context, user string) (bool, error) {
	if err := keyspace.CheckUser(user); err != nil {
		return false, err
	}
	removed, err := s.client.Del(ctx, s.keys.Settings(user)).Result()
	return removed > 0, store.Explain(err, "removing the settings of a user")
}
