package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

const (
	progressLine = `{"outcome":"progress","partitions_done":3,"partitions":1024}` + "\n"
	misfitLine   = `{"outcome":"misfit","id":"a","user":"alice","send_at":"2026-11-22T11:11:11.000Z","breaks":"1/day","detail":"d"}` + "\n"
	summaryLine  = `{"outcome":"previewed","policy":"vip","users":2,"reservations":3,"misfit_users":1,"misfits":1,"misfits_by_rule":{"1/day":1},"next_partition":1024}` + "\n"
)

// A preview changes nothing, and a refit does what the preview has said.
func TestPreviewAndRefitOfTheRealAPI(t *testing.T) {
	sendlimittest.LongUnderRace(t)
	t.Parallel()
	a := realAPIOf(t)
	ctx := t.Context()
	for id, when := range map[string]time.Time{"a": at("2026-11-22T11:11:11Z"), "b": at("2026-11-22T12:11:11Z")} {
		_, err := a.Submit(ctx, client.Message{ID: id, User: "alice", SendAt: when, Title: "t"})
		require.NoError(t, err)
	}
	told := func(events func(func(client.RefitEvent, error) bool)) (misfits []client.Misfit, summary client.RefitSummary) {
		t.Helper()
		progress, ended := 0, false
		for event, err := range events {
			require.NoError(t, err)
			require.False(t, ended, "the summary is the last")
			switch {
			case event.Progress != nil:
				require.Equal(t, 1024, event.Progress.Partitions)
				progress++
			case event.Misfit != nil:
				misfits = append(misfits, *event.Misfit)
			case event.Summary != nil:
				summary, ended = *event.Summary, true
			}
		}
		require.Positive(t, progress)
		require.True(t, ended)
		return misfits, summary
	}
	strict := client.Policy{Name: "default", Rules: []string{"1/calendar_day"}, QuietHours: []string{"11:00-11:30"}}
	const broken = "message a to alice at 2026-11-22T11:11:11.000Z does not fit quiet hours 11:00-11:30 (UTC)"
	misfits, summary := told(a.PreviewPolicy(ctx, strict))
	require.Contains(t, misfits[0].Detail, "message a to alice")
	misfits[0].Detail = broken
	quiet := &client.QuietHours{Hours: "11:00-11:30", TimeZone: "UTC", From: wire(at("2026-11-22T11:00:00Z")), Until: wire(at("2026-11-22T11:30:00Z"))}
	require.Equal(t, []client.Misfit{{
		Outcome: client.MisfitFound, ID: "a", User: "alice", SendAt: wire(at("2026-11-22T11:11:11Z")), Breaks: "quiet_hours", QuietHours: quiet, Detail: broken,
	}}, misfits)
	require.Equal(t, client.RefitSummary{
		Outcome: "previewed", Policy: "default", Users: 1, Reservations: 2, MisfitUsers: 1, Misfits: 1,
		MisfitsByRule: map[string]int{"quiet_hours": 1}, Next: 1024,
		Baseline: &client.RefitBaseline{Version: 1, MisfitsByRule: map[string]int{}},
	}, summary)

	_, err := a.ApplyPolicy(ctx, strict)
	require.NoError(t, err)
	misfits, summary = told(a.RefitPolicy(ctx, "default", client.RefitShift))
	require.Len(t, misfits, 1)
	require.Equal(t, []any{client.MisfitMoved, "a", at("2026-11-22T11:11:11Z"), at("2026-11-23T00:00:00Z")}, []any{
		misfits[0].Outcome, misfits[0].ID, misfits[0].MovedFrom.Time, misfits[0].SendAt.Time,
	})
	require.Equal(t, client.RefitSummary{
		Outcome: "refitted", Policy: "default", Version: 2, Action: client.RefitShift, Users: 1, Reservations: 2, MisfitUsers: 1, Misfits: 1,
		MisfitsByRule: map[string]int{"quiet_hours": 1}, Moved: 1, Next: 1024,
	}, summary)

	for field, events := range map[string]func(func(client.RefitEvent, error) bool){
		"rules": a.PreviewPolicy(ctx, client.Policy{Name: "default"}), "name": a.PreviewPolicy(ctx, client.Policy{}),
		"then": a.RefitPolicy(ctx, "default", "keep"),
	} {
		isInvalid(t, onlyError(t, events), field)
	}
	isInvalid(t, onlyError(t, a.RefitPolicy(ctx, "", client.RefitShift)), "name")
	require.ErrorIs(t, onlyError(t, a.RefitPolicy(ctx, "gold", client.RefitCancel)), client.ErrNotFound)
}

// onlyError is the error that is all there is.
func onlyError(t *testing.T, events func(func(client.RefitEvent, error) bool)) error {
	t.Helper()
	told, err := until(events)
	require.Empty(t, told)
	require.Error(t, err)
	return err
}

// until is what was told until there was an error, if there was one.
func until(events func(func(client.RefitEvent, error) bool)) (told []client.RefitEvent, last error) {
	for event, err := range events {
		if err != nil {
			last = err
			continue
		}
		told = append(told, event)
	}
	return told, last
}

// What ends before its summary, or is none, is an error after what has come, and is
// not asked for twice.
func TestARefitThatEndsEarly(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, lines string
		cut         bool
		told        int
		want        any
	}{
		{"cut before the summary", progressLine + misfitLine, true, 2, new(*client.UnavailableError)},
		{"ended before the summary", progressLine + misfitLine, false, 2, new(*client.UnavailableError)},
		{"cut in a line", progressLine + misfitLine[:20], true, 1, new(*client.ResponseError)},
		{"cut after the summary, where an error could come", progressLine + summaryLine, true, 2, new(*client.UnavailableError)},
		{"an error", summaryLine + `{"outcome":"error","code":"unavailable","detail":"this server stops"}`, false, 1, new(*client.UnavailableError)},
		{"another refit", progressLine + `{"outcome":"error","code":"refit_running"}`, false, 1, new(*client.Refusal)},
		{"another version", progressLine + `{"outcome":"error","code":"version_mismatch"}`, false, 1, new(*client.Refusal)},
		{"a policy that has gone", progressLine + `{"outcome":"error","code":"invalid_field","field":"policy"}`, false, 1, new(*client.InvalidError)},
		{"an internal error", progressLine + `{"outcome":"error","code":"internal"}`, false, 1, new(*client.ResponseError)},
		{"no JSON", progressLine + "done\n", false, 1, new(*client.ResponseError)},
		{"no outcome", progressLine + "{}\n", false, 1, new(*client.ResponseError)},
		{"another form", progressLine + `{"outcome":"misfit","send_at":"soon"}`, false, 1, new(*client.ResponseError)},
		{"another outcome", progressLine + `{"outcome":"accepted","id":"a"}`, false, 1, new(*client.ResponseError)},
		{"a summary in the midst", summaryLine + misfitLine, false, 1, new(*client.ResponseError)},
		{"two summaries", summaryLine + summaryLine, false, 1, new(*client.ResponseError)},
		{"a line without an end", progressLine + strings.Repeat(" ", 2<<20), false, 1, new(*client.ResponseError)},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var requests counted
			c := serve(t, client.Options{}, func(w http.ResponseWriter, _ *http.Request) {
				requests.next()
				reply(w, ndjson, http.StatusOK, row.lines)
				if row.cut {
					_ = http.NewResponseController(w).Flush()
					panic(http.ErrAbortHandler)
				}
			})
			told, err := until(c.PreviewPolicy(t.Context(), vip()))
			require.Len(t, told, row.told)
			require.ErrorAs(t, err, row.want)
			require.ErrorContains(t, err, "previewing a policy: ")
			require.EqualValues(t, 1, requests.Load())
		})
	}
}

// As long as nothing has come it is asked again, as of any call.
func TestARefitIsAskedForUntilItBegins(t *testing.T) {
	t.Parallel()
	var requests counted
	c := serve(t, client.Options{Attempts: 5}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if got := r.Method + r.URL.String() + string(body); got != "POST/v1/policies/vip/refit?then=cancel" {
			t.Error(got)
		}
		switch requests.next() {
		case 1:
			w.Header().Set("Retry-After", "0")
			reply(w, problemJSON, http.StatusTooManyRequests, `{"outcome":"refused","code":"rate_limited","detail":"one is at a time"}`)
		case 2:
			cutAfter(t, w, "")
		case 3:
			reply(w, ndjson, http.StatusOK, "")
		case 4:
			reply(w, ndjson, http.StatusOK, `{"outcome":"error","code":"unavailable"}`)
		default:
			reply(w, ndjson, http.StatusOK, progressLine+summaryLine)
		}
	})
	events := c.RefitPolicy(t.Context(), "vip", client.RefitCancel)
	told, err := until(events)
	require.NoError(t, err)
	require.Equal(t, &client.RefitProgress{Outcome: "progress", Done: 3, Partitions: 1024}, told[0].Progress)
	require.Equal(t, 3, told[1].Summary.Reservations)
	require.EqualValues(t, 5, requests.Load())
	again, err := until(events)
	require.NoError(t, err)
	require.Len(t, again, 2, "it can be gone through again")
}

func TestARefitThatTheAPIDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		status            int
		contentType, body string
		want              any
	}{
		{http.StatusConflict, problemJSON, `{"outcome":"refused","code":"refit_running","detail":"d"}`, new(*client.Refusal)},
		{http.StatusPreconditionFailed, problemJSON, `{"outcome":"refused","code":"version_mismatch","detail":"d"}`, new(*client.Refusal)},
		{http.StatusTooManyRequests, problemJSON, `{"outcome":"refused","code":"rate_limited","detail":"d"}`, new(*client.Refusal)},
		{http.StatusForbidden, problemJSON, `{"outcome":"error","code":"forbidden"}`, new(*client.ResponseError)},
		{http.StatusOK, "text/html", "<h1>It works!</h1>", new(*client.ResponseError)},
		{http.StatusOK, plainJSON, summaryLine, new(*client.ResponseError)},
	} {
		c := serve(t, once(), func(w http.ResponseWriter, _ *http.Request) { reply(w, row.contentType, row.status, row.body) })
		require.ErrorAs(t, onlyError(t, c.RefitPolicy(t.Context(), "vip", client.RefitShift)), row.want, "%d", row.status)
	}
}

// Whoever leaves the loop, or panics in it, ends the request, and so does the
// context.
func TestARefitIsLeft(t *testing.T) {
	t.Parallel()
	gone := make(chan error, 4)
	c := serve(t, client.Options{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not see who goes
		w.Header().Set("Content-Type", ndjson)
		_, _ = io.WriteString(w, misfitLine)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		gone <- context.Cause(r.Context())
	})
	for _, err := range c.PreviewPolicy(t.Context(), vip()) {
		require.NoError(t, err)
		break
	}
	require.ErrorIs(t, <-gone, context.Canceled)
	require.PanicsWithValue(t, "mine", func() {
		for _, err := range c.PreviewPolicy(t.Context(), vip()) {
			require.NoError(t, err)
			panic("mine")
		}
	})
	require.ErrorIs(t, <-gone, context.Canceled)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for event, err := range c.PreviewPolicy(ctx, vip()) {
		if n++; n == 1 {
			require.NotNil(t, event.Misfit)
			cancel()
			continue
		}
		require.ErrorIs(t, err, context.Canceled)
	}
	require.Equal(t, 2, n)
	require.ErrorIs(t, <-gone, context.Canceled)
}

// An API that tells no more is left, but a caller who takes long is waited for.
func TestARefitThatStalls(t *testing.T) {
	t.Parallel()
	const timeout = 200 * time.Millisecond
	gone := make(chan struct{})
	c := serve(t, client.Options{Timeout: timeout}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", ndjson)
		_, _ = fmt.Fprint(w, misfitLine+misfitLine)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	n := 0
	for _, err := range c.PreviewPolicy(t.Context(), vip()) {
		if n++; n <= 2 {
			require.NoError(t, err)
			select {
			case <-gone:
				require.Fail(t, "it ended while the caller took long")
			case <-time.After(2 * timeout):
			}
			continue
		}
		require.ErrorContains(t, err, "no answer in time")
	}
	require.Equal(t, 3, n)
	<-gone
}

// Nothing is read ahead or kept of what was told: an answer may be of any length.
func TestARefitIsBounded(t *testing.T) {
	t.Parallel()
	misfits := &endless{text: misfitLine}
	c, err := client.New("http://api.test", client.Options{HTTPClient: &http.Client{Transport: misfits}})
	require.NoError(t, err)
	n := 0
	for event, err := range c.PreviewPolicy(t.Context(), vip()) {
		require.NoError(t, err)
		require.Equal(t, at("2026-11-22T11:11:11Z"), event.Misfit.SendAt.Time)
		n++
		require.LessOrEqual(t, misfits.read-n*len(misfitLine), 4<<10)
		if n == 20_000 {
			break
		}
	}
	require.True(t, misfits.closed)
}

// endless answers with a line, again and again.
type endless struct {
	text   string
	read   int
	closed bool
}

func (e *endless) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {ndjson}}, Body: e, Request: r}, nil
}

func (e *endless) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = e.text[(e.read+i)%len(e.text)]
	}
	e.read += len(into)
	return len(into), nil
}

func (e *endless) Close() error {
	e.closed = true
	return nil
}
