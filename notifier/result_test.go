package notifier_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
)

func TestResultValidate(t *testing.T) {
	t.Parallel()
	detail := errors.New("detail")
	for _, row := range []struct {
		name   string
		result notifier.Result
		sound  bool
	}{
		{"delivered", notifier.Result{Status: notifier.Delivered}, true},
		{"delivered under a name", notifier.Result{Status: notifier.Delivered, ProviderID: "42"}, true},
		{"retry", notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonUnavailable, RetryAfter: time.Second, Err: detail}, true},
		{"retry without a detail", notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonTimeout}, true},
		{"permanent", notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonGone, Err: detail}, true},

		{"zero", notifier.Result{}, false},
		{"a fourth status", notifier.Result{Status: 4, Reason: notifier.ReasonGone}, false},
		{"delivered with a reason", notifier.Result{Status: notifier.Delivered, Reason: notifier.ReasonGone}, false},
		{"delivered with an error", notifier.Result{Status: notifier.Delivered, Err: detail}, false},
		{"delivered and to be retried", notifier.Result{Status: notifier.Delivered, RetryAfter: 1}, false},
		{"no reason", notifier.Result{Status: notifier.Retry}, false},
		{"a reason of its own", notifier.Result{Status: notifier.Retry, Reason: "tuesday"}, false},
		{"a wait that is negative", notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonRateLimited, RetryAfter: -1}, false},
		{"a name though not delivered", notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonNetwork, ProviderID: "42"}, false},
		{"permanent and to be retried", notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonGone, RetryAfter: 1}, false},
		{"permanent without an answer", notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonTimeout}, false},
	} {
		err := row.result.Validate()
		if row.sound {
			require.NoError(t, err, row.name)
		} else {
			require.Error(t, err, row.name)
		}
	}
}

func TestResultUncertain(t *testing.T) {
	t.Parallel()
	for _, reason := range notifier.Reasons() {
		want := reason == notifier.ReasonTimeout || reason == notifier.ReasonNetwork
		require.Equal(t, want, notifier.Result{Status: notifier.Retry, Reason: reason}.Uncertain(), reason)
		require.False(t, notifier.Result{Status: notifier.Permanent, Reason: reason}.Uncertain(), reason)
	}
	require.False(t, notifier.Result{Status: notifier.Delivered}.Uncertain())
}

// The reasons are labels of metrics: a new one is added here on purpose, and
// none is ever renamed.
func TestReasonsAreFrozen(t *testing.T) {
	t.Parallel()
	require.Equal(t, []notifier.Reason{
		"timeout", "network", "unreachable", "rate_limited", "unavailable",
		"rejected", "unauthorized", "gone", "redirected", "misaddressed",
	}, notifier.Reasons())
}

func TestStatusString(t *testing.T) {
	t.Parallel()
	require.Equal(t, "delivered", notifier.Delivered.String())
	require.Equal(t, "retry", notifier.Retry.String())
	require.Equal(t, "permanent", notifier.Permanent.String())
	require.Equal(t, "status(0)", notifier.Status(0).String())
}
