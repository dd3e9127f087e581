package command

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/records/events"
)

// giveUp makes n dead events of acme, of messages m1 and so on.
func giveUp(t *testing.T, client *redis.Client, n int) {
	t.Helper()
	log, err := events.NewLog(client, events.Options{})
	require.NoError(t, err)
	var happened []events.Event
	for k := range n {
		happened = append(happened, events.Event{
			ID: fmt.Sprintf("1-%d", k+1), Type: events.Delivered, Account: "acme", User: "alice", MessageID: fmt.Sprintf("m%d", k+1),
			At: time.Date(2026, 11, 22, 11, 11, 11, 0, time.UTC),
		})
	}
	_, err = log.Append(t.Context(), "acme", 7, happened)
	require.NoError(t, err)
	latest, err := log.Latest(t.Context(), "acme")
	require.NoError(t, err)
	callbacks, err := events.NewCallbacks(client, events.Options{})
	require.NoError(t, err)
	turn, _, ok, err := callbacks.Take(t.Context(), "acme", "nonce", time.Minute)
	require.NoError(t, err)
	require.True(t, ok)
	dead, held, err := callbacks.Settle(t.Context(), turn, events.Outcome{Reason: "gone", Last: latest, Count: n})
	require.NoError(t, err)
	require.True(t, held)
	require.Equal(t, n, dead)
}

func TestDeadEventsOnTheCommandLine(t *testing.T) {
	t.Parallel()
	_, client, environ := elsewhere(t)
	run := func(args ...string) string {
		t.Helper()
		return prints(t, environ, "", append([]string{"account"}, args...)...)
	}
	says(t, environ, "account", "create", "acme")
	_, secret := says(t, environ, "account", "set", "acme", "--events", "https://acme.example/events")
	require.Contains(t, secret, "\nwhsec_")
	require.Regexp(t, `^whsec_[A-Za-z0-9+/]{43}=\n$`, run("rotate-events-secret", "acme", "--overlap", "0"))
	giveUp(t, client, 3)

	require.Contains(t, run("show", "acme"), "dead: 3, lost: 0")
	listed := strings.Split(strings.TrimSpace(run("events", "list", "acme")), "\n")
	require.Len(t, listed, 3)
	require.Contains(t, listed[0], "  delivered  message m1 to alice, dead since ")
	require.Contains(t, listed[0], ": gone")
	require.Equal(t, 3, strings.Count(run("events", "list", "acme", "--json"), `"reason":"gone"`))

	// An empty id is that of a variable that is not set, and must not mean all.
	for _, action := range []string{"retry", "purge"} {
		fails(t, cli.StatusInvalid, "ID is empty: give an ID, or leave it out for all dead events",
			environ, "", "account", "events", action, "acme", "")
	}
	for _, action := range []string{"list", "retry", "purge"} { // nor that of the key's own account
		fails(t, cli.StatusInvalid, "NAME is missing", environ, "", "account", "events", action, "")
	}
	id, _, _ := strings.Cut(listed[1], " ")
	require.Equal(t, "1 dead events removed.\n", run("events", "purge", "acme", id))
	id, _, _ = strings.Cut(listed[0], " ")
	require.Equal(t, `{"retried":1,"left":1}`+"\n", run("events", "retry", "acme", id, "--json"))
	require.Equal(t, "1 dead events will be posted again.\n", run("events", "retry", "acme"))
	require.Empty(t, run("events", "list", "acme"))
	_, err := command(t, environ, "", "account", "events", "purge", "acme", id)
	require.ErrorContains(t, err, "no dead event")
}
