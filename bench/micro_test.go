package main

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// canned is a Redis that answers every script at once with the same reply, so that only
// the work in Go is measured.
type canned struct {
	redis.Scripter
	reply any
}

func (c canned) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetVal(c.reply)
	return cmd
}

func cannedTimeline(b *testing.B, records bool, reply any) *sendlimit.Timeline {
	b.Helper()
	timeline, err := sendlimit.NewTimeline(canned{reply: reply}, sendlimit.Options{Records: records})
	require.NoError(b, err)
	return timeline
}

// Benchmarks that need no server run, so they are not found broken when somebody needs one.
func TestMicroBenchmarksRun(t *testing.T) {
	spell := flag.Lookup("test.benchtime").Value
	before := spell.String()
	require.NoError(t, spell.Set("1x"))
	t.Cleanup(func() { require.NoError(t, spell.Set(before)) })
	for name, measure := range map[string]func(*testing.B){
		"reserve": BenchmarkReserveCall, "refusal": BenchmarkParseRefusal, "message": BenchmarkMessage,
	} {
		require.Positive(t, testing.Benchmark(measure).N, name)
	}
}

func BenchmarkReserveCall(b *testing.B) {
	request := sendlimit.Request{User: userName(123), ID: newID(), At: time.Now().Add(time.Hour)}
	now := time.Now().UnixMilli()

	b.Run("place", func(b *testing.B) {
		timeline := cannedTimeline(b, false, now)
		b.ReportAllocs()
		for b.Loop() {
			_, err := timeline.Reserve(b.Context(), request)
			require.NoError(b, err)
		}
	})
	b.Run("record", func(b *testing.B) {
		timeline := cannedTimeline(b, true, now)
		request := withRecords([]sendlimit.Request{request})[0]
		b.ReportAllocs()
		for b.Loop() {
			_, err := timeline.Reserve(b.Context(), request)
			require.NoError(b, err)
		}
	})
}

func BenchmarkParseRefusal(b *testing.B) {
	at := time.Now().Add(time.Hour)
	const sendLimit = 1
	ms := at.UnixMilli()
	conflicts := []any{int64(2), int64(5), int64(0), int64(0)}
	for range 5 {
		conflicts = append(conflicts, newID(), ms)
	}
	timeline := cannedTimeline(b, false, []any{
		int64(sendLimit), ms - 1000, ms, int64(0), ms + 60_000, int64(0), ms - 60_000, int64(0), "",
		[]any{int64(1), int64(1), int64(0), int64(0), newID(), ms},
		conflicts,
	})
	request := sendlimit.Request{User: userName(123), ID: newID(), At: at}
	b.ReportAllocs()
	for b.Loop() {
		decision, err := timeline.Reserve(b.Context(), request)
		require.NoError(b, err)
		require.Len(b, decision.Violations, 2)
	}
}

// BenchmarkMessage measures the work in Go for a message before anything is sent: its
// checks, its fingerprint and its content. The store refuses at once.
func BenchmarkMessage(b *testing.B) {
	_, client := redistest.Embedded(b)
	require.NoError(b, seedPolicy(b.Context(), client, ""))
	client.AddHook(cannedHook{reply: []any{int64(idReused), time.Now().UnixMilli(), time.Now().UnixMilli(), int64(0)}})
	submitter := newSubmitter(b, client)
	m := message.Message{
		User: userName(123), SendAt: time.Now().Add(time.Hour), Title: title, Body: body,
		Data: map[string]string{"order": "4711", "link": "https://shop.example.com/orders/4711"},
	}
	b.ReportAllocs()
	for b.Loop() {
		o, err := submitter.Submit(b.Context(), m)
		require.NoError(b, err)
		require.Equal(b, message.Refused, o.Outcome)
	}
}

// idReused is the shortest refusal, see lua/fragments/status.lua.
const idReused = 2

// cannedHook answers every script with the same reply.
type cannedHook struct{ reply []any }

func (h cannedHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h cannedHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h cannedHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd, ok := cmd.(*redis.Cmd); ok {
			cmd.SetVal(h.reply)
			return nil
		}
		return next(ctx, cmd)
	}
}

func newSubmitter(b *testing.B, client redis.UniversalClient) *submit.Submitter {
	b.Helper()
	opened, err := backend.Open(client, backend.Options{})
	require.NoError(b, err)
	submitter, err := submit.New(opened, submit.Options{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, submitter.Close()) })
	return submitter
}

// BenchmarkSubmit and BenchmarkEnqueue run on a real Redis. They are for profiling the
// row that compares them.
func BenchmarkSubmit(b *testing.B) {
	s := benchStore(b)
	require.NoError(b, s.seedPolicy(b.Context(), ""))
	submitter := newSubmitter(b, s.client)
	times := newSchedule(100_000, 10)
	b.ReportAllocs()
	b.ResetTimer()
	_, err := drive(b.Context(), b.N, func(ctx context.Context, i int) error {
		r := times.request(i)
		return submitted(ctx, submitter, message.Message{User: r.User, SendAt: r.At, Title: title, Body: body})
	})
	require.NoError(b, err)
}

func BenchmarkEnqueue(b *testing.B) {
	s := benchStore(b)
	times := newSchedule(100_000, 10)
	side := enqueueing(asynq.NewClientFromRedisClient(s.client), "bare", times,
		func(context.Context, string) error { return nil })
	slice, err := side.prepare(b.N)
	require.NoError(b, err)
	b.ReportAllocs()
	b.ResetTimer()
	_, err = drive(b.Context(), b.N, slice.do)
	require.NoError(b, err)
}

func benchStore(b *testing.B) *store {
	b.Helper()
	redistest.NeedServer(b)
	s, err := openStore(b.Context())
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.close()) })
	return s
}
