package settings_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func userStore(t *testing.T, client redis.Cmdable) *settings.Users {
	t.Helper()
	users := settings.NewUsers(client, keyspace.KeysUnder(""))
	return users
}

func named(t *testing.T, name string, rules ...string) policy.Policy {
	t.Helper()
	p := story.PolicyOf(t, rules...)
	p.Name = name
	return p
}

func TestAPolicyIsDeleted(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	policies, users := policyStore(t, client).By("ada"), userStore(t, client)
	var none *fault.NoSuchError
	require.ErrorAs(t, policies.Delete(t.Context(), "vip", settings.AnyVersion), &none)
	require.NoError(t, policies.Apply(t.Context(), policy.Default()))
	require.NoError(t, policies.Apply(t.Context(), named(t, "vip", "1/day")))
	require.NoError(t, policies.Apply(t.Context(), named(t, "vip", "2/day")))
	require.NotEmpty(t, story.Invalid(t, policies.Delete(t.Context(), "default", settings.AnyVersion), "policy", ""))

	var other *settings.VersionError
	require.ErrorAs(t, policies.Delete(t.Context(), "vip", 1), &other)
	require.Equal(t, settings.VersionError{Name: "vip", Expected: 1, Present: 2}, *other)

	require.NoError(t, users.Set(t.Context(), "alice", policy.UserSettings{Policy: "vip"}))
	var inUse *settings.PolicyInUseError
	require.ErrorAs(t, policies.Delete(t.Context(), "vip", 2), &inUse)
	require.EqualError(t, inUse, "policy vip is in use: 1 user has it, alice; give this user another policy first")
	require.Equal(t, fault.CodePolicyInUse, inUse.Code())
	for i := range 11 {
		require.NoError(t, users.Set(t.Context(), fmt.Sprint("u", i), policy.UserSettings{Policy: "vip"}))
	}
	require.ErrorAs(t, policies.Delete(t.Context(), "vip", 2), &inUse)
	require.Equal(t, int64(12), inUse.Count)
	require.Regexp(t, `^policy vip is in use: 12 users have it, (\w+, ){4}\w+ and 7 more; give these users another policy first$`, inUse.Error())
	err := users.Clear(t.Context(), "alice")
	require.NoError(t, err)
	for i := range 11 {
		require.NoError(t, users.Set(t.Context(), fmt.Sprint("u", i), policy.UserSettings{Policy: "vip-2", Blocked: i == 3}))
	}

	require.NoError(t, policies.Delete(t.Context(), "vip", 2))
	_, ok, err := policies.Load(t.Context(), "vip")
	require.NoError(t, err)
	require.False(t, ok)
	members, err := server.HKeys("sl:{policies}:stored")
	require.NoError(t, err)
	require.Equal(t, []string{"default"}, members)
	require.ErrorAs(t, policies.Delete(t.Context(), "vip", settings.AnyVersion), &none)

	err = users.Set(t.Context(), "alice", policy.UserSettings{Policy: "vip"})
	require.Equal(t, "policy vip was deleted, or is being deleted: choose another policy, or apply it again first",
		story.Invalid(t, err, "policy", "vip"))
	server.FastForward(time.Hour)
	require.Error(t, users.Set(t.Context(), "alice", policy.UserSettings{Policy: "vip"}))

	// The numbers of the versions go on.
	change, err := policies.Replace(t.Context(), named(t, "vip", "3/day"), 0)
	require.NoError(t, err)
	require.Equal(t, int64(4), change.New.Version)
	require.NoError(t, users.Set(t.Context(), "alice", policy.UserSettings{Policy: "vip"}))
}

// The settings of a user whose policy is being deleted can be changed in other ways.
func TestSettingsUnderADeletion(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	policies, users := policyStore(t, client), userStore(t, client)
	require.NoError(t, policies.Apply(t.Context(), named(t, "vip", "1/day")))
	require.NoError(t, users.Set(t.Context(), "alice", policy.UserSettings{Policy: "vip"}))
	require.NoError(t, client.Set(t.Context(), "sl:{policies}:deletion:vip", "somebody", time.Minute).Err())
	set, err := users.Update(t.Context(), "alice", func(s policy.UserSettings) (policy.UserSettings, error) {
		s.Blocked = true
		return s, nil
	})
	require.NoError(t, err)
	require.Equal(t, "vip", set.Policy)
	require.Error(t, users.Set(t.Context(), "bob", policy.UserSettings{Policy: "vip"}))
	// Who applies the policy ends the deletion.
	require.NoError(t, policies.Apply(t.Context(), named(t, "vip", "1/day")))
	require.NoError(t, users.Set(t.Context(), "bob", policy.UserSettings{Policy: "vip"}))
}

// errKilled is the error of every command of a program that was killed.
var errKilled = errors.New("killed")

// program runs one call to the store, command by command: a command runs when it gets a
// turn.
type program struct {
	name   string
	turns  chan bool     // false kills the program before the command
	ran    chan struct{} // a command has run
	ended  chan struct{}
	err    error
	killed bool
}

func (p *program) onCall(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
	return p.turn(ctx, func(ctx context.Context) error { return next(ctx, cmds) })
}

// inTurn marks the context of a command that has its turn: connecting takes no other one.
type inTurn struct{}

func (p *program) turn(ctx context.Context, command func(context.Context) error) error {
	if ctx.Value(inTurn{}) != nil {
		return command(ctx)
	}
	if p.killed || !<-p.turns {
		p.killed = true
		return errKilled
	}
	defer func() { p.ran <- struct{}{} }()
	return command(context.WithValue(ctx, inTurn{}, true))
}

// step gives the program a turn. It reports false once the program has ended.
func (p *program) step(lives bool) bool {
	select {
	case <-p.ended:
		return false
	case p.turns <- lives:
	}
	select {
	case <-p.ended:
		return false
	case <-p.ran:
		return true
	}
}

// Programs delete a policy, give it to users and apply it, with their commands in any
// order, while some are killed or stand still for long. At no end does a user have a
// policy that was deleted.
func TestNoUserHasADeletedPolicy(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	for _, script := range lua.All() {
		require.NoError(t, script.Load(t.Context(), client).Err())
	}
	deleted, kept, given := 0, 0, 0
	seeds := sendlimittest.Seeds(t, 60)
	for _, seed := range seeds {
		for _, key := range server.Keys() {
			server.Del(key)
		}
		random := rand.New(rand.NewPCG(seed, 13))
		policies, users := policyStore(t, client), userStore(t, client)
		require.NoError(t, policies.Apply(t.Context(), named(t, "vip", "1/day")))
		if random.IntN(3) == 0 {
			require.NoError(t, users.Set(t.Context(), "carol", policy.UserSettings{Policy: "vip"}))
		}
		var all []*program
		start := func(name string, do func(ctx context.Context, policies *settings.Policies, users *settings.Users) error) {
			p := &program{name: name, turns: make(chan bool), ran: make(chan struct{}), ended: make(chan struct{})}
			all = append(all, p)
			own := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
			own.AddHook(redistest.Calls(p.onCall))
			policies, users := policyStore(t, own), userStore(t, own)
			go func() {
				defer func() { _ = own.Close(); close(p.ended) }()
				p.err = do(context.WithoutCancel(t.Context()), policies, users)
			}()
		}
		for range 1 + random.IntN(2) {
			start("delete", func(ctx context.Context, policies *settings.Policies, _ *settings.Users) error {
				return policies.Delete(ctx, "vip", settings.AnyVersion)
			})
		}
		for _, user := range []string{"alice", "alice", "bob", "carol"}[:1+random.IntN(4)] {
			name := []string{"vip", "vip", "other"}[random.IntN(3)]
			start("set "+user, func(ctx context.Context, _ *settings.Policies, users *settings.Users) error {
				return users.Set(ctx, user, policy.UserSettings{Policy: name})
			})
		}
		if random.IntN(4) == 0 {
			stricter := named(t, "vip", "2/day")
			start("apply", func(ctx context.Context, policies *settings.Policies, _ *settings.Users) error {
				return policies.Apply(ctx, stricter)
			})
		}
		running := append([]*program{}, all...)
		for len(running) > 0 {
			i := random.IntN(len(running))
			if random.IntN(40) == 0 {
				server.FastForward(2 * time.Minute) // everybody stood still
			}
			if !running[i].step(random.IntN(30) > 0) {
				running = append(running[:i], running[i+1:]...)
			}
		}
		_, exists, err := policies.Load(t.Context(), "vip")
		require.NoError(t, err)
		for _, user := range []string{"alice", "bob", "carol"} {
			set, err := users.Get(t.Context(), user)
			require.NoError(t, err)
			if set.Policy == "vip" {
				require.True(t, exists, "seed %d: %s has a deleted policy", seed, user)
				given++
			}
		}
		listed, _, err := policies.All(t.Context())
		require.NoError(t, err)
		switch {
		case exists:
			kept++
			require.Len(t, listed, 1, "seed %d", seed)
		default:
			deleted++
		}
	}
	if len(seeds) > 1 { // more than the one to repeat
		for what, n := range map[string]int{"deleted": deleted, "kept": kept, "given": given} {
			require.Greater(t, n, 5, what)
		}
	}
}

// A deletion that was killed ends by itself: a minute later users are given the policy.
func TestADeletionThatWasKilled(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	policies, users := policyStore(t, client), userStore(t, client)
	require.NoError(t, policies.Apply(t.Context(), named(t, "vip", "1/day")))
	p := &program{turns: make(chan bool), ran: make(chan struct{}), ended: make(chan struct{})}
	own := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	own.AddHook(redistest.Calls(p.onCall))
	killed := policyStore(t, own)
	go func() {
		defer close(p.ended)
		p.err = killed.Delete(context.WithoutCancel(t.Context()), "vip", settings.AnyVersion)
	}()
	for range 4 { // the mark, which may take two commands, and a part of the look
		require.True(t, p.step(true))
	}
	require.False(t, p.step(false))
	require.ErrorContains(t, p.err, "killed")
	require.NoError(t, own.Close())

	require.Error(t, users.Set(t.Context(), "alice", policy.UserSettings{Policy: "vip"}))
	server.FastForward(time.Minute)
	require.NoError(t, users.Set(t.Context(), "alice", policy.UserSettings{Policy: "vip"}))
}

// On a real server, many give users a policy while others delete and apply it.
func TestDeletionsAndChangesAtTheSameTime(t *testing.T) {
	t.Parallel()
	server := redistest.Real(t)
	client := server.Client()
	policies, users := policyStore(t, client), userStore(t, client)
	for range 5 {
		require.NoError(t, policies.Apply(t.Context(), named(t, "vip", "1/day")))
		var all sync.WaitGroup
		ctx := context.WithoutCancel(t.Context())
		for range 2 {
			all.Go(func() { _ = policies.Delete(ctx, "vip", settings.AnyVersion) })
		}
		for i := range 16 {
			all.Go(func() {
				time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
				_ = users.Set(ctx, fmt.Sprint("u", i), policy.UserSettings{Policy: "vip"})
			})
		}
		all.Wait()
		_, exists, err := policies.Load(t.Context(), "vip")
		require.NoError(t, err)
		for i := range 16 {
			set, err := users.Get(t.Context(), fmt.Sprint("u", i))
			require.NoError(t, err)
			require.True(t, exists || set.Policy == "", "u%d", i)
			err = users.Clear(t.Context(), fmt.Sprint("u", i))
			require.NoError(t, err)
		}
	}
}
