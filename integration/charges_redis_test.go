package integration_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
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
