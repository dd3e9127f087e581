package sendlimit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// untouchable is a client that must not be called.
type untouchable struct {
	redis.Scripter

	t *testing.T
}

func (u untouchable) EvalSha(context.Context, string, []string, ...any) *redis.Cmd {
	u.t.Error("a request that is not valid got as far as the store")
	return redis.NewCmdResult(nil, redis.ErrClosed)
}

const (
	wantUser       = "1 to 256 bytes of UTF-8 without control or invisible characters, and without a space at its ends"
	wantID         = "1 to 128 of A-Z a-z 0-9 . _ : -"
	wantGeneration = "1 to 64 of A-Z a-z 0-9 _ -, see keyspace.NewToken"
)

// Every operation checks users and ids.
func TestUsersAndIDsAreChecked(t *testing.T) {
	t.Parallel()
	timeline, err := sendlimit.NewTimeline(untouchable{t: t}, sendlimit.Options{})
	require.NoError(t, err)
	gate, err := messages.NewGate(untouchable{t: t}, sendlimit.Options{})
	require.NoError(t, err)
	ctx := t.Context()
	byUser := map[string]func(user string) error{
		"next free": func(user string) error {
			_, err := timeline.NextFree(ctx, sendlimit.NextFreeRequest{User: user, Count: 1})
			return err
		},
		"list": func(user string) error {
			_, err := timeline.List(ctx, sendlimit.ListRequest{User: user})
			return err
		},
		"usage": func(user string) error {
			_, err := timeline.Usage(ctx, sendlimit.UsageRequest{User: user})
			return err
		},
	}
	byID := map[string]func(user, id string) error{
		"reserve": func(user, id string) error {
			_, err := timeline.Reserve(ctx, sendlimit.Request{User: user, ID: id})
			return err
		},
		"check": func(user, id string) error {
			_, err := timeline.Check(ctx, sendlimit.Request{User: user, ID: id})
			return err
		},
		"move": func(user, id string) error {
			_, err := timeline.Move(ctx, sendlimit.MoveRequest{User: user, ID: id})
			return err
		},
		"release": func(user, id string) error {
			_, err := timeline.Release(ctx, sendlimit.ReleaseRequest{User: user, ID: id})
			return err
		},
		"claim": func(user, id string) error {
			_, err := gate.Claim(ctx, messages.Delivery{User: user, ID: id, Generation: "g", Nonce: "n"}, story.Lease, time.Time{})
			return err
		},
		"settle": func(user, id string) error {
			_, err := gate.Settle(ctx, messages.Delivery{User: user, ID: id, Generation: "g", Nonce: "n"},
				messages.Settlement{Outcome: messages.Delivered}, time.Time{})
			return err
		},
	}
	for operation, call := range byID {
		byUser[operation] = func(user string) error { return call(user, "a") }
		for _, id := range []string{"", "a b", "a/b", "ä", "a\n", "a\x00", "{a}", "*", "\xff", strings.Repeat("a", 129)} {
			require.Equal(t, wantID, story.Invalid(t, call("alice", id), "id", id), "%s %q", operation, id)
		}
	}
	require.Len(t, byUser, 9, "every operation")
	for operation, call := range byUser {
		for _, user := range []string{"", "\x00", "a\nb", "a\tb", "\x7f", "\xff", "a\xc3", strings.Repeat("x", 257), strings.Repeat("界", 86)} {
			require.Equal(t, wantUser, story.Invalid(t, call(user), "user", user), "%s %q", operation, user)
		}
	}
}

// The category of a request, or of its record, is part of a key.
func TestCategoriesAreChecked(t *testing.T) {
	t.Parallel()
	timeline, err := sendlimit.NewTimeline(untouchable{t: t}, sendlimit.Options{Records: true})
	require.NoError(t, err)
	for _, category := range []string{"News", "a:b", "a b", "{a}", "a/b", "ä", "%1", strings.Repeat("a", 65)} {
		record := &sendlimit.Record{Generation: "g", Category: category}
		_, err := timeline.Reserve(t.Context(), sendlimit.Request{User: "alice", ID: "a", Record: record})
		require.Equal(t, "a name of 1 to 64 of a-z 0-9 _ -", story.Invalid(t, err, "category", category))
		_, err = timeline.Check(t.Context(), sendlimit.Request{User: "alice", ID: "a", Category: category, Record: &sendlimit.Record{}})
		require.Equal(t, "a name of 1 to 64 of a-z 0-9 _ -", story.Invalid(t, err, "category", category))
		_, err = timeline.RecordSent(t.Context(), sendlimit.SentRequest{User: "alice", ID: "a", At: story.At("10:00"), Record: record})
		require.Equal(t, "a name of 1 to 64 of a-z 0-9 _ -", story.Invalid(t, err, "category", category))
	}
}

func TestOtherFieldsAreChecked(t *testing.T) {
	t.Parallel()
	store := untouchable{t: t}
	timeline, err := sendlimit.NewTimeline(store, sendlimit.Options{})
	require.NoError(t, err)
	recording, err := sendlimit.NewTimeline(store, sendlimit.Options{Records: true})
	require.NoError(t, err)
	gate, err := messages.NewGate(store, sendlimit.Options{Records: true})
	require.NoError(t, err)
	ctx, now := t.Context(), story.At("11:11:11")
	reserve := func(timeline *sendlimit.Timeline, r *sendlimit.Record) error {
		_, err := timeline.Reserve(ctx, sendlimit.Request{User: "alice", ID: "a", At: now, Record: r})
		return err
	}
	check := func(timeline *sendlimit.Timeline, r *sendlimit.Record) error {
		_, err := timeline.Check(ctx, sendlimit.Request{User: "alice", ID: "a", At: now, Record: r})
		return err
	}
	move := func(timeline *sendlimit.Timeline, generation string) error {
		_, err := timeline.Move(ctx, sendlimit.MoveRequest{User: "alice", ID: "a", At: now, Generation: generation})
		return err
	}
	nextFree := func(count int) error {
		_, err := timeline.NextFree(ctx, sendlimit.NextFreeRequest{User: "alice", Count: count})
		return err
	}
	list := func(r sendlimit.ListRequest) error {
		r.User = "alice"
		_, err := timeline.List(ctx, r)
		return err
	}
	usage := func(from, to time.Time) error {
		_, err := timeline.Usage(ctx, sendlimit.UsageRequest{User: "alice", From: from, To: to})
		return err
	}
	claim := func(generation, nonce string, lease time.Duration) error {
		_, err := gate.Claim(ctx, messages.Delivery{User: "alice", ID: "a", Generation: generation, Nonce: nonce}, lease, now)
		return err
	}
	settle := func(generation, nonce string, s messages.Settlement) error {
		_, err := gate.Settle(ctx, messages.Delivery{User: "alice", ID: "a", Generation: generation, Nonce: nonce}, s, now)
		return err
	}
	const (
		needed    = "a record: this timeline keeps them"
		unneeded  = "none: this timeline keeps places only"
		oneOf     = "exactly one of delivered, failed, uncertain and retry"
		afterFrom = "until must be after from, by at most 32 days"
	)
	long := strings.Repeat("g", 65)
	for _, row := range []struct {
		err                error
		field, value, want string
	}{
		{reserve(timeline, &sendlimit.Record{Generation: "g"}), "record", "g", unneeded},
		{check(timeline, &sendlimit.Record{Generation: "g"}), "record", "g", unneeded},
		{move(timeline, "g"), "generation", "g", unneeded},
		{reserve(recording, nil), "record", "", needed},
		{check(recording, nil), "record", "", needed},
		{reserve(recording, &sendlimit.Record{}), "generation", "", wantGeneration},
		{reserve(recording, &sendlimit.Record{Generation: "a/b"}), "generation", "a/b", wantGeneration}, // it ends a watch member's
		{reserve(recording, &sendlimit.Record{Generation: "a:b"}), "generation", "a:b", wantGeneration},
		{reserve(recording, &sendlimit.Record{Generation: long}), "generation", long, wantGeneration},
		{move(recording, ""), "generation", "", wantGeneration},
		{claim("", "n", story.Lease), "generation", "", wantGeneration},
		{claim("g", "", story.Lease), "nonce", "", wantGeneration},
		{claim("g", "n", 0), "lease", "0s", "at least 1 ms"},
		{claim("g", "n", time.Millisecond-1), "lease", "999.999µs", "at least 1 ms"},
		{settle("", "n", messages.Settlement{Outcome: messages.Failed}), "generation", "", wantGeneration},
		{settle("g", "a b", messages.Settlement{Outcome: messages.Failed}), "nonce", "a b", wantGeneration},
		{
			settle("g", "n", messages.Settlement{Outcome: messages.Retried, Retry: messages.Retry{Generation: "é", At: now}}),
			"generation", "é", wantGeneration,
		},
		{nextFree(0), "count", "0", "1 to 100"},
		{nextFree(-1), "count", "-1", "1 to 100"},
		{nextFree(101), "count", "101", "1 to 100"},
		{list(sendlimit.ListRequest{Limit: -1}), "limit", "-1", "1 to 10000"},
		{list(sendlimit.ListRequest{Limit: 10_001}), "limit", "10001", "1 to 10000"},
		{list(sendlimit.ListRequest{From: now, To: now}), "until", "2026-11-22T11:11:11Z", "until must be after from"},
		{usage(now, now), "until", "2026-11-22T11:11:11Z", afterFrom},
		{usage(now, time.Time{}), "until", "0001-01-01T00:00:00Z", afterFrom},
		{usage(time.Time{}, now), "until", "2026-11-22T11:11:11Z", afterFrom},
		{usage(now, now.Add(32*24*time.Hour+1)), "until", "2026-12-24T11:11:11Z", afterFrom},
	} {
		require.Equal(t, row.want, story.Invalid(t, row.err, row.field, row.value))
	}
	for _, s := range []messages.Settlement{
		{},
		{Outcome: messages.Retried + 1},
		{Outcome: messages.Delivered, Retry: messages.Retry{Generation: "g2", At: now}},
		{Outcome: messages.Failed, Retry: messages.Retry{Generation: "g2", At: now}},
	} {
		var problem *fault.InvalidError
		require.ErrorAs(t, settle("g", "n", s), &problem)
		require.Equal(t, "settlement", problem.Field)
		require.Equal(t, oneOf, problem.Want)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		options            sendlimit.Options
		field, value, want string
	}{
		{sendlimit.Options{Prefix: "A"}, "prefix", "A", "1 to 32 of a-z 0-9 _ -"},
		{sendlimit.Options{Reach: time.Second - 1}, "reach", "999.999999ms", "1 s to 366 days"},
		{sendlimit.Options{Reach: -time.Hour}, "reach", "-1h0m0s", "1 s to 366 days"},
		{sendlimit.Options{Reach: policy.DefaultReach + 1}, "reach", "8784h0m0.000000001s", "1 s to 366 days"},
		{sendlimit.Options{KeepRecords: time.Second}, "keep_records", "1s", "at least 1 minute"},
		{sendlimit.Options{ExpireAfter: time.Millisecond}, "expire_after", "1ms", "at least 1 s"},
	} {
		_, err := sendlimit.NewTimeline(untouchable{t: t}, row.options)
		require.Equal(t, row.want, story.Invalid(t, err, row.field, row.value))
		_, err = messages.NewGate(untouchable{t: t}, row.options)
		require.Equal(t, row.want, story.Invalid(t, err, row.field, row.value))
	}
	_, err := messages.NewWatchList(nil, sendlimit.Options{Prefix: "A"})
	story.Invalid(t, err, "prefix", "A")

	rules, err := sendlimit.NewRules()
	require.NoError(t, err)
	require.Equal(t, []policy.Policy{policy.Default()}, rules.Policies())
	for _, row := range []struct {
		policy             policy.Policy
		field, value, want string
	}{
		{policy.Policy{Name: "p"}, "rules", "[]", "a policy needs at least one rule, such as 5/hour"},
		{policy.Policy{Rules: policy.Default().Rules}, "policy", "", "a name of 1 to 64 of a-z 0-9 _ -"},
	} {
		_, err := sendlimit.NewRules(row.policy)
		require.Equal(t, row.want, story.Invalid(t, err, row.field, row.value))
		require.Equal(t, row.want, story.Invalid(t, rules.Replace(story.PolicyOf(t, "1/hour"), row.policy), row.field, row.value))
		require.Equal(t, policy.Default(), rules.Of("alice"), "they stay as they are")
	}
	require.NoError(t, rules.Replace(story.PolicyOf(t, "2/minute")))
	require.Equal(t, "2/minute", rules.Of("alice").String())
}

// An error about a long value is short, and does not cut a character in two.
func TestLongValuesAreClipped(t *testing.T) {
	t.Parallel()
	err := &fault.InvalidError{Field: "user", Value: strings.Repeat("界", 100), Want: "less"}
	require.EqualError(t, err, `user "`+strings.Repeat("界", 26)+`…" is not allowed: use less`)
	err.Value = strings.Repeat("x", 80)
	require.NotContains(t, err.Error(), "…")
}

// Times far beyond the reach are refused as such, and never overflow.
func TestTimesOutOfAllBounds(t *testing.T) {
	t.Parallel()
	s := story.New(t, "1/minute", "1/calendar_month")
	for _, far := range []string{"2027-11-23T00:00:00.001Z", "9999-12-31T23:59:59.999Z"} {
		require.Equal(t, sendlimit.Decision{Code: fault.CodeTooFarAhead, At: story.At(far), Latest: s.Now.Add(policy.DefaultReach), Now: s.Now}, s.Reserve("a", far))
	}
	for _, past := range []string{"21 23:59:54.999", "1970-01-01T00:00:00.001Z", "1969-12-31T23:59:59.999Z", "0001-01-01T00:00:00.001Z"} {
		require.Equal(t, sendlimit.Decision{Code: fault.CodeInPast, At: story.At(past), Now: s.Now}, s.Reserve("a", past))
	}
	require.True(t, s.Reserve("a", "2027-11-23T00:00:00Z").Allowed, "the reach to the millisecond")
}
