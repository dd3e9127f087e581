package settings

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Users keeps the settings of users in the store. A change takes effect with the next decision. Its
// methods return an *InvalidError for an invalid user, and an *UnavailableError if the store did
// not answer, or has settings that only a newer program can read. It is safe for concurrent use.
type Users struct {
	client redis.Cmdable
	keys   keyspace.Keys
}

// NewUsers returns the settings of a store.
func NewUsers(client redis.Cmdable, keys keyspace.Keys) *Users {
	return &Users{client: client, keys: keys}
}

// Get returns the settings of a user.
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

// Set replaces the settings of a user, under a new version; an empty field is removed. Settings
// that only a newer program knows stay. The error may also be an *InvalidError of
// UserSettings.Validate.
func (s *Users) Set(ctx context.Context, user string, settings policy.UserSettings) error {
	if err := keyspace.CheckUser(user); err != nil {
		return err
	}
	_, _, err := s.change(ctx, user, "*", settings, settings.Policy != "")
	return err
}

// maxUpdates bounds the attempts of an update while others change the settings.
const maxUpdates = 16

// Update changes a user's settings atomically: if somebody else changes them meanwhile, change is
// called again with those. It returns the settings after. It returns an error of change unchanged.
// If change changes nothing, the version stays, unless scheduled messages are to follow that did not.
func (s *Users) Update(
	ctx context.Context, user string, change func(policy.UserSettings) (policy.UserSettings, error),
) (policy.UserSettings, error) {
	for range maxUpdates {
		before, err := s.Get(ctx, user)
		if err != nil {
			return policy.UserSettings{}, err
		}
		settings, err := change(before)
		if err != nil {
			return policy.UserSettings{}, err
		}
		if settings.Equal(before) && (settings.Then == "" || settings.Then == before.Then) {
			return before, nil
		}
		given := settings.Policy != "" && settings.Policy != before.Policy
		settings, done, err := s.change(ctx, user, before.Version, settings, given)
		if err != nil || done {
			return settings, err
		}
	}
	return policy.UserSettings{}, busySettings()
}

// change replaces settings of a version, * for any, - to clear all, and reports whether it was that
// version. given reports that the user gets a policy that the user may not have yet: it must not be
// in deletion.
func (s *Users) change(
	ctx context.Context, user, version string, settings policy.UserSettings, given bool,
) (policy.UserSettings, bool, error) {
	const doing = "storing the settings of a user"
	if err := settings.Validate(); err != nil {
		return policy.UserSettings{}, false, err
	}
	token := keyspace.NewToken()
	partition := keyspace.Partition(user)
	keys := []string{s.keys.Settings(user), s.keys.UsersWithSettings(partition), s.keys.PolicyClaims(partition, settings.Policy)}
	for range maxUpdates {
		claim := ""
		if given {
			claim = keyspace.NewToken()
			if err := s.claim(ctx, keys[2], claim, settings.Policy); err != nil {
				return policy.UserSettings{}, false, err
			}
		}
		args := append([]any{version, token, user, claim}, settings.Stored()...)
		r := script.Call(ctx, s.client, lua.SettingsChange, doing, keys, args)
		status, stored := r.Int(0), r.String(1)
		if r.Err != nil {
			return policy.UserSettings{}, false, r.Err
		}
		if status >= 0 {
			settings.Version, settings.Rezoned = stored, status == 1 && r.Int(2) == 1
			return settings, status == 1, nil
		}
	}
	return policy.UserSettings{}, false, busySettings()
}

// claimLasts is the time limit for storing settings after a claim.
const claimLasts = time.Minute

// claim announces that a user is about to get a policy, and then checks that the policy is not
// being deleted. The order matters: see Policies.Delete. A policy that was never in the store is
// not checked: a program may have it elsewhere.
func (s *Users) claim(ctx context.Context, key, token, name string) error {
	const doing = "giving a user a policy"
	err := store.Transaction(ctx, s.client, func(pipe redis.Pipeliner) error {
		pipe.SAdd(ctx, key, token)
		pipe.PExpire(ctx, key, claimLasts)
		return nil
	})
	if err != nil {
		return store.Explain(err, doing)
	}
	deleted, err := s.client.Exists(ctx, s.keys.PolicyDeletion(name)).Result()
	switch {
	case err != nil:
		return store.Explain(err, doing)
	case deleted == 0:
		return nil
	default:
		return &fault.InvalidError{
			Field: "policy", Value: name,
			Says: fmt.Sprintf("policy %s was deleted, or is being deleted: choose another policy, or apply it again first", name),
		}
	}
}

// Complete ends the follow-through of a change of a user's settings, policy.UserSettings.Then, and
// reports whether the settings still have the version.
func (s *Users) Complete(ctx context.Context, user, version string) (bool, error) {
	const doing = "ending the follow-through of a change of settings"
	keys := []string{s.keys.Settings(user), s.keys.UsersWithSettings(keyspace.Partition(user))}
	return script.Yes(script.Call(ctx, s.client, lua.SettingsComplete, doing, keys, []any{version, user}))
}

func busySettings() error {
	return &fault.UnavailableError{
		Detail: "the settings of the user are being changed by others all the time: try again in a moment",
	}
}

// Clear removes all settings of a user, including those that only a newer program knows.
func (s *Users) Clear(ctx context.Context, user string) error {
	if err := keyspace.CheckUser(user); err != nil {
		return err
	}
	_, _, err := s.change(ctx, user, "-", policy.UserSettings{}, false)
	return err
}
