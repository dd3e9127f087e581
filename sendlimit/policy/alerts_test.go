package policy_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func TestPolicyAlertsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, percents := range [][]int{{0}, {101}, {80, 80}, {100, 80}, {-1, 50}} {
		policy := story.PolicyOf(t, "1/day")
		policy.AlertAt = percents
		require.ErrorContains(t, policy.Validate(), "alert_at")
	}
	policy := story.PolicyOf(t, "1/day")
	policy.AlertTo = "http://example.com"
	require.ErrorContains(t, policy.Validate(), `alert_to "http://example.com" is not allowed`)
}

func TestLogsOfPoliciesHaveNobodysWholeAddress(t *testing.T) {
	t.Parallel()
	for to, logged := range map[string]string{
		"ops@example.com":              "alerts to …@example.com",
		"https://example.com/s3cret@b": "alerts to https://example.com/…",
	} {
		p := policy.Default()
		p.AlertTo = to
		var log strings.Builder
		slog.New(slog.NewTextHandler(&log, nil)).Info("it", "rules", p)
		require.Contains(t, log.String(), logged, to)
		require.NotContains(t, log.String(), "s3cret", to)
		require.NotContains(t, log.String(), "ops", to)
	}
}
