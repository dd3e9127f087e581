package serve

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/cmd/worker/internal/policyview"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// seedPolicies adds the policies of the settings that the store lacks. It does not change stored
// policies, and logs differences.
func seedPolicies(ctx context.Context, client redis.Cmdable, c config.Config, logger *slog.Logger) error {
	policies := settings.NewPolicies(client, keyspace.KeysUnder(c.Prefix))
	if err := seedPolicy(ctx, policies, c.Policy, c.PolicyGiven, logger); err != nil {
		return err
	}
	for _, policy := range c.Seeds.Policies {
		if err := seedPolicy(ctx, policies, policy, true, logger); err != nil {
			return err
		}
	}
	return nil
}

// seedPolicy adds a policy if the store has none of its name. It logs a difference only if the
// policy was given, and is not the default.
func seedPolicy(ctx context.Context, policies *settings.Policies, policy policy.Policy, given bool, logger *slog.Logger) error {
	stored, err := policies.By("worker").Seed(ctx, policy)
	if err != nil {
		return fmt.Errorf("adding the policy %q to the store: %w", policy.Name, err)
	}
	logger.InfoContext(ctx, "rules", "policy", stored.Name, "version", stored.Version, "rules", stored)
	if !given || stored.Equal(policy) {
		return nil
	}
	var differs []string
	for _, d := range policyview.Differences(&stored, policy) {
		differs = append(differs, d.Name)
	}
	logger.WarnContext(ctx, "the rules in the settings differ from the store's, which apply:"+
		" sendlimit-worker policy apply FILE replaces them", "policy", policy.Name,
		"settings", policy, "store", stored, "differs_in", strings.Join(differs, ", "))
	return nil
}
