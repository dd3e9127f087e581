package command

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/api/apitest"
	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/rawtest"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
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
		{address, "", cli.StatusRefused, "requires a key: set SENDLIMIT_API_KEY"},
		{address, wrong, cli.StatusRefused, "rejects the key"},
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

// Who makes a change is no option with a key, by which an API knows it.
func TestWhoChangesIsForRequestsWithoutAKey(t *testing.T) {
	t.Parallel()
	_, client, environ := elsewhere(t)
	key, _ := says(t, environ, "account", "create", "op", "--scopes", "admin")
	environ = []string{"SENDLIMIT_API_KEY=" + strings.TrimSpace(key)}
	said := fails(t, cli.StatusInvalid, "--by names who sends no key", environ, "", "tier", "set", "free", "--by", "ada", "--api", overHTTP(t, client))
	require.Contains(t, said, "leave it out")
}

// asked sends the text of a request and returns its answer, whose body may still come.
func asked(t *testing.T, address, text string) (status int, header http.Header, body io.Reader) {
	t.Helper()
	_, from := rawtest.Send(t, address, text)
	answer, err := http.ReadResponse(from, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer.StatusCode, answer.Header, answer.Body
}

// host returns the address of a worker's API.
func (r *running) host(t *testing.T) string {
	t.Helper()
	base, err := url.Parse(r.attribute(t, "API endpoint", "url"))
	require.NoError(t, err)
	return base.Host
}

func TestTheClientLearnsThatItsOpenBatchIsRefused(t *testing.T) {
	t.Parallel()
	worker := start(t, nil).started(t)
	c, err := client.New("http://"+worker.host(t), client.Options{Key: "sk_wrong"})
	require.NoError(t, err)
	refused := false
	for _, err := range c.SubmitBatch(t.Context(), func(yield func(client.Message) bool) {
		// Messages without an end: the stream is open when it is refused.
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for yield(client.Message{User: "alice", SendAt: time.Now().Add(time.Hour), Title: "Hi"}) {
			<-tick.C
		}
	}) {
		var answered *client.ResponseError
		require.ErrorAs(t, err, &answered)
		require.Equal(t, fault.CodeUnauthorized, answered.Code)
		refused = true
	}
	require.True(t, refused)
	require.NoError(t, worker.end(t))
}
