package command

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
)

func TestPaceShowSetAndClear(t *testing.T) {
	t.Parallel()
	m, client, environ := elsewhere(t)
	says := func(want string, args ...string) {
		t.Helper()
		out := prints(t, environ, "", append([]string{"pace"}, args...)...)
		require.Equal(t, want, out)
	}
	says("no pace: deliveries are as fast as possible\n", "show")
	require.Empty(t, m.Keys(), "looking leaves nothing behind")
	says("100/second over all workers, at most 20 at once\n", "set", "--rate", "100/second", "--burst", "20")
	says(`{"target":"push","rate":"100/second","burst":20}`+"\n", "show", "--json")
	says("6000/minute over all workers\n", "set", "--rate", "6000/minute")

	paces, err := rate.NewPaces(client, keyspace.KeysUnder(""), deliver.PaceTarget)
	require.NoError(t, err)
	_, err = paces.Pause(t.Context(), time.Hour)
	require.NoError(t, err)
	out := prints(t, environ, "", "pace", "show")
	require.Regexp(t, `^6000/minute over all workers\npaused until \S+ \S+ UTC by the target\n$`, out)
	require.NoError(t, paces.Resume(t.Context()))
	_, err = paces.Refused(t.Context(), rate.Refusal{Calls: 500})
	require.NoError(t, err)
	says("6000/minute over all workers\nlearned: 250 calls in a second, since the target refused some at 500 in a second\n", "show")
	says(`{"target":"push"}`+"\n", "clear", "--json")
	says("no pace: deliveries are as fast as possible\n", "show")
}

// Each channel has a pace beside that of all messages.
func TestPaceOfAChannel(t *testing.T) {
	t.Parallel()
	_, client, environ := elsewhere(t)
	out := prints(t, environ, "", "pace", "set", "--channel", "fcm", "--rate", "5/second", "--json")
	require.JSONEq(t, `{"target":"push-fcm","rate":"5/second"}`, out)
	paces, err := rate.NewPaces(client, keyspace.KeysUnder(""), deliver.ChannelPace("fcm"))
	require.NoError(t, err)
	state, err := paces.Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(5), state.Rate.Count)
	out = prints(t, environ, "", "pace", "show")
	require.Equal(t, "no pace: deliveries are as fast as possible\n", out)

	_, err = command(t, environ, "", "pace", "show", "--channel", "sms")
	require.EqualError(t, err, `channel "sms" is not allowed: use log, webhook, fcm, apns, webpush, service`)
}

func TestPaceThatIsRefused(t *testing.T) {
	t.Parallel()
	_, _, environ := elsewhere(t)
	for want, args := range map[string][]string{
		`error: rate "fast" is not allowed: use a rate such as 100/second`: {"--rate", "fast"},
		`error: burst "6" is not allowed: use 1 to 5, which is all that the rate allows in 1s` + "\n": {
			"--rate", "5/second", "--burst", "6",
		},
		`error: --burst must be at least 1; without it the burst is the rate` + "\n": {
			"--rate", "5/second", "--burst", "0",
		},
		"--rate is required": {"--burst", "5"},
	} {
		fails(t, cli.StatusInvalid, want, environ, "", append([]string{"pace", "set"}, args...)...)
	}
	require.Equal(t, "no pace: deliveries are as fast as possible\n", prints(t, environ, "", "pace", "show"))
}

// A worker gives its store the pace of the settings, and keeps to the one there
// is.
func TestPaceOfASettings(t *testing.T) {
	t.Parallel()
	worker := start(t, nil, "--pace-rate", "50/second", "--pace-burst", "5").started(t)
	out := prints(t, worker.environ(t), "", "pace", "show")
	require.Equal(t, "50/second over all workers, at most 5 at once\n", out)
	asked := "answered by the worker at " + strings.TrimSuffix(worker.attribute(t, "API endpoint", "url"), "/v1/") + ", on its embedded store\n"
	require.True(t, strings.HasSuffix(prints(t, worker.environ(t), "", "stats"), "\n"+asked))
	prints(t, worker.environ(t), "", "pace", "set", "--rate", "5/second") // says no more
}
