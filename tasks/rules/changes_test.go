package rules_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/rules"
)

// gets lists the policies that a client reads.
type gets struct {
	mu    sync.Mutex
	names []string
}

func (g *gets) onCommand(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	if cmd.Name() == "hmget" {
		g.mu.Lock()
		for _, name := range cmd.Args()[2:] {
			g.names = append(g.names, fmt.Sprint(name))
		}
		g.mu.Unlock()
	}
	return next(ctx, cmd)
}

func (g *gets) taken() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	taken := g.names
	g.names = nil
	slices.Sort(taken)
	return taken
}

func limited(name string, limit int) policy.Policy {
	return policy.Policy{Name: name, Rules: []policy.Rule{{Limit: limit, Window: time.Hour}}}
}

// A change of one policy among many is followed by reading that one, beside the own one.
func TestOnlyChangedPoliciesAreRead(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	store := settings.NewPolicies(client, keyspace.KeysUnder(""))
	require.NoError(t, store.Apply(t.Context(), policy.Default()))
	for i := range 50 {
		require.NoError(t, store.Apply(t.Context(), limited(fmt.Sprint("p", i), i+1)))
	}
	read := new(gets)
	own := redis.NewClient(client.Options())
	t.Cleanup(func() { require.NoError(t, own.Close()) })
	own.AddHook(redistest.Commands(read.onCommand))
	follower, err := rules.NewPolicies(own, keyspace.KeysUnder(""), "", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, follower.Reload(t.Context()))
	require.Len(t, read.taken(), 51)
	require.NoError(t, follower.Reload(t.Context()))
	require.Empty(t, read.taken(), "the own one comes with the changes")
	require.NoError(t, store.Apply(t.Context(), limited("p7", 99)))
	require.NoError(t, follower.Reload(t.Context()))
	require.Equal(t, []string{"default", "p7"}, read.taken())
	found, ok, err := follower.Find(t.Context(), "p7")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "99/hour", found.String())
}

// After any changes and deletions, and after a loss of what was told, a follower has what the
// store has.
func TestFollowersHaveWhatTheStoreHas(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		server, client := redistest.Embedded(t)
		random := rand.New(rand.NewPCG(seed, 5))
		store := settings.NewPolicies(client, keyspace.KeysUnder(""))
		require.NoError(t, store.Apply(t.Context(), policy.Default()))
		follower, err := rules.NewPolicies(client, keyspace.KeysUnder(""), "", slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		for range 40 {
			for range random.IntN(4) {
				name := fmt.Sprint("p", random.IntN(6))
				switch random.IntN(7) {
				case 0, 1:
					_ = store.Delete(t.Context(), name, settings.AnyVersion) // it may not exist
				case 2:
					require.NoError(t, store.Apply(t.Context(), limited(policy.DefaultName, 1+random.IntN(9))))
				default:
					require.NoError(t, store.Apply(t.Context(), limited(name, 1+random.IntN(9))))
				}
			}
			require.NoError(t, follower.Reload(t.Context()))
			all, _, err := store.All(t.Context())
			require.NoError(t, err)
			got := follower.Rules().Policies()
			require.Equal(t, policy.DefaultName, got[0].Name)
			slices.SortFunc(got, func(a, b policy.Policy) int { return strings.Compare(a.Name, b.Name) })
			require.Equal(t, all, got, "seed %d", seed)
			if random.IntN(8) == 0 { // the store loses what was told so far
				server.Del("sl:{policies}:changes")
			}
		}
	}
}
