package integration_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// An event's limits and counters share a slot with the notices of its alerts. So do a
// key's counters and the notice that they raise.
func TestPitfall16CountersOnACluster(t *testing.T) {
	client, prefix := redistest.SharedCluster(t).Client(), redistest.Prefix(t)
	limits, err := counters.New(client, prefix)
	require.NoError(t, err)
	events, err := counters.NewEvents(client, prefix)
	require.NoError(t, err)
	outbox, err := notices.New(client, notices.Options{Prefix: prefix})
	require.NoError(t, err)
	for i := range 20 {
		name := fmt.Sprintf("event-%d", i)
		require.NoError(t, events.Set(t.Context(), counters.Event{
			Name: name, PerDay: 1, TimeZone: "Europe/Berlin", AlertAt: []int{100}, AlertTo: "ops@example.com",
		}))
		for _, call := range []counters.Request{
			{Event: name, Key: "alice", Counters: countersOfEveryKind()},
			{Key: name, Counters: countersOfEveryKind(), Alert: &counters.Alert{Counter: "d", At: []int{20}, Kind: "quota"}},
		} {
			d, err := limits.Count(t.Context(), call)
			require.NoError(t, err)
			require.True(t, d.Allowed)
			require.Len(t, d.Notices, 1)
			require.NoError(t, limits.GiveBack(t.Context(), call))
			if call.Event == "" {
				continue
			}
			claim, err := outbox.Claim(t.Context(), d.Notices[0], keyspace.NewToken(), time.Minute, time.Time{})
			require.NoError(t, err)
			require.Equal(t, notices.Send, claim.Verdict)
			details, err := claim.Notice.ParseDetails()
			require.NoError(t, err)
			require.Equal(t, notices.Details{
				TimeZone: "Europe/Berlin", Rule: "1/calendar_day", Until: d.ResetsAt.UnixMilli(),
			}, details)
		}
	}
	all, err := events.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 20)
}

func countersOfEveryKind() []counters.Counter {
	return []counters.Counter{
		{Name: "m", Limit: 5, Period: calendar.Minute},
		{Name: "d", Limit: 5, Period: calendar.Day},
		{Name: "w", Limit: 5, Window: time.Hour},
	}
}

// Pitfall 4: a client is killed at many points of what it sends. The server has counted
// the call with every expiry, or not at all.
func TestPitfall04AClientKilledAnywhereLeavesNoKeyWithoutAnExpiry(t *testing.T) {
	server := redistest.Real(t)
	client := server.Client()
	const points = 60
	whole := 0 // bytes of a call
	counted := 0
	for point := range points + 1 {
		require.NoError(t, client.ScriptFlush(t.Context()).Err(), "so that the script is sent, too")
		most := -1 // the first connection is not cut, but measured
		if point > 0 {
			most = whole * point / points
		}
		cut := &cutConnection{left: most}
		dying := redis.NewClient(&redis.Options{
			Addr: server.Addr, MaxRetries: -1, DialerRetries: 1, PoolSize: 1, Protocol: 2, DisableIdentity: true,
			Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
				var err error
				cut.Conn, err = new(net.Dialer).DialContext(ctx, network, address)
				return cut, err
			},
		})
		limits, err := counters.New(dying, "")
		require.NoError(t, err)
		key := fmt.Sprintf("caller-%02d", point)
		_, err = limits.Count(t.Context(), counters.Request{Key: key, Counters: countersOfEveryKind()})
		if point == 0 {
			require.NoError(t, err)
			whole = cut.written
		}
		_ = dying.Close()

		// The server has processed what it received when it notices that the client is
		// gone.
		address := cut.LocalAddr().String()
		require.Eventually(t, func() bool {
			clients, err := client.ClientList(t.Context()).Result()
			return err == nil && !strings.Contains(clients, "addr="+address+" ")
		}, 60*time.Second, time.Millisecond)
		keys, err := client.Keys(t.Context(), "*:count:"+key+":*").Result()
		require.NoError(t, err)
		require.Contains(t, []int{0, 3}, len(keys), "all or none: %v", keys)
		if len(keys) > 0 {
			counted++
		}
		for _, key := range keys {
			left, err := client.PTTL(t.Context(), key).Result()
			require.NoError(t, err)
			require.Positive(t, left, "%s never expires", key)
		}
	}
	require.Less(t, counted, points, "nothing was cut")
	require.GreaterOrEqual(t, counted, 2, "the first and the last are whole")
}

var errCut = errors.New("the connection is cut")

// cutConnection is closed after a number of written bytes; a negative number means
// never.
type cutConnection struct {
	net.Conn

	left    int
	written int
}

func (c *cutConnection) Write(p []byte) (int, error) {
	if c.left < 0 || len(p) < c.left {
		if c.left > 0 {
			c.left -= len(p)
		}
		c.written += len(p)
		return c.Conn.Write(p)
	}
	n, err := c.Conn.Write(p[:c.left])
	c.left = 0
	return n, errors.Join(err, c.Close(), errCut)
}

// Periods end by the server's clock, to the millisecond.
func TestPitfall19CountersExpireWithTheirPeriod(t *testing.T) {
	server := redistest.Shared(t)
	client := server.Client()
	limits, err := counters.New(client, "")
	require.NoError(t, err)
	call := counters.Request{Key: "alice", Counters: []counters.Counter{{Name: "w", Limit: 1, Window: 300 * time.Millisecond}}}
	first, err := limits.Count(t.Context(), call)
	require.NoError(t, err)
	require.True(t, first.Allowed)
	var again counters.Decision
	require.Eventually(t, func() bool {
		again, err = limits.Count(t.Context(), call)
		return err != nil || again.Allowed
	}, 60*time.Second, time.Millisecond)
	require.NoError(t, err)
	require.GreaterOrEqual(t, again.Now.Sub(first.Now), 300*time.Millisecond)

	call.Counters = []counters.Counter{{Name: "d", Limit: 1, Period: calendar.Day}}
	d, err := limits.Count(t.Context(), call)
	require.NoError(t, err)
	keys, err := client.Keys(t.Context(), "*:count:alice:d:*").Result()
	require.NoError(t, err)
	require.Len(t, keys, 1)
	expires, err := client.PExpireTime(t.Context(), keys[0]).Result()
	require.NoError(t, err)
	require.Equal(t, d.ResetsAt.UnixMilli(), expires.Milliseconds())
}
