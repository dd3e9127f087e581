package contact_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/contact"
)

func TestContactsThatMayBeSet(t *testing.T) {
	t.Parallel()
	for _, allowed := range []string{"", "ops@example.com", "https://example.com/a", "not a contact: the store says so", "http://127.0.0.1/"} {
		require.NoError(t, contact.Rule{}.Check("contact", allowed), allowed)
	}
	const internal = "https://0x7f.1:8443/s3cret"
	err := contact.Rule{}.Check("alert_to", internal)
	var wrong *fault.InvalidError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, "alert_to", wrong.Field)
	require.Contains(t, err.Error(), "allow_internal_webhooks")
	require.NotContains(t, err.Error(), "s3cret")
	require.NoError(t, contact.Rule{AllowInternal: true}.Check("alert_to", internal))

	p := policy.Default()
	p.AlertTo = internal
	require.Error(t, contact.Rule{}.CheckPolicy(p))
}
