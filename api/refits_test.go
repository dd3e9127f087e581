package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/refit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// refitLine is any line of a dry run of a policy or a refit.
type refitLine struct {
	Outcome string     `json:"outcome"`
	Code    fault.Code `json:"code"`
	ID      string     `json:"id"`
	User    string     `json:"user"`
	SendAt  string     `json:"send_at"`
	Breaks  string     `json:"breaks"`
	Misfits int        `json:"misfits"`
	Moved   int        `json:"moved"`
	Next    int        `json:"next_partition"`
}

// lines returns the lines of an answer without progress lines.
func (r *rig) lines(got reply) []refitLine {
	r.Helper()
	require.Equal(r, http.StatusOK, got.status, string(got.body))
	require.Equal(r, "application/x-ndjson", got.header.Get("Content-Type"))
	all := bytes.Split(bytes.TrimSpace(got.body), []byte("\n"))
	require.JSONEq(r, `{"outcome":"progress","partitions_done":0,"partitions":1024}`, string(all[0]))
	var lines []refitLine
	for _, text := range all {
		var line refitLine
		require.NoError(r, json.Unmarshal(text, &line), string(text))
		if line.Outcome != "progress" {
			lines = append(lines, line)
		}
	}
	return lines
}

// A dry run changes nothing, and a refit makes the changes of the dry run.
func TestPreviewAndRefit(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	r := newRig(t)
	booked(r)
	noted(r)
	before := r.store.Dump()
	const strictly = `{"rules":["1/calendar_day"]}`
	lines := r.lines(r.post(defaultPath+"/dry-run", strictly))
	require.Equal(t, []refitLine{
		{Outcome: message.MisfitFound, ID: "b", User: "alice", SendAt: on22("12:11:11.000"), Breaks: "1/calendar_day"},
		{Outcome: message.DryRun, Misfits: 1, Next: keyspace.Partitions},
	}, lines)
	require.Equal(t, before, r.store.Dump())

	require.Equal(t, http.StatusOK, r.send(conditional(http.MethodPut, defaultPath, strictly, "")).status)
	lines = r.lines(r.post(defaultPath+"/refit?then=shift", ""))
	require.Equal(t, []refitLine{
		{Outcome: message.Moved, ID: "b", User: "alice", SendAt: "2026-11-23T00:00:00.000Z", Breaks: "1/calendar_day"},
		{Outcome: message.Refitted, Misfits: 1, Moved: 1, Next: keyspace.Partitions},
	}, lines)
	status := into[message.Status](t, http.StatusOK, r.get("/v1/users/alice/messages/b"))
	require.Equal(t, "2026-11-23T00:00:00.000Z", status.SendAt.Format(message.TimeLayout))
	require.Equal(t, []refitLine{{Outcome: message.Refitted, Next: keyspace.Partitions}}, r.lines(r.post(defaultPath+"/refit?then=shift", "")))

	for query, says := range map[string]string{"": "shift or cancel", "?then=": "shift or cancel", "?then=keep": "shift or cancel", "?to=shift": "there are then"} {
		require.Contains(t, r.problem(http.StatusUnprocessableEntity, r.post(defaultPath+"/refit"+query, "")).Detail, says)
	}
}

// steps are the store calls of a Refitter. Each waits until it is released.
type steps struct {
	next  chan struct{}
	ended chan error   // how the wait of the last one ended early
	waits atomic.Int64 // how many have waited or wait
}

// newStepped starts an API with a Refitter that waits after each call.
func newStepped(t *testing.T, options ...func(*api.Options)) (*rig, *steps) {
	t.Helper()
	s := &steps{next: make(chan struct{}), ended: make(chan error, 1)}
	r := newRig(t)
	refitter, err := refit.New(taskstest.Open(t, r.client, backend.Options{}), refit.Options{
		Rest: func(ctx context.Context, _ time.Duration) error {
			s.waits.Add(1)
			select {
			case <-s.next:
				return nil
			case <-ctx.Done():
				s.ended <- context.Cause(ctx)
				return ctx.Err()
			}
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, refitter.Close()) })
	r.serves(append(options, func(o *api.Options) { o.Refitter = refitter })...)
	return r, s
}

type preview struct {
	*rig

	lines *bufio.Scanner
	leave context.CancelFunc
}

func (r *rig) preview(body string) preview {
	r.Helper()
	ctx, leave := context.WithCancel(r.Context())
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+defaultPath+"/dry-run", strings.NewReader(body))
	require.NoError(r, err)
	q.Header.Set("Content-Type", "application/json")
	got, err := r.http.Do(q)
	require.NoError(r, err)
	r.Cleanup(func() { leave(); _ = got.Body.Close() })
	require.Equal(r, http.StatusOK, got.StatusCode)
	return preview{rig: r, lines: bufio.NewScanner(got.Body), leave: leave}
}

func (p preview) next() refitLine {
	p.Helper()
	require.True(p, p.lines.Scan(), "%v", p.lines.Err())
	var line refitLine
	require.NoError(p, json.Unmarshal(p.lines.Bytes(), &line))
	return line
}

// users are one in an early partition, and one in a later.
func users(t *testing.T) (early, later string) {
	t.Helper()
	for i := 0; early == "" || later == ""; i++ {
		switch user, p := fmt.Sprint("user-", i), keyspace.Partition(fmt.Sprint("user-", i)); {
		case p < keyspace.Partitions/4:
			early = user
		case p > keyspace.Partitions/2:
			later = user
		}
	}
	return early, later
}

// A dry run of a policy reports messages that do not fit while it runs. One runs at a time, and ends
// when its client leaves.
func TestAPreviewIsToldAsItGoes(t *testing.T) {
	t.Parallel()
	r, s := newStepped(t)
	early, later := users(t)
	for _, user := range []string{early, later} {
		for _, clock := range []string{"11:00:00", "12:00:00"} {
			r.accepted(`{"user":"` + user + `","send_at":"` + on22(clock) + `","title":"Hi"}`)
		}
	}
	p := r.preview(`{"rules":["1/calendar_day"]}`)
	require.Equal(t, "progress", p.next().Outcome)
	for range 4 { // looks at the first one's partition and at the user, by either policy
		s.next <- struct{}{}
	}
	first := p.next()
	for first.Outcome == "progress" {
		first = p.next()
	}
	require.Equal(t, []string{message.MisfitFound, early}, []string{first.Outcome, first.User}, "while the other is not looked at yet")

	busy := r.post(defaultPath+"/dry-run", `{"rules":["1/calendar_day"]}`)
	require.Equal(t, fault.CodeRateLimited, r.problem(http.StatusTooManyRequests, busy).Code)
	require.NotEmpty(t, busy.header.Get("Retry-After"))
	require.Equal(t, http.StatusTooManyRequests, r.post(defaultPath+"/refit?then=shift", "").status)

	// A caller may leave during a call. The next dry run can run then.
	require.Eventually(t, func() bool { return s.waits.Load() == 5 }, time.Minute, time.Millisecond)
	p.leave()
	require.ErrorIs(t, <-s.ended, context.Canceled)
	close(s.next)
	require.Eventually(t, func() bool {
		return r.post(defaultPath+"/dry-run", `{"rules":["1/calendar_day"]}`).status == http.StatusOK
	}, time.Minute, 10*time.Millisecond)
}

// A server that stops says how far it has come.
func TestAPreviewEndsWhenTheServerStops(t *testing.T) {
	t.Parallel()
	stopping := make(chan struct{})
	r, s := newStepped(t, func(o *api.Options) { o.Stopping = stopping })
	var partitions []int
	for i := range 5 {
		user := "user" + strconv.Itoa(i)
		partitions = append(partitions, keyspace.Partition(user))
		r.accepted(`{"user":"` + user + `","send_at":"` + on22("11:00:00") + `","title":"Hi"}`)
	}
	slices.Sort(partitions)
	p := r.preview(`{"rules":["1/calendar_day"]}`)
	require.Equal(t, "progress", p.next().Outcome)
	for range 9 { // four of each partition, two by the stored policy: in the third it has looked for who is there
		s.next <- struct{}{}
	}
	close(stopping)
	summary := p.next()
	for summary.Outcome == "progress" {
		summary = p.next()
	}
	require.Equal(t, message.DryRun, summary.Outcome)
	require.Equal(t, partitions[2], summary.Next)
	last := p.next()
	require.Equal(t, refitLine{Outcome: message.Errored, Code: fault.CodeUnavailable}, last)
	require.False(t, p.lines.Scan())
}
