package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	m, client, environ := elsewhere(t)
	event := func(args ...string) string {
		t.Helper()
		return prints(t, environ, "", append([]string{"event-limit"}, args...)...)
	}

	require.Equal(t, "No event has limits: see sendlimit-worker event-limit set.\n", event("list"))
	require.Empty(t, m.Keys(), "looking leaves nothing behind")
	fails(t, cli.StatusNotFound, "not found: no limits of event \"submit\"\n", environ, "", "event-limit", "show", "submit")

	require.Equal(t, "submit: no limit → 60 per minute, 100 per hour, 500 per day\n"+
		"It takes effect immediately; counts are kept.\n",
		event("set", "submit", "--per-minute", "60", "--per-hour", "100", "--per-day", "500"))

	limits := counters.New(client, keyspace.KeysUnder(""))
	call := counters.Request{Event: "submit", Key: "alice", N: 2}
	d, err := limits.Count(t.Context(), call)
	require.NoError(t, err)
	require.True(t, d.Allowed)

	// It takes effect immediately.
	require.Equal(t, "submit: 60 per minute, 100 per hour, 500 per day → 3 per day (Europe/Berlin)\n"+
		"It takes effect immediately; counts are kept.\n",
		event("set", "submit", "--per-day", "3", "--time-zone", "Europe/Berlin"))
	d, err = limits.Count(t.Context(), call)
	require.NoError(t, err)
	require.Len(t, d.Counters, 1)
	require.EqualValues(t, 3, d.Counters[0].Counter.Limit)

	require.JSONEq(t, `{"event":"login","per_hour":5,"time_zone":"UTC"}`,
		event("set", "login", "--per-hour", "5", "--custom", "--json"))
	require.Equal(t, "login: 5 per hour\nsubmit: 3 per day (Europe/Berlin)\n", event("list"))
	login, submit, _ := strings.Cut(event("list", "--json"), "\n")
	require.JSONEq(t, `{"event":"login","per_hour":5,"time_zone":"UTC"}`, login)
	require.JSONEq(t, `{"event":"submit","per_day":3,"time_zone":"Europe/Berlin"}`, submit)
	require.Equal(t, "login: 5 per hour\n", event("show", "login"))
	require.JSONEq(t, `{"event":"login","per_hour":5,"time_zone":"UTC"}`, event("show", "login", "--json"))

	require.Equal(t, "login: 5 per hour → no limit\nIt takes effect immediately.\n", event("remove", "login"))
	require.Equal(t, "submit: 3 per day (Europe/Berlin)\n", event("list"))
	_, err = command(t, environ, "", "event-limit", "remove", "login")
	require.Equal(t, cli.StatusNotFound, cli.ExitCode(err))
	require.JSONEq(t, `{"outcome":"removed","event":"submit"}`,
		event("remove", "submit", "--json"))
	require.Empty(t, event("list", "--json"))
}

func TestAlertsOfEvents(t *testing.T) {
	t.Parallel()
	_, client, environ := elsewhere(t)
	event := func(args ...string) string {
		t.Helper()
		return prints(t, environ, "", append([]string{"event-limit"}, args...)...)
	}
	const limits = "500 per day, alerts at 80, 100 % to ops@example.com"
	require.Equal(t, "submit: no limit → "+limits+"\nIt takes effect immediately; counts are kept.\n",
		event("set", "submit", "--per-day", "500", "--alert-at", "80,100", "--alert-to", "ops@example.com"))
	require.Equal(t, "submit: "+limits+"\n", event("show", "submit"))
	require.Equal(t, "submit: "+limits+"\n", event("list"))
	document := `{"event":"submit","per_day":500,"time_zone":"UTC",` +
		`"alert_at":[80,100],"alert_to":"ops@example.com"}`
	require.JSONEq(t, document, event("show", "submit", "--json"))
	require.JSONEq(t, document, event("list", "--json"))

	counting := counters.New(client, keyspace.KeysUnder(""))
	d, err := counting.Count(t.Context(), counters.Request{Event: "submit", Key: "acme", N: 400})
	require.NoError(t, err)
	require.Len(t, d.Notices, 1)

	// The path of a webhook may be secret.
	event("set", "submit", "--per-day", "500", "--alert-at", "90", "--alert-to", "https://example.com/secret")
	require.Equal(t, "submit: 500 per day, alerts at 90 % to https://example.com/…\n", event("show", "submit"))
	// What is not given is removed.
	require.JSONEq(t, `{"event":"submit","per_day":500,"time_zone":"UTC"}`,
		event("set", "submit", "--per-day", "500", "--json"))

	out := event("set", "--help")
	require.Contains(t, out, "sendlimit-worker event-limit set submit --per-day 500 --alert-at 80,100 --alert-to ops@example.com")
}

func TestEventsThatAreRefused(t *testing.T) {
	t.Parallel()
	_, _, environ := elsewhere(t)
	for want, args := range map[string][]string{
		`at least one of --per-minute, --per-hour and --per-day is required` +
			` (sendlimit-worker event-limit remove removes all limits); see sendlimit-worker event-limit set --help`: {"set", "e"},
		`per-day "many" is not allowed: use a whole number`:                             {"set", "e", "--per-day", "many"},
		`per_day "0" is not allowed: use 1 to 1000000000000; leave it out for no limit`: {"set", "e", "--per-day", "0"},
		`nothing here counts the event "login", so its limits would have no effect: the events are submit, read, change;` +
			` set custom for an event that your own program counts`: {"set", "login", "--per-hour", "5"},
		`alert_at "80,x" is not allowed: use percents such as 80,100, or never`:                {"set", "e", "--per-day", "1", "--alert-at", "80,x"},
		`NAME is missing; see sendlimit-worker event-limit set --help`:                         {"set"},
		`unexpected argument "b": give one NAME; see sendlimit-worker event-limit show --help`: {"show", "a", "b"},
	} {
		said := fails(t, cli.StatusInvalid, want, environ, "", append([]string{"event-limit"}, args...)...)
		require.Equal(t, "error: "+want+"\n", said)
	}
	out, err := command(t, environ, "", "event-limit", "set", "e", "--json")
	require.Equal(t, cli.StatusInvalid, cli.ExitCode(err))
	require.Contains(t, out, `{"outcome":"invalid","code":"invalid_field","field":"per_minute","detail":"`)
	require.Empty(t, prints(t, environ, "", "event-limit", "list", "--json"))

	out = prints(t, environ, "", "event-limit", "set", "--help")
	require.Contains(t, out, "sendlimit-worker event-limit set submit --per-minute 60 --per-hour 100 --per-day 500")
	require.NotContains(t, out, "login")
	for _, event := range api.Events() {
		require.Contains(t, out, "  "+event.Name+" ")
	}
}
