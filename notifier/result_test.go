package notifier_test

import (
	"errors"
	"strings"
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

		{"slow down", notifier.Result{Status: notifier.SlowDown, Reason: notifier.ReasonRateLimited, RetryAfter: 1, Pause: notifier.PauseMessage, Err: detail}, true},
		{"slow down a channel", notifier.Result{Status: notifier.SlowDown, Reason: notifier.ReasonUnavailable, RetryAfter: 1, Pause: notifier.PauseChannel}, true},
		{"gone", notifier.Result{Status: notifier.Gone, Reason: notifier.ReasonGone, GoneSince: time.Unix(1, 0)}, true},
		{"gone as it is another's", notifier.Result{Status: notifier.Gone, Reason: notifier.ReasonMismatched}, true},
		{"refused", notifier.Result{Status: notifier.Refused, Reason: notifier.ReasonUnauthorized}, true},
		{"refused at a wrong path", notifier.Result{Status: notifier.Refused, Reason: notifier.ReasonMisaddressed}, true},

		{"zero", notifier.Result{}, false},
		{"a seventh status", notifier.Result{Status: 7, Reason: notifier.ReasonGone}, false},
		{"slow down for no time", notifier.Result{Status: notifier.SlowDown, Reason: notifier.ReasonRateLimited, Pause: notifier.PauseDevice}, false},
		{"slow down nobody", notifier.Result{Status: notifier.SlowDown, Reason: notifier.ReasonRateLimited, RetryAfter: 1}, false},
		{"slow down what is unknown", notifier.Result{Status: notifier.SlowDown, Reason: notifier.ReasonRateLimited, RetryAfter: 1, Pause: 5}, false},
		{"slow down without an answer", notifier.Result{Status: notifier.SlowDown, Reason: notifier.ReasonTimeout, RetryAfter: 1, Pause: notifier.PauseHost}, false},
		{"slow down what is refused", notifier.Result{Status: notifier.SlowDown, Reason: notifier.ReasonRejected, RetryAfter: 1, Pause: notifier.PauseHost}, false},
		{"retry with a pause", notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonRateLimited, Pause: notifier.PauseHost}, false},
		{"gone for another reason", notifier.Result{Status: notifier.Gone, Reason: notifier.ReasonRejected}, false},
		{"gone and to be retried", notifier.Result{Status: notifier.Gone, Reason: notifier.ReasonGone, RetryAfter: 1}, false},
		{"permanent since a time", notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonGone, GoneSince: time.Unix(1, 0)}, false},
		{"refused for another reason", notifier.Result{Status: notifier.Refused, Reason: notifier.ReasonGone}, false},
		{"refused for a time", notifier.Result{Status: notifier.Refused, Reason: notifier.ReasonUnauthorized, RetryAfter: 1}, false},
		{"delivered and paused", notifier.Result{Status: notifier.Delivered, Pause: notifier.PauseMessage}, false},
		{"delivered to what is gone", notifier.Result{Status: notifier.Delivered, GoneSince: time.Unix(1, 0)}, false},
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
		"mismatched", "too_large", "no_device", "exhausted",
	}, notifier.Reasons())
}

func TestStatusString(t *testing.T) {
	t.Parallel()
	require.Equal(t, "delivered", notifier.Delivered.String())
	require.Equal(t, "retry", notifier.Retry.String())
	require.Equal(t, "permanent", notifier.Permanent.String())
	require.Equal(t, "slow_down", notifier.SlowDown.String())
	require.Equal(t, "gone", notifier.Gone.String())
	require.Equal(t, "refused", notifier.Refused.String())
	require.Equal(t, "status(0)", notifier.Status(0).String())
	for pause, want := range map[notifier.Pause]string{
		0: "none", notifier.PauseMessage: "message", notifier.PauseDevice: "device", notifier.PauseHost: "host",
		notifier.PauseChannel: "channel", 9: "pause(9)",
	} {
		require.Equal(t, want, pause.String())
	}
}

func TestRedactURL(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ target, want string }{
		{"log:", "log:"},
		{"", ""},
		{"stdout", "stdout"},
		{"https://push.example.com", "https://push.example.com"},
		{"https://push.example.com/", "https://push.example.com"},
		{"https://push.example.com:8443/hooks/T0KEN", "https://push.example.com:8443/…"},
		{"https://push.example.com?key=T0KEN", "https://push.example.com/…"},
		{"https://push.example.com/#T0KEN", "https://push.example.com/…"},
		{"https://robot:T0KEN@push.example.com", "https://push.example.com/…"},
		{"slack://T0KEN@channel", "slack://…"}, // of a service, any part may be a secret
		{"discord://TOKEN@17", "discord://…"},
		{"telegram://17:T0KEN@telegram?chats=@channel", "telegram://…"},
		{"gotify://push.example.com/T0KEN", "gotify://…"},
		{"generic+https://T0KEN.example.com/", "generic+https://…"},
		{"slakc://hook:T0KEN@webhook", "slakc://…"},
		{"SLACK://T0KEN", "slack://…"},
		{"slack:hook:T0KEN", "slack…"},
		{"smtp://robot:T0KEN@mail.example.com:587/?from=a@b.example", "smtp://mail.example.com:587/…"},
		{"socks5://robot:T0KEN@proxy.example.com:1080", "socks5://proxy.example.com:1080/…"},
		{"http://[::1]:8080/T0KEN", "http://[::1]:8080/…"},
		{"push.example.com/T0KEN", "push.example.com…"}, // the scheme was forgotten
		{"robot:T0KEN@push.example.com/x", "…"},         // so it was, and Go takes robot for one
		{"http://robot:T0%KEN@push.example.com", "…"},   // not a URL at all
		{"http://push.example.com/%zz?T0KEN", "http…"},
		{"http://" + "push.example.com\n/T0KEN", "http…"},
		{strings.Repeat("a", 300), strings.Repeat("a", 253) + "…"},
	} {
		require.Equal(t, row.want, notifier.RedactURL(row.target), row.target)
	}
}

func TestInvalidError(t *testing.T) {
	t.Parallel()
	err := &notifier.InvalidError{Field: "push_timeout", Value: "-1s", Want: "a time above zero and up to 5m0s"}
	require.EqualError(t, err, `push_timeout "-1s" is not allowed: use a time above zero and up to 5m0s`)
}
