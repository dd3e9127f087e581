package dashboard_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/dashboard"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// liveRig is a rig whose clock runs.
func liveRig(t *testing.T, requireKeys bool, options ...func(*dashboard.Options)) *rig {
	t.Helper()
	start := time.Now()
	return newRig(t, requireKeys, append(options, func(o *dashboard.Options) {
		o.Now = func() time.Time { return began().Add(time.Since(start)) }
	})...)
}

// connection is an http.ResponseWriter whose answer can be read while it goes on.
type connection struct {
	header http.Header
	status atomic.Int64
	body   *io.PipeWriter
}

func (c *connection) Header() http.Header               { return c.header }
func (c *connection) WriteHeader(status int)            { c.status.CompareAndSwap(0, int64(status)) }
func (c *connection) Write(b []byte) (int, error)       { return c.body.Write(b) }
func (c *connection) Flush()                            {}
func (c *connection) SetReadDeadline(time.Time) error   { return nil }
func (c *connection) SetWriteDeadline(time.Time) error  { return nil }
func (c *connection) SetDeadline(time.Time) (err error) { return nil }

// follower is a browser that follows the overview.
type follower struct {
	*browser

	lines *bufio.Reader
	leave context.CancelFunc
	ended chan struct{}
	conn  *connection
}

func (b *browser) follows() *follower {
	b.Helper()
	ctx, leave := context.WithCancel(b.Context())
	reader, writer := io.Pipe()
	f := &follower{browser: b, lines: bufio.NewReader(reader), leave: leave, ended: make(chan struct{}), conn: &connection{header: http.Header{}, body: writer}}
	asked := b.request(http.MethodGet, "/live", "").WithContext(ctx)
	go func() {
		defer close(f.ended)
		b.pages.ServeHTTP(f.conn, asked)
		_ = writer.Close() // never fails
	}()
	b.Cleanup(func() {
		leave()
		_ = reader.Close() // never fails
		<-f.ended
		require.Eventually(b, func() bool { _, running := b.pages.Followers(); return !running }, 5*time.Second, 10*time.Millisecond)
	})
	return f
}

// event returns the next event: its name, and its data as JSON.
func (f *follower) event() (name string, data map[string]any) {
	f.Helper()
	for {
		line, err := f.lines.ReadString('\n')
		require.NoError(f, err)
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "event: "):
			name = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			require.NoError(f, json.Unmarshal([]byte(line[len("data: "):]), &data))
		case line == "" && name != "":
			return name, data
		}
	}
}

// ends requires that what the follower gets ends, and that nobody follows then.
func (f *follower) ends() {
	f.Helper()
	_, err := io.ReadAll(f.lines)
	require.NoError(f, err)
	<-f.ended
	require.Eventually(f, func() bool { count, running := f.pages.Followers(); return count == 0 && !running }, 5*time.Second, 10*time.Millisecond)
}

// looks is a client hook that counts how often the overview is read, each time with one TIME.
type looks struct{ atomic.Int64 }

// onCommand counts.
func (l *looks) onCommand(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	if cmd.Name() == "time" {
		l.Add(1)
	}
	return next(ctx, cmd)
}

func TestFollowingTheOverview(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	r := liveRig(t, false)
	var looked looks
	r.client.AddHook(redistest.Commands(looked.onCommand))
	first, second := r.browser().follows(), r.browser().follows()
	for i := range 3 {
		for _, f := range []*follower{first, second} {
			name, data := f.event()
			require.Equal(t, "overview", name)
			values, isMap := data["values"].(map[string]any)
			require.True(t, isMap)
			require.Equal(t, "0", values["accepted"], "of the last minutes")
			require.Equal(t, "0", values["workers"])
			require.Equal(t, map[string]any{"behind": false, "workers": true, "failed": false, "dead_letters": false, "failed_alerts": false}, data["alarms"])
			require.Equal(t, "text/event-stream", f.conn.header.Get("Content-Type"))
			require.Equal(t, "no-store", f.conn.header.Get("Cache-Control"))
		}
		if i == 0 {
			count, running := r.pages.Followers()
			require.Equal(t, 2, count)
			require.True(t, running)
		}
	}
	require.LessOrEqual(t, looked.Load(), int64(4), "both of one look a second")

	first.leaves(1)
	second.event()
	second.leaves(0)
	require.Eventually(t, func() bool { _, running := r.pages.Followers(); return !running }, 5*time.Second, 10*time.Millisecond)
	before := looked.Load()
	require.Never(t, func() bool { return looked.Load() != before }, 1500*time.Millisecond, 100*time.Millisecond, "nobody follows")

	again := r.browser().follows()
	again.event()
	again.leave()
	again.ends()
}

// leaves has the follower leave, so that a number of others are left.
func (f *follower) leaves(others int) {
	f.Helper()
	f.leave()
	_, err := io.ReadAll(f.lines)
	require.NoError(f, err)
	<-f.ended
	count, _ := f.pages.Followers()
	require.Equal(f, others, count)
}

// What happens is in the next event.
func TestEventsSayWhatHappens(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	r := liveRig(t, false)
	f := r.browser().follows()
	_, data := f.event()
	require.NotContains(t, data["reasons"], "1/minute")
	r.submits("m", "+1h")
	r.backend.FlushActivity()
	require.Eventually(t, func() bool {
		_, data := f.event()
		values, _ := data["values"].(map[string]any)
		return values["accepted"] == "1"
	}, time.Minute, time.Millisecond)
}

func TestFollowingEndsWhenTheServerStops(t *testing.T) {
	t.Parallel()
	stopping := make(chan struct{})
	r := liveRig(t, false, func(o *dashboard.Options) { o.Stopping = stopping })
	f := r.browser().follows()
	f.event()
	close(stopping)
	f.ends()
}

func TestFollowingEndsWithTheSession(t *testing.T) {
	t.Parallel()
	r := liveRig(t, true)
	r.pages.LookAtSessionsEvery(100 * time.Millisecond)
	b := r.operator()
	f := b.follows()
	f.event()
	require.Equal(t, seeOther, b.post("/logout").status)
	f.ends()
}

func TestWhoMayNotFollow(t *testing.T) {
	t.Parallel()
	r := liveRig(t, true)
	for _, b := range []*browser{r.sender("own"), r.writer("own")} {
		require.Contains(t, b.get("/live", script()).json(forbidden)["detail"], "scope admin")
	}
	require.Equal(t, http.StatusUnauthorized, r.browser().get("/live", script()).status)
	count, running := r.pages.Followers()
	require.Zero(t, count)
	require.False(t, running)
}

func TestTooManyFollow(t *testing.T) {
	t.Parallel()
	r := liveRig(t, false)
	leave := r.pages.Crowd(500)
	got := r.browser().get("/live", script())
	require.Equal(t, "unavailable", got.json(http.StatusServiceUnavailable)["code"])
	require.Equal(t, "2", got.header.Get("Retry-After"))
	leave()
	r.browser().follows().event()
}

// A store that is away sends nothing, and what comes after is sent.
func TestFollowingOverAnOutage(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	r := liveRig(t, false)
	var away outage
	r.client.AddHook(redistest.Calls(away.onCall))
	away.begins("time", 0)
	f := r.browser().follows()
	require.Eventually(t, func() bool { return away.commands.Load() > 0 }, 5*time.Second, time.Millisecond)
	away.ends()
	name, _ := f.event()
	require.Equal(t, "overview", name)
	require.Contains(t, r.log.String(), "could not read the overview")
}
