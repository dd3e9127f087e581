package api_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/api/apitest"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

func TestLinesThatAreNoMessages(t *testing.T) {
	t.Parallel()
	b := newBatches(t, api.Limits{})
	long := strings.Repeat("x", 60<<10)
	outcomes := b.outcomes(b.post(strings.NewReader(
		b.line("a", 0) +
			"\n  \t\r\n" + // blank lines count, and are passed over
			"{broken\n" +
			`{"user":"a","send_at":"tomorrow","title":"t","id":"i"}` + "\n" +
			`{"user":"a","send_at":"now","tilte":"t"}` + "\n" +
			`{"user":"a","send_at":"now","title":"` + strings.Repeat("x", 70<<10) + `"}` + "\n" +
			`{"user":"a","send_at":"now","title":"` + long + `"}` + "\n" +
			`{"user":"` + long + `","send_at":"now","title":"t"}` + "\n" +
			"[]\n" +
			strings.TrimSuffix(b.line("a", 5), "\n"), // the last line needs no end
	)))
	type seen struct {
		line                 int
		outcome, field, user string
	}
	var got []seen
	for _, o := range outcomes {
		got = append(got, seen{o.Line, o.Outcome, o.Field, o.User})
		require.Less(t, len(o.Detail), 300)
	}
	require.Contains(t, outcomes[3].Detail, `unknown field "tilte"`)
	require.Contains(t, outcomes[3].Detail, "title or body is required")
	require.Equal(t, []seen{
		{1, message.Accepted, "", "a"},
		{4, message.Invalid, "message", ""},
		{5, message.Invalid, "send_at", "a"},
		{6, message.Invalid, "tilte", "a"},
		{7, message.Invalid, "message", ""},
		{8, message.Invalid, "body", "a"},
		{9, message.Invalid, "user", ""}, // too long to be repeated
		{10, message.Invalid, "message", ""},
		{11, message.Accepted, "", "a"},
	}, got)
	require.Equal(t, "i", outcomes[2].ID)
	require.Equal(t, `user "`+long[:80]+`…" is not allowed: use 1 to 256 bytes of UTF-8 without control or invisible characters, and without a space at its ends`,
		outcomes[6].Detail)
}

// A gzipped body is not unzipped: 2 MB could cost seconds.
func TestAGzippedBatchIsRefused(t *testing.T) {
	t.Parallel()
	b := newBatches(t, api.Limits{})
	var body bytes.Buffer
	w := gzip.NewWriter(&body)
	_, err := io.WriteString(w, strings.Repeat("\n", 1<<20))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	reply := b.post(&body)
	require.Equal(t, http.StatusUnprocessableEntity, reply.status)
	text, err := io.ReadAll(reply.body)
	require.NoError(t, err)
	require.Contains(t, string(text), `"field":"body"`)
	require.Contains(t, string(text), "the text is gzipped: unzip it first")
}

func TestABatchOfNothing(t *testing.T) {
	t.Parallel()
	b := newBatches(t, api.Limits{})
	for _, body := range []string{"", "\n\n", "\xef\xbb\xbf"} {
		require.Empty(t, b.outcomes(b.post(strings.NewReader(body))))
	}
}

// HTTP/1.1 in both directions at once: each line is answered before the next is
// sent.
func TestABatchIsAnsweredWhileItIsRead(t *testing.T) {
	t.Parallel()
	b := newBatches(t, api.Limits{})
	talk := b.talk(b.line("a", 0))
	require.Equal(t, "HTTP/1.1", talk.reply.proto)
	require.Equal(t, message.Accepted, talk.hear().Outcome)
	for n := 2; n < 5; n++ {
		talk.say(b.line("a", n))
		o := talk.hear()
		require.Equal(t, n, o.Line)
		require.Equal(t, message.Accepted, o.Outcome)
	}
	require.NoError(t, talk.lines.Close())
	talk.ends()
}

func TestNoMoreBatchesThanTheLimit(t *testing.T) {
	t.Parallel()
	b := newBatches(t, api.Limits{Streams: 2, StreamsPerAccount: 2})
	first, second := b.talk(b.line("a", 0)), b.talk(b.line("b", 0))
	refused := b.post(strings.NewReader(b.line("c", 0)))
	require.Equal(t, http.StatusServiceUnavailable, refused.status)
	require.Equal(t, "1", refused.header.Get("Retry-After"))
	b.accepts("d") // counted apart
	for _, talk := range []*talk{first, second} {
		require.Equal(t, message.Accepted, talk.hear().Outcome)
		require.NoError(t, talk.lines.Close())
		talk.ends()
	}
	b.acceptsBatch("c")
}

func TestTheStoreFailsDuringABatch(t *testing.T) {
	t.Parallel()
	b := newBatches(t, api.Limits{})
	talk := b.talk(b.line("a", 0))
	require.Equal(t, message.Accepted, talk.hear().Outcome)
	b.store.SetError("LOADING Redis is loading the dataset in memory")
	talk.say(b.line("a", 2))
	last := talk.hear()
	require.Equal(t, message.Outcome{
		Outcome: message.Errored, Code: fault.CodeUnavailable, Line: 2,
		Detail: "Redis is still loading its data: try again in a moment: go on with line 2",
	}, last)
	talk.ends()

	none := b.post(strings.NewReader(b.line("b", 0)))
	require.Equal(t, http.StatusServiceUnavailable, none.status)
	require.Equal(t, "1", none.header.Get("Retry-After"))
	var problem api.Problem
	require.NoError(t, json.NewDecoder(none.body).Decode(&problem))
	require.Equal(t, fault.CodeUnavailable, problem.Code)
	require.Equal(t, 1, problem.Line)

	b.store.SetError("")
	b.acceptsBatch("a")
}

func TestAServerThatStopsEndsItsBatches(t *testing.T) {
	t.Parallel()
	b := newBatches(t, api.Limits{})
	talk := b.talk(b.line("a", 0))
	require.Equal(t, message.Accepted, talk.hear().Outcome)
	close(b.stopping)
	require.Equal(t, message.Outcome{
		Outcome: message.Errored, Code: fault.CodeUnavailable, Line: 2, Detail: "this server stops: go on with line 2",
	}, talk.hear())
	talk.ends() // though the client has not ended it

	none := b.post(strings.NewReader(b.line("a", 2)))
	require.Equal(t, http.StatusServiceUnavailable, none.status)
}

// Neither the lines nor the outcomes are kept. Memory kept for each line would grow with each third
// of the batch; one-time allocations do not.
func TestTheMemoryOfABatchDoesNotGrow(t *testing.T) {
	sendlimittest.Long(t)
	const lines, looks = 300_000, 12
	b := newBatches(t, api.Limits{})
	body, send := io.Pipe()
	b.Cleanup(func() { _ = send.Close() })
	go func() {
		text := strings.Repeat("{}\n", lines/(looks*10))
		for range looks * 10 {
			_, _ = io.WriteString(send, text)
		}
		_ = send.Close()
	}()
	answers := bufio.NewScanner(b.post(body).body)
	var thirds [3]int // the least heap in each: other tests may leave something behind for a while
	read := 0
	for ; answers.Scan(); read++ {
		if read%(lines/looks) != lines/looks/2 {
			continue
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		least := &thirds[3*read/lines]
		if *least == 0 || int(m.HeapAlloc) < *least {
			*least = int(m.HeapAlloc)
		}
	}
	require.NoError(t, answers.Err())
	require.Equal(t, lines, read)
	grown := min(thirds[1]-thirds[0], thirds[2]-thirds[1])
	require.Less(t, grown, 16*lines/3, "%d bytes in the thirds: something of each line is kept", thirds)
}

// sentLines are lines of messages that another system sent at the end of the 20th, or did not send.
func sentLines() []string {
	return []string{
		`{"id":"s1","user":"alice","send_at":"2026-11-20T23:00:00Z"}`,
		`{"id":"s2","user":"alice","send_at":"2026-11-20T23:00:01Z","title":"Hi","category":"news","campaign":"spring"}`,
		`{"id":"s1","user":"alice","send_at":"2026-11-20T23:00:00Z"}`,
		`{"id":"s1","user":"alice","send_at":"2026-11-20T23:30:00Z"}`,
		`{"id":"old","user":"alice","send_at":"2020-01-01T00:00:00Z"}`,
		`{"id":"s3","user":"alice","send_at":"2026-11-22T23:00:00Z"}`,
		`{"id":"s4","user":"alice","send_at":"now"}`,
		`{"id":"s5","user":"","send_at":"2026-11-20T23:00:00Z"}`,
		`not JSON`,
	}
}

// Messages that another system sent count, but are not judged or delivered. Sent again, the lines
// change nothing.
func TestSendsOfAnotherSystemAreRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	outcomes := r.judged("", recordSentPath, sentLines()...)
	require.Equal(t, []string{
		message.Recorded, message.Recorded, message.Recorded, message.Refused, message.Recorded,
		message.Invalid, message.Invalid, message.Invalid, message.Invalid,
	}, kinds(outcomes))
	require.Equal(t, []bool{false, false, true}, []bool{outcomes[0].Replayed, outcomes[1].Replayed, outcomes[2].Replayed})
	require.Equal(t, fault.CodeIDReused, outcomes[3].Code)
	require.True(t, outcomes[4].Forgotten)
	require.Equal(t, []string{"send_at", "send_at", "user"}, []string{outcomes[5].Field, outcomes[6].Field, outcomes[7].Field})
	for i, o := range outcomes {
		require.Equal(t, i+1, o.Line)
	}
	usage := into[message.Usage](t, http.StatusOK, r.get("/v1/users/alice/usage?from=2026-11-20T00:00:00Z&until=2026-11-21T00:00:00Z"))
	require.Len(t, usage.Sends, 2)

	before := r.store.Dump()
	again := r.judged("", recordSentPath, sentLines()...)
	require.Equal(t, kinds(outcomes), kinds(again))
	require.Equal(t, apitest.WithoutLog(before), apitest.WithoutLog(r.store.Dump()))
	refused := r.send(ndjsonOf(recordSentPath+"?without_free_times=true", sentLines()...))
	require.Equal(t, http.StatusUnprocessableEntity, refused.status, "nothing has free times")
}
