package integration_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// chargedSubmitter opens a submitter on a store with an account of the tier.
func chargedSubmitter(t *testing.T, client redis.UniversalClient, prefix string, tier accounts.Tier) *submit.Submitter {
	t.Helper()
	policies, err := settings.NewPolicies(client, prefix)
	require.NoError(t, err)
	policy, err := policy.Parse(policy.DefaultName, "", "1/minute", "3/hour")
	require.NoError(t, err)
	require.NoError(t, policies.Apply(t.Context(), policy))
	directory, err := accounts.New(client, prefix)
	require.NoError(t, err)
	tier.Name = "tier"
	require.NoError(t, directory.SetTier(t.Context(), tier))
	_, err = directory.Create(t.Context(), accounts.Account{Name: "acme", Tier: "tier", Contact: "ops@example.com"})
	require.NoError(t, err)
	submitter, err := submit.New(taskstest.Open(t, client, backend.Options{Prefix: prefix}), submit.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, submitter.Close()) })
	return submitter
}

// requireCharged waits until the charges match the messages.
func requireCharged(
	t *testing.T, client redis.UniversalClient, prefix string, tier accounts.Tier, ids map[string][]string,
) {
	t.Helper()
	model := sendlimittest.NewChargeModel(nil)
	model.Tiers = map[string]accounts.Tier{"acme": tier}
	for user, of := range ids {
		standings, err := story.RecordsIn(t, client, prefix).Look(t.Context(), user, of...)
		require.NoError(t, err)
		for _, standing := range standings {
			model.Update(standing)
		}
	}
	keys, err := keyspace.NewKeys(prefix)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return client.ZCard(t.Context(), keys.Holds("acme")).Val() == 0
	}, time.Minute, 10*time.Millisecond, "what is settled in the background")
	sendlimittest.RequireCharged(t, client, prefix, model)
}

func testAHundredSubmittersAtTheQuota(t *testing.T, client redis.UniversalClient, prefix string) {
	t.Helper()
	const limit = 60
	tier := accounts.Tier{MessagesPerDay: limit}
	submitter := chargedSubmitter(t, client, prefix, tier)
	at, ids := noon(), make(map[string][]string)
	var accepted atomic.Int64
	var submitters sync.WaitGroup
	for i := range 100 {
		m := message.Message{ID: "m", User: fmt.Sprintf("user-%d", i), SendAt: at, Title: "Hi", Account: "acme"}
		ids[m.User] = []string{m.ID}
		submitters.Go(func() {
			if o, err := submitter.Submit(t.Context(), m); err == nil && o.Outcome == message.Accepted {
				accepted.Add(1)
			}
		})
	}
	submitters.Wait()
	require.Equal(t, int64(limit), accepted.Load())
	requireCharged(t, client, prefix, tier, ids)

	// Each threshold is alerted at most once, and the last one certainly, although a
	// hundred messages reach them together.
	keys, err := keyspace.NewKeys(prefix)
	require.NoError(t, err)
	put, err := client.ZRange(t.Context(), keys.Notices(keyspace.Partition("acme")), 0, -1).Result()
	require.NoError(t, err)
	day := at.Truncate(24 * time.Hour)
	require.ElementsMatch(t, []string{
		notices.FormatID(notices.AccountQuota, day, 80, "acme"),
		notices.FormatID(notices.AccountQuota, day, 100, "acme"),
	}, put)
}

// testRandomChangesAtOnce lets several callers change the same few messages at the same
// time.
func testRandomChangesAtOnce(t *testing.T, client redis.UniversalClient, prefix string) {
	t.Helper()
	tier := accounts.Tier{MessagesPerHour: 9, MessagesPerDay: 20}
	submitter := chargedSubmitter(t, client, prefix, tier)
	at, ids := noon(), make(map[string][]string)
	const users, messages = 6, 5
	for user := range users {
		for id := range messages {
			name := fmt.Sprintf("user-%d", user)
			ids[name] = append(ids[name], fmt.Sprintf("m%d", id))
		}
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	const lanes, changes = 8, 60
	failures := make(chan error, lanes*changes)
	var changers sync.WaitGroup
	for lane := range uint64(lanes) {
		random := rand.New(rand.NewPCG(seed, lane))
		changers.Go(func() {
			for range changes {
				user, id := fmt.Sprintf("user-%d", random.IntN(users)), fmt.Sprintf("m%d", random.IntN(messages))
				to := at.Add(time.Duration(random.IntN(30*60)) * time.Minute)
				failures <- changeSomething(t.Context(), submitter, random, message.Message{
					ID: id, User: user, SendAt: to, Title: "Hi", Account: "acme",
				})
			}
		})
	}
	changers.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	requireCharged(t, client, prefix, tier, ids)
}

func changeSomething(ctx context.Context, submitter *submit.Submitter, random *rand.Rand, m message.Message) (err error) {
	switch random.IntN(4) {
	case 0:
		_, err = submitter.Cancel(ctx, m.User, m.ID)
	case 1:
		_, err = submitter.Move(ctx, m.User, m.ID, m.SendAt)
	case 2:
		m.OnConflict = message.OnConflictShift
		_, err = submitter.Submit(ctx, m)
	default:
		_, err = submitter.Submit(ctx, m)
	}
	return err
}

func TestChargesOnARealRedis(t *testing.T) {
	t.Parallel()
	client := redistest.Shared(t).Client()
	testAHundredSubmittersAtTheQuota(t, client, "hundred")
	testRandomChangesAtOnce(t, client, "random")
}

// Account and user are on different masters, and all keys of a script are
// on one master.
func TestChargesOnACluster(t *testing.T) {
	t.Parallel()
	client := redistest.SharedCluster(t).Client()
	testAHundredSubmittersAtTheQuota(t, client, redistest.Prefix(t))
	testRandomChangesAtOnce(t, client, redistest.Prefix(t))
}
