package client_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/api/apitest"
	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// realAPI is the API on the embedded store, whose clock stands at now.
type realAPI struct {
	*client.Client

	server *httptest.Server
	redis  *miniredis.Miniredis
	store  *redis.Client
	now    time.Time
}

// startRealAPI starts one, with options that adjust has the last word about. It
// calls closing with whatever is to be done in the end.
func startRealAPI(ctx context.Context, closing func(func()), adjust func(*api.Options)) (*realAPI, error) {
	r := &realAPI{redis: miniredis.NewMiniRedis(), now: at("2026-11-22T11:00:00Z")}
	if err := r.redis.Start(); err != nil {
		return nil, err
	}
	closing(r.redis.Close)
	r.redis.SetTime(r.now)
	r.store = redis.NewClient(redistest.PipedOptions(r.redis))
	closing(func() { _ = r.store.Close() })
	_, o, end, err := apitest.Open(ctx, r.store, submit.Options{})
	if err != nil {
		return nil, err
	}
	closing(func() { _ = end() })
	o.Now, o.Version = time.Now, "v1.2.3"
	o.Stats = func(context.Context) (message.Stats, error) {
		return message.Stats{Version: "v1.2.3", Queue: map[string]int{"scheduled": 3}, DeadLetters: 1, OldestOverdueSeconds: 1.5}, nil
	}
	adjust(&o)
	handler, err := api.New(o)
	if err != nil {
		return nil, err
	}
	r.server = httptest.NewServer(handler)
	closing(r.server.Close)
	if r.Client, err = client.New(r.server.URL, client.Options{Attempts: 1}); err != nil {
		return nil, err
	}
	closing(r.CloseIdleConnections)
	return r, nil
}

func realAPIOf(t *testing.T) *realAPI {
	t.Helper()
	r, err := startRealAPI(t.Context(), t.Cleanup, func(*api.Options) {})
	require.NoError(t, err)
	return r
}

func TestAMessagesLife(t *testing.T) {
	t.Parallel()
	c := realAPIOf(t)
	m := client.Message{User: "alice", SendAt: at("2026-11-22T11:11:11Z"), Title: "Your table is ready"}

	dry, err := c.DryRun(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, m.SendAt, dry.SendAt)
	accepted, err := c.Submit(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, client.Accepted{ID: accepted.ID, User: "alice", SendAt: m.SendAt}, accepted)
	require.NotEmpty(t, accepted.ID)

	m.ID = accepted.ID
	again, err := c.Submit(t.Context(), m)
	require.NoError(t, err)
	require.True(t, again.Replayed)
	m.Title = "Another"
	_, err = c.Submit(t.Context(), m)
	reused, ok := errors.AsType[*client.Refusal](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, client.CodeIDReused, reused.Code)

	m.ID = "beside"
	m.SendAt = m.SendAt.Add(time.Second)
	_, err = c.Submit(t.Context(), m)
	refusal, ok := errors.AsType[*client.Refusal](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, client.CodeSendLimit, refusal.Code)
	require.Equal(t, at("2026-11-22T11:12:11Z"), refusal.NextFreeAt)
	require.Equal(t, at("2026-11-22T11:10:11Z"), refusal.PreviousFreeAt)
	require.Equal(t, []client.Violation{{
		Rule: "1/minute", Limit: 1, Kind: "sliding", WindowSeconds: 60, ConflictsTotal: 1,
		Conflicts: []client.Conflict{{ID: accepted.ID, SendAt: wire(at("2026-11-22T11:11:11Z"))}},
	}}, refusal.Violations)
	require.NotEmpty(t, refusal.RequestID)
	m.OnConflict = client.OnConflictShift
	shifted, err := c.Submit(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, client.Accepted{
		ID: "beside", User: "alice", SendAt: refusal.NextFreeAt, RequestedAt: m.SendAt, Shifted: true,
	}, shifted)

	moved, err := c.Move(t.Context(), "alice", "beside", at("2026-11-22T12:00:00Z"))
	require.NoError(t, err)
	require.Equal(t, client.Moved{
		ID: "beside", User: "alice", SendAt: at("2026-11-22T12:00:00Z"), MovedFrom: refusal.NextFreeAt, RequestedAt: moved.RequestedAt,
	}, moved)
	status, err := c.Status(t.Context(), "alice", "beside")
	require.NoError(t, err)
	require.Equal(t, client.StatusMoved, status.Status)
	require.Equal(t, refusal.NextFreeAt, status.MovedFrom.Time)

	cancelled, err := c.Cancel(t.Context(), "alice", "beside")
	require.NoError(t, err)
	require.Equal(t, client.Cancelled{ID: "beside", User: "alice"}, cancelled)
	cancelled, err = c.Cancel(t.Context(), "alice", "beside")
	require.NoError(t, err)
	require.True(t, cancelled.Replayed)
	_, err = c.Status(t.Context(), "alice", "none")
	require.ErrorIs(t, err, client.ErrNotFound)
	_, err = c.Move(t.Context(), "alice", "none", m.SendAt)
	require.ErrorIs(t, err, client.ErrNotFound)
}

func TestWhatTheRealAPIFindsWrong(t *testing.T) {
	t.Parallel()
	c := realAPIOf(t)
	for _, row := range []struct {
		m     client.Message
		code  client.Code
		field string
	}{
		{client.Message{User: "alice", Title: "t"}, client.CodeInvalidField, "send_at"},
		{client.Message{Now: true, Title: "t"}, client.CodeInvalidField, "user"},
		{client.Message{User: "alice", SendAt: c.now.Add(-time.Hour), Title: "t"}, client.CodeInPast, "send_at"},
		{client.Message{User: "alice", SendAt: c.now.Add(400 * 24 * time.Hour), Title: "t"}, client.CodeTooFarAhead, "send_at"},
		{client.Message{User: "alice", Now: true, Title: string(make([]byte, 100_000))}, client.CodeInvalidField, "body"}, // 413
	} {
		_, err := c.Submit(t.Context(), row.m)
		wrong, ok := errors.AsType[*client.InvalidError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, []any{row.code, row.field}, []any{wrong.Code, wrong.Field})
	}
	faulty := client.Message{ID: "a b", Category: "A", Now: true, Title: "t"}
	_, alone := c.Submit(t.Context(), faulty)
	failed := []error{alone}
	for result, err := range c.SubmitBatch(t.Context(), slices.Values([]client.Message{faulty})) {
		require.NoError(t, err)
		failed = append(failed, result.Err)
	}
	require.Len(t, failed, 2)
	for _, err := range failed { // each names all that is wrong
		wrong, ok := errors.AsType[*client.InvalidError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, "id", wrong.Field)
		for _, says := range []string{`id "a b" is not`, `user "" is not`, `category "A" is not`} {
			require.Contains(t, wrong.Detail, says)
		}
	}
	misplaced, err := client.New(c.server.URL+"/api", client.Options{Attempts: 1})
	require.NoError(t, err)
	defer misplaced.CloseIdleConnections()
	_, err = misplaced.Cancel(t.Context(), "alice", "a")
	require.NotErrorIs(t, err, client.ErrNotFound, "nothing is said about the message")
	require.ErrorContains(t, err, "HTTP status 404")
}

func TestTheRealStoreIsAway(t *testing.T) {
	t.Parallel()
	c := realAPIOf(t)
	c.redis.Close()
	_, err := c.Submit(t.Context(), table())
	away, ok := errors.AsType[*client.UnavailableError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, client.CodeUnavailable, away.Code)
	require.Positive(t, away.RetryAfter)
	last := errors.New("none")
	for _, err = range c.SubmitBatch(t.Context(), numbered(3)) {
		last = err
	}
	_, ok = errors.AsType[*client.UnavailableError](last)
	require.True(t, ok, "%v", last)
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
		status, err := c.Status(t.Context(), user, "a")
		require.NoError(t, err, "%q", user)
		require.Equal(t, user, status.User)
		for listed, err := range c.List(t.Context(), client.ListRequest{User: user}) {
			require.NoError(t, err, "%q", user)
			require.Equal(t, user, listed.User)
		}
		_, err = c.Usage(t.Context(), client.UsageRequest{User: user})
		require.NoError(t, err, "%q", user)
		_, err = c.Cancel(t.Context(), user, "a")
		require.NoError(t, err, "%q", user)
	}
}

func TestPagesOfTheRealAPI(t *testing.T) {
	t.Parallel()
	c := realAPIOf(t)
	var want []string
	for i := range 7 {
		id := "m" + strconv.Itoa(i)
		want = append(want, id)
		m := table()
		m.ID, m.SendAt = id, m.SendAt.Add(time.Duration(i)*time.Hour)
		_, err := c.Submit(t.Context(), m)
		require.NoError(t, err)
	}
	ids := func(r client.ListRequest) []string {
		var got []string
		for m, err := range c.List(t.Context(), r) {
			require.NoError(t, err)
			require.Equal(t, client.StatusScheduled, m.Status)
			got = append(got, m.ID)
		}
		return got
	}
	for _, size := range []int{0, 1, 2, 3, 7, 1000} {
		require.Equal(t, want, ids(client.ListRequest{User: "alice", PageSize: size}), "pages of %d", size)
	}
	require.Equal(t, want[1:3], ids(client.ListRequest{
		User: "alice", From: at("2026-11-22T12:11:11Z"), To: at("2026-11-22T14:11:11Z"), PageSize: 1,
	}))
	for m, err := range c.List(t.Context(), client.ListRequest{User: "alice", PageSize: 2}) {
		require.NoError(t, err)
		require.Equal(t, "m0", m.ID)
		break // asks for no more
	}
	for _, err := range c.List(t.Context(), client.ListRequest{User: "alice", PageSize: 1001}) {
		wrong, ok := errors.AsType[*client.InvalidError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, "limit", wrong.Field)
	}
}

func TestUsageAndFreeTimes(t *testing.T) {
	t.Parallel()
	c := realAPIOf(t)
	_, err := c.Submit(t.Context(), table())
	require.NoError(t, err)
	from, to := at("2026-11-22T11:11:00Z"), at("2026-11-22T11:13:00Z")
	usage, err := c.Usage(t.Context(), client.UsageRequest{User: "alice", At: at("2026-11-22T11:11:30Z"), From: from, To: to})
	require.NoError(t, err)
	require.Equal(t, []any{"alice", from, to, 3}, []any{usage.User, usage.From.Time, usage.To.Time, len(usage.Rules)})
	require.Equal(t, []any{"1/minute", 1, 1}, []any{usage.Rules[0].Rule, usage.Rules[0].Limit, usage.Rules[0].Used})
	require.Equal(t, []client.Stretch{{From: wire(at("2026-11-22T11:12:11Z")), Until: wire(to)}}, usage.Free)
	require.Equal(t, []client.Conflict{{ID: "a", SendAt: wire(at("2026-11-22T11:11:11Z"))}}, usage.Sends)

	times, err := c.NextFree(t.Context(), client.NextFreeRequest{User: "alice", From: at("2026-11-22T11:11:30Z"), Count: 2})
	require.NoError(t, err)
	require.Equal(t, []time.Time{at("2026-11-22T11:12:11Z"), at("2026-11-22T11:13:11Z")}, times)
	times, err = c.NextFree(t.Context(), client.NextFreeRequest{User: "alice"})
	require.NoError(t, err)
	require.Len(t, times, 1)

	stats, err := c.Stats(t.Context())
	require.NoError(t, err)
	require.Equal(t, client.Stats{
		Version: "v1.2.3", Queue: map[string]int{"scheduled": 3}, DeadLetters: 1, OldestOverdueSeconds: 1.5, Store: []client.StoreMemory{},
	}, stats)
}

func TestDeadLettersOfTheRealAPI(t *testing.T) {
	t.Parallel()
	c := realAPIOf(t)
	c.redis.SetTime(time.Time{}) // the machine's clock, for deliveries
	recorder := notifiertest.NewRecorder(time.Now)
	recorder.AnswerWith(func(context.Context, notifier.Notification) notifier.Result {
		return notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonGone}
	})
	worker, err := tasks.NewWorker(taskstest.Open(t, c.store, backend.Options{}), tasks.WorkerOptions{Notifier: recorder})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	for i := range 3 {
		_, err := c.Submit(t.Context(), client.Message{ID: "m" + strconv.Itoa(i), User: "user" + strconv.Itoa(i), Now: true, Title: "t"})
		require.NoError(t, err)
	}
	listed := func(r client.DeadLettersRequest) (ids []string) {
		for letter, err := range c.DeadLetters(t.Context(), r) {
			require.NoError(t, err)
			require.Equal(t, client.StatusFailed, letter.Status)
			ids = append(ids, letter.ID)
		}
		return ids
	}
	require.Eventually(t, func() bool { return len(listed(client.DeadLettersRequest{})) == 3 }, 20*time.Second, 20*time.Millisecond)
	stop()
	require.NoError(t, <-ended)

	require.ElementsMatch(t, []string{"m0", "m1", "m2"}, listed(client.DeadLettersRequest{PageSize: 2}))
	require.Equal(t, []string{"m1"}, listed(client.DeadLettersRequest{User: "user1"}))
	letter, err := c.DeadLetter(t.Context(), "user1", "m1", false)
	require.NoError(t, err)
	require.Equal(t, []string{client.StatusFailed, "gone", ""}, []string{letter.Status, letter.Reason, letter.Title})
	letter, err = c.DeadLetter(t.Context(), "user1", "m1", true)
	require.NoError(t, err)
	require.Equal(t, "t", letter.Title)

	retried, err := c.RetryDeadLetter(t.Context(), "user1", "m1")
	require.NoError(t, err)
	require.Equal(t, []string{"user1", "m1"}, []string{retried.User, retried.ID})
	require.False(t, retried.SendAt.IsZero())
	_, err = c.RetryDeadLetter(t.Context(), "user1", "m1")
	require.ErrorIs(t, err, client.ErrNotFound)
	require.NoError(t, c.PurgeDeadLetter(t.Context(), "user0", "m0"))
	require.ErrorIs(t, c.PurgeDeadLetter(t.Context(), "user0", "m0"), client.ErrNotFound)
	require.Equal(t, []string{"m2"}, listed(client.DeadLettersRequest{}))
}

func TestABatchOnTheRealAPI(t *testing.T) {
	t.Parallel()
	c := realAPIOf(t)
	const users, each = 10, 20
	messages := func(yield func(client.Message) bool) {
		for i := range users * each {
			m := client.Message{
				ID: "m" + strconv.Itoa(i), User: "user" + strconv.Itoa(i%users), Title: "t",
				SendAt: at("2026-11-23T00:00:00Z").Add(time.Duration(i/users) * 30 * time.Second),
			}
			if i == 7 {
				m.Title = ""
			}
			if !yield(m) {
				return
			}
		}
	}
	accepted, refused, invalid := 0, 0, 0
	i := 0
	for result, err := range c.SubmitBatch(t.Context(), messages) {
		require.NoError(t, err)
		require.Equal(t, i, result.Index)
		i++
		if result.Err == nil {
			require.Equal(t, "m"+strconv.Itoa(result.Index), result.Accepted.ID)
			accepted++
		} else if refusal, ok := errors.AsType[*client.Refusal](result.Err); ok {
			require.Equal(t, "m"+strconv.Itoa(result.Index), refusal.ID)
			refused++
		} else {
			require.Equal(t, 7, result.Index)
			invalid++
		}
	}
	require.Equal(t, []int{users * 5, users*each - users*5 - 1, 1}, []int{accepted, refused, invalid}, "5 an hour each")
}

// Requests in flight are bounded there, and a client that is told to come back
// does.
func TestTheRealAPIIsBusy(t *testing.T) {
	t.Parallel()
	began, end := make(chan struct{}), make(chan struct{})
	r, err := startRealAPI(t.Context(), t.Cleanup, func(o *api.Options) {
		o.Limits.InFlight = 1
		o.Stats = func(context.Context) (message.Stats, error) {
			close(began)
			<-end
			return message.Stats{}, nil
		}
	})
	require.NoError(t, err)
	answered := make(chan error, 1)
	go func() {
		_, err := r.Stats(t.Context())
		answered <- err
	}()
	<-began
	_, err = r.Submit(t.Context(), table())
	busy, ok := errors.AsType[*client.UnavailableError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, time.Second, busy.RetryAfter)

	patient, err := client.New(r.server.URL, client.Options{})
	require.NoError(t, err)
	defer patient.CloseIdleConnections()
	released := time.AfterFunc(100*time.Millisecond, func() { close(end) })
	defer released.Stop()
	_, err = patient.Submit(t.Context(), table())
	require.NoError(t, err)
	require.NoError(t, <-answered)
}

func TestABatchWithoutFreeTimes(t *testing.T) {
	t.Parallel()
	a := realAPIOf(t)
	messages := []client.Message{
		{ID: "a", User: "alice", SendAt: at("2026-11-22T12:00:00Z"), Title: "Hi"},
		{ID: "b", User: "alice", SendAt: at("2026-11-22T12:00:30Z"), Title: "Hi"},
		{
			ID: "c", User: "alice", SendAt: at("2026-11-22T12:00:30Z"), Title: "Hi",
			OnConflict: client.OnConflictShift, ShiftUntil: at("2026-11-22T12:00:40Z"),
		},
	}
	refusals := func(options ...client.BatchOption) (all []*client.Refusal) {
		for result, err := range a.SubmitBatch(t.Context(), slices.Values(messages), options...) {
			require.NoError(t, err)
			if result.Index == 0 {
				require.NoError(t, result.Err)
				continue
			}
			var refusal *client.Refusal
			require.ErrorAs(t, result.Err, &refusal)
			require.Equal(t, client.CodeSendLimit, refusal.Code)
			require.Len(t, refusal.Violations, 1)
			all = append(all, refusal)
		}
		return all
	}
	full, bare := refusals(), refusals(client.WithoutFreeTimes())
	require.Len(t, full, 2)
	require.Len(t, bare, 2)
	require.Equal(t, at("2026-11-22T12:01:00Z"), full[0].NextFreeAt)
	require.Contains(t, full[0].Detail, "next free time")
	require.Zero(t, bare[0].NextFreeAt)
	require.Zero(t, bare[0].PreviousFreeAt)
	require.NotContains(t, bare[0].Detail, "free")
	require.Equal(t, full[1], bare[1], "a shift has them")
}
