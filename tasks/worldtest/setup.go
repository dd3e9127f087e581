package worldtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
)

// SetUp writes the rules, accounts and devices of a story's plan to its store, has all events
// kept, and returns the policies.
func SetUp(tb testing.TB, s *Story) []policy.Policy {
	tb.Helper()
	ctx := tb.Context()
	policies := settings.NewPolicies(s.Client, keyspace.KeysUnder(""))
	for _, r := range s.Plan.Policies {
		p, err := r.At(s.Began)
		require.NoError(tb, err)
		require.NoError(tb, policies.Apply(ctx, p))
	}
	all := stored(tb, s)
	s.changed(RuleChange{Began: s.Began, Ended: s.Began, Policies: all})
	list := accounts.New(s.Client, keyspace.KeysUnder(""))
	for _, a := range s.Plan.Accounts {
		require.NoError(tb, list.SetTier(ctx, a.tier()))
		_, err := list.Create(ctx, accounts.Account{Name: a.Name, Tier: a.Name, TimeZone: a.Zone, Contact: a.Name + "@example.com"})
		require.NoError(tb, err)
		_, _, err = list.AddKey(ctx, a.Name, []accounts.Scope{accounts.ScopeSubmit}, time.Time{}, nil)
		require.NoError(tb, err)
	}
	if s.Plan.Pace != "" {
		r, err := rate.Parse(s.Plan.Pace)
		require.NoError(tb, err)
		paces, err := rate.NewPaces(s.Client, keyspace.KeysUnder(""), deliver.PaceTarget)
		require.NoError(tb, err)
		require.NoError(tb, paces.Apply(ctx, rate.Pace{Rate: r}))
	}
	known := devices.New(s.Client, keyspace.KeysUnder(""), devices.Options{})
	for _, u := range s.Plan.Users {
		for _, id := range u.Devices {
			_, err := known.Add(ctx, u.Name, deviceOf(u.Name, id), 0)
			require.NoError(tb, err)
		}
	}
	listeners := events.NewListeners(s.Client, keyspace.KeysUnder(""))
	require.NoError(tb, listeners.Listen(ctx, keyspace.Everyone, time.Now().Add(10*24*time.Hour)))
	return all
}

// stored reads the policies, the default one first. It waits for a store that is away.
func stored(tb testing.TB, s *Story) []policy.Policy {
	tb.Helper()
	store := settings.NewPolicies(s.Client, keyspace.KeysUnder(""))
	var all []policy.Policy
	for _, r := range s.Plan.Policies {
		var p policy.Policy
		for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
			var ok bool
			var err error
			if p, ok, err = store.Load(tb.Context(), r.Name); err == nil && ok {
				break
			}
			require.True(tb, time.Now().Before(end), "no policy %s: %v", r.Name, err)
		}
		all = append(all, p)
	}
	return all
}

// phoneOf is a phone by its id.
func phoneOf(id string) devices.Device {
	d := devices.Device{ID: id, Channel: notifier.ChannelFCM, Address: "token-of-" + id}
	if phones := Phones(); id == phones[len(phones)-1] {
		d.Account = PhonesAccount
	}
	return d
}

// deviceOf is a device by its id.
func deviceOf(user, id string) devices.Device {
	if id[0] == 'a' {
		return devices.Device{ID: id, Channel: notifier.ChannelAPNs, Address: fmt.Sprintf("%064x", user+id)[:64]}
	}
	return devices.Device{ID: id, Channel: notifier.ChannelFCM, Address: "token-of-" + user + "-" + id}
}
