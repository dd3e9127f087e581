package command

import (
	"context"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/api/apitest"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/overview"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// overHTTP serves the API on a store, which asks for keys, and returns its address.
func overHTTP(t *testing.T, client *redis.Client) (address string) {
	t.Helper()
	_, o, end, err := apitest.Open(t.Context(), client, submit.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, end()) })
	o.Now, o.RequireKeys = time.Now, true
	stats, err := overview.NewStats(client, "")
	require.NoError(t, err)
	o.Stats = func(ctx context.Context) (message.Stats, error) {
		now, err := stats.Read(ctx)
		now.Version = cli.Version()
		return now, err
	}
	handler, err := api.New(o)
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// chance is what differs between two stores: the id of a key, and who made a change in the audit
// log.
var chance = regexp.MustCompile(`"id":"[A-Za-z0-9]{8}"|UTC  .*?  `)

// On two stores that have the same, the commands print the same: on one they work on the store, on
// the other over HTTP.
func TestCommandsPrintTheSameOverHTTP(t *testing.T) {
	t.Parallel()
	rules := policyFile(t, "rules: [1/minute, 5/hour, 10/calendar_day]")
	var environs [2][]string
	for i := range environs {
		g := newGiven(t)
		g.dead("alice", "m1", time.Hour)
		g.dead("alice", "m2", 2*time.Hour)
		kept, err := channels.NewStore(g.client, "")
		require.NoError(t, err)
		_, err = kept.Stop(t.Context(), notifier.ChannelFCM, channels.Stop{Reason: channels.Brake, Detail: "30 of 50 devices gone"})
		require.NoError(t, err)
		key, _ := says(t, g.environ, "account", "create", "ops", "--scopes", "admin,content")
		if environs[i] = g.environ; i == 1 {
			environs[i] = []string{"SENDLIMIT_API=" + overHTTP(t, g.client), "SENDLIMIT_API_KEY=" + strings.TrimSpace(key)}
		}
	}
	for line := range strings.Lines(`event-limit set submit --per-minute 60
event-limit list
pace set --rate 100/second
pace show
policy apply RULES
policy list
user set alice --time-zone Europe/Berlin
user list
user show alice
dead-letters list
dead-letters retry --user alice m1
dead-letters purge --user alice m2
tier set free --messages-per-day 500
tier list
tier show free
account create acme --tier free --no-key
account list
account show acme
account disable acme
account sessions
account events list acme
channel list
channel resume fcm
audit --action SET-TIER
stats
`) {
		args := strings.Fields(line)
		for i, arg := range args {
			args[i] = strings.NewReplacer("RULES", rules, "SET-TIER", "set tier").Replace(arg)
		}
		modes := [][]string{args}
		if looks := regexp.MustCompile(` (list|show|sessions)|^stats`); looks.MatchString(line) {
			modes = append(modes, append(args[:len(args):len(args)], "--json"))
		}
		for _, args := range modes {
			want := prints(t, environs[0], "", args...)
			require.Equal(t, chance.ReplaceAllString(want, "…"), chance.ReplaceAllString(prints(t, environs[1], "", args...), "…"), args)
		}
	}
	for line := range strings.Lines(`tier set free --messages-per-day=-1
tier show gold
tier remove free
account create acme --no-key
account create beta --tier gold
account show beta
account set acme --events http://acme.example/events
account rotate-key acme
account remove-key acme Zx3kQ9aB
account rotate-events-secret acme
account end-session 3fa91c02
event-limit set login --per-hour 5
pace set --rate fast
policy show nope
user set alice --time-zone Mars/Base
dead-letters show --user alice m2
channel resume sms.1
`) {
		for _, args := range [][]string{strings.Fields(line), append(strings.Fields(line), "--json")} {
			var answers [2]string
			for i, environ := range environs {
				out, err := command(t, environ, "", args...)
				require.Error(t, err, args)
				_, said := failure(err)
				answers[i] = out + said
			}
			require.Equal(t, answers[0], answers[1], args)
		}
	}
}

// What is wrong with the way to an API is said once, with its address and without the key.
func TestTheAPICannotBeUsed(t *testing.T) {
	t.Parallel()
	_, client, environ := elsewhere(t)
	address := overHTTP(t, client)
	reader, _ := says(t, environ, "account", "create", "acme")
	reader = strings.TrimSpace(reader)
	wrong := reader[:len(reader)-3] + "xyz"
	const nobody = "http://127.0.0.1:1"
	for _, c := range []struct {
		address, key string
		status       int
		says         string
	}{
		{address, "", cli.StatusRefused, "asks for a key: set SENDLIMIT_API_KEY"},
		{address, wrong, cli.StatusRefused, "does not know the key"},
		{address, reader, cli.StatusRefused, "admin"},
		{nobody, reader, cli.StatusUnavailable, ""},
	} {
		for _, args := range [][]string{{"tier", "list"}, {"tier", "set", "free"}, {"pace", "show"}} {
			said := fails(t, c.status, c.says, []string{"SENDLIMIT_API_KEY=" + c.key}, "", append(args, "--api", c.address)...)
			require.Contains(t, said, strings.TrimPrefix(c.address, "http://"))
			require.Equal(t, 1, strings.Count(said, "error:"), said)
			require.NotContains(t, said, "sk_")
		}
	}
}
