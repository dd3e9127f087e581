package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

const (
	progressLine = `{"outcome":"progress","partitions_done":3,"partitions":1024}` + "\n"
	misfitLine   = `{"outcome":"misfit","id":"a","user":"alice","send_at":"2026-11-22T11:11:11.000Z","breaks":"1/day","detail":"d"}` + "\n"
	summaryLine  = `{"outcome":"dry_run","policy":"vip","users":2,"reservations":3,"misfit_users":1,"misfits":1,"misfits_by_rule":{"1/day":1},"next_partition":1024}` + "\n"
)

// onlyError returns the error of a sequence without events.
func onlyError(t *testing.T, events func(func(client.RefitEvent, error) bool)) error {
	t.Helper()
	told, err := until(events)
	require.Empty(t, told)
	require.Error(t, err)
	return err
}

// until returns the events before the error, if any.
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

// A refit that ends before its summary, or is not an answer of lines, yields an error after its
// events, and is not retried.
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
			told, err := until(c.DryRunPolicy(t.Context(), "vip", vip()))
			require.Len(t, told, row.told)
			require.ErrorAs(t, err, row.want)
			require.ErrorContains(t, err, "dry run of a policy: ")
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
	events := c.RefitPolicy(t.Context(), "vip", client.RefitPolicyQuery{Then: client.RefitCancel})
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
		{http.StatusForbidden, problemJSON, `{"outcome":"error","code":"forbidden"}`, new(*client.ResponseError)},
		{http.StatusOK, "text/html", "<h1>It works!</h1>", new(*client.ResponseError)},
		{http.StatusOK, plainJSON, summaryLine, new(*client.ResponseError)},
	} {
		c := serve(t, once(), func(w http.ResponseWriter, _ *http.Request) { reply(w, row.contentType, row.status, row.body) })
		require.ErrorAs(t, onlyError(t, c.RefitPolicy(t.Context(), "vip", client.RefitPolicyQuery{Then: client.RefitShift})), row.want, "%d", row.status)
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
	for _, err := range c.DryRunPolicy(t.Context(), "vip", vip()) {
		require.NoError(t, err)
		break
	}
	require.ErrorIs(t, <-gone, context.Canceled)
	require.PanicsWithValue(t, "mine", func() {
		for _, err := range c.DryRunPolicy(t.Context(), "vip", vip()) {
			require.NoError(t, err)
			panic("mine")
		}
	})
	require.ErrorIs(t, <-gone, context.Canceled)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for event, err := range c.DryRunPolicy(ctx, "vip", vip()) {
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

// A silent API is left, but a slow caller is waited for.
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
	for _, err := range c.DryRunPolicy(t.Context(), "vip", vip()) {
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

// Nothing is read ahead or kept, so an answer may have any length.
func TestARefitIsBounded(t *testing.T) {
	t.Parallel()
	misfits := &endless{text: misfitLine}
	c, err := client.New("http://api.test", client.Options{HTTPClient: &http.Client{Transport: misfits}})
	require.NoError(t, err)
	n := 0
	for event, err := range c.DryRunPolicy(t.Context(), "vip", vip()) {
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

// A dry run that breaks off is not continued, since the API has lost its state.
func TestADryRunThatBreaksOffIsNotRetried(t *testing.T) {
	t.Parallel()
	first := client.Message{User: "alice", ID: "a", SendAt: at("2026-11-22T11:11:11Z"), Title: "Hi"}
	for answers, want := range map[string]struct{ requests, results int }{
		"": {requests: 2}, // nothing is lost yet
		`{"outcome":"accepted","line":1,"id":"a","user":"alice","send_at":"2026-11-22T11:11:11.000Z"}` + "\n": {requests: 1, results: 1},
	} {
		e := &exchange{mediaType: ndjson, status: http.StatusOK, body: answers}
		c, err := client.New("http://api.test", client.Options{
			HTTPClient: &http.Client{Transport: e}, Attempts: 2,
		})
		require.NoError(t, err)
		var failed *client.BatchError
		results := 0
		for _, err := range c.DryRunBatch(t.Context(), slices.Values([]client.Message{first, first}), client.WhatIf{}) {
			if err == nil {
				results++
				continue
			}
			require.ErrorAs(t, err, &failed)
		}
		require.NotNil(t, failed)
		require.Len(t, failed.Unanswered, 2-want.results)
		require.Len(t, e.requests, want.requests)
		require.Equal(t, want.results, results)
	}
}
