package client_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/api/apitest"
	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// realAPI is the API on the embedded store. Its clock is at 11:00 on 2026-11-22.
type realAPI struct {
	*client.Client

	server *httptest.Server
}

// startRealAPI starts one. It calls closing with whatever is to be done in the end.
func startRealAPI(ctx context.Context, closing func(func())) (*realAPI, error) {
	store := miniredis.NewMiniRedis()
	if err := store.Start(); err != nil {
		return nil, err
	}
	closing(store.Close)
	store.SetTime(at("2026-11-22T11:00:00Z"))
	connections := redis.NewClient(redistest.PipedOptions(store))
	closing(func() { _ = connections.Close() })
	_, o, end, err := apitest.Open(ctx, connections, submit.Options{})
	if err != nil {
		return nil, err
	}
	closing(func() { _ = end() })
	o.Now = time.Now
	handler, err := api.New(o)
	if err != nil {
		return nil, err
	}
	r := &realAPI{server: httptest.NewServer(handler)}
	closing(r.server.Close)
	if r.Client, err = client.New(r.server.URL, client.Options{Attempts: 1}); err != nil {
		return nil, err
	}
	closing(r.CloseIdleConnections)
	return r, nil
}

func realAPIOf(t *testing.T) *realAPI {
	t.Helper()
	r, err := startRealAPI(t.Context(), t.Cleanup)
	require.NoError(t, err)
	return r
}

func TestUsersOfAnyNameOnTheRealAPI(t *testing.T) {
	t.Parallel()
	c := realAPIOf(t)
	for _, user := range []string{
		"/", "//", "a/b", "100%", "%2F", "a?b", "a#b", "a b", "a+b", "ünïcode", ".", "..", "../..", "a:b@c", "a&b=c;d", `a\b`, "https://example.com/?q=1#f", "/a", "a/",
	} {
		m := client.Message{ID: "a", User: user, SendAt: at("2026-11-22T11:11:11Z"), Title: "t"}
		_, err := c.Submit(t.Context(), m)
		require.NoError(t, err, "%q", user)
		status, err := c.Message(t.Context(), user, "a")
		require.NoError(t, err, "%q", user)
		require.Equal(t, user, status.User)
		for listed, err := range c.ListMessages(t.Context(), user, client.ListMessagesQuery{}) {
			require.NoError(t, err, "%q", user)
			require.Equal(t, user, listed.User)
		}
		_, err = c.Usage(t.Context(), user, client.UsageQuery{})
		require.NoError(t, err, "%q", user)
		_, err = c.CancelMessage(t.Context(), user, "a")
		require.NoError(t, err, "%q", user)
	}
}
