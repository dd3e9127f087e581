package settings_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
)

func TestPolicyAlertsAreKept(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	policies, err := settings.NewPolicies(client, "")
	require.NoError(t, err)
	for _, row := range []struct {
		alertAt []int
		alertTo string
		stored  string
	}{
		{nil, "", `{"name":"test","rules":["1/day"],"version":1}`},
		{[]int{}, "", `{"name":"test","rules":["1/day"],"alert_at":[],"version":2}`},
		{[]int{1, 100}, "ops@example.com", `{"name":"test","rules":["1/day"],"alert_at":[1,100],"alert_to":"ops@example.com","version":3}`},
	} {
		policy := story.PolicyOf(t, "1/day")
		policy.AlertAt, policy.AlertTo = row.alertAt, row.alertTo
		require.NoError(t, policies.Apply(t.Context(), policy))
		stored, err := server.Get("sl:policy:test")
		require.NoError(t, err)
		require.Equal(t, row.stored, stored)
		loaded, _, err := policies.Load(t.Context(), "test")
		require.NoError(t, err)
		require.True(t, policy.Equal(loaded))
	}
}
