package activity_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/records/activity"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// Counts whose answer was lost are not counted twice.
func TestAFlushWithoutAReplyCountsOnce(t *testing.T) {
	t.Parallel()
	for _, store := range stores(t) {
		require.NoError(t, lua.AddOnce.Load(t.Context(), store.client).Err())
		deaf := redis.NewClient(store.client.Options())
		t.Cleanup(func() { require.NoError(t, deaf.Close()) })
		hook := &loseReplies{script: lua.AddOnce, left: 3}
		deaf.AddHook(redistest.Commands(hook.onCommand))
		l := newLog(t, deaf)
		for range 3 {
			l.Accepted("", store.now)
			l.Accepted("shop", store.now)
			require.ErrorIs(t, l.Flush(t.Context()), errNoAnswer)
		}
		require.NoError(t, l.Flush(t.Context()))
		require.NoError(t, l.Flush(t.Context()))
		got, err := l.Hours(t.Context(), store.now, store.now.Add(time.Nanosecond))
		require.NoError(t, err)
		require.EqualValues(t, 6, got[0].Accepted)
		day, err := l.Days(t.Context(), "shop", store.now.Truncate(24*time.Hour))
		require.NoError(t, err)
		require.EqualValues(t, 3, day[0].Accepted)
		require.Equal(t, 3, hook.after, "what was counted during the outage is written together")
	}
}

// An ended context leaves everything for the next flush.
func TestAnEndedContextLosesNothing(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:00"))
	l := newLog(t, client)
	ended, end := context.WithCancel(t.Context())
	end()
	for range 3 {
		l.Accepted("", story.At("12:00"))
		require.ErrorIs(t, l.Flush(ended), context.Canceled)
	}
	require.NoError(t, l.Flush(t.Context()))
	got, err := l.Minutes(t.Context(), story.At("12:00"), story.At("12:01"))
	require.NoError(t, err)
	require.EqualValues(t, 3, got[0].Accepted)
}

// What could not be written during an outage is written afterwards, each once and in few calls.
func TestCountsWaitForTheStore(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:00"))
	calls := new(redistest.ScriptCalls)
	client.AddHook(calls)
	l := newLog(t, client)
	server.SetError("ERR away")
	for range 50 {
		l.Accepted("shop", story.At("12:00"))
		require.ErrorContains(t, l.Flush(t.Context()), "writing what became of messages")
		l.Accepted("other", story.At("12:01"))
		require.Error(t, l.Flush(t.Context()))
	}
	server.SetError("")
	require.Equal(t, 3, calls.During(func() { require.NoError(t, l.Flush(t.Context())) }),
		"the one that was tried, all others together, and the accounts")
	require.Zero(t, calls.During(func() { require.NoError(t, l.Flush(t.Context())) }))
	minutes, err := l.Minutes(t.Context(), story.At("12:00"), story.At("12:02"))
	require.NoError(t, err)
	for i, account := range []string{"shop", "other"} {
		require.EqualValues(t, 50, minutes[i].Accepted)
		days, err := l.Days(t.Context(), account, story.At("00:00"))
		require.NoError(t, err)
		require.EqualValues(t, 50, days[0].Accepted)
	}
}

// The tokens of the last calls are remembered, and no more than that.
func TestFewTokensAreRemembered(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:00"))
	l := newLog(t, client)
	for range 350 {
		l.Accepted("", story.At("12:00"))
		require.NoError(t, l.Flush(t.Context()))
	}
	hours, err := l.Hours(t.Context(), story.At("12:00"), story.At("13:00"))
	require.NoError(t, err)
	require.EqualValues(t, 350, hours[0].Accepted)
	tokens, err := client.Get(t.Context(), keyspace.KeysUnder("sl").ActivityCalls()).Result()
	require.NoError(t, err)
	require.Len(t, tokens, 4096)
}

// Counts that have expired meanwhile are not kept.
func TestExpiredCountsAreNotKept(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	for _, c := range []*redis.Client{client, redistest.Real(t).Client()} {
		l := newLog(t, c)
		l.Accepted("shop", time.Now().Add(-33*24*time.Hour))
		require.NoError(t, l.Flush(t.Context()))
		keys, err := c.Keys(t.Context(), "sl:{activity}:*").Result()
		require.NoError(t, err)
		require.Empty(t, keys)
	}
}

// Many accounts are written in a few calls.
func TestAccountsAreWrittenTogether(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:00"))
	calls := new(redistest.ScriptCalls)
	client.AddHook(calls)
	l := newLog(t, client)
	for i := range 250 {
		l.Accepted(fmt.Sprint("shop", i), story.At("12:00"))
	}
	require.Equal(t, 4, calls.During(func() { require.NoError(t, l.Flush(t.Context())) }), "all, and 100 accounts at a time")
	for i := range 250 {
		days, err := l.Days(t.Context(), fmt.Sprint("shop", i), story.At("00:00"))
		require.NoError(t, err)
		require.EqualValues(t, 1, days[0].Accepted)
	}
}

// The zones of accounts can't be read for a while: what became of the messages of all is
// written, and what became of those of accounts is when the zones are known.
func TestCountsOfAccountsWaitForTheirZones(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:00"))
	away := true
	l := activity.New(client, keyspace.KeysUnder(""), func(_ context.Context, account string) (*time.Location, error) {
		if away && account == "away" {
			return nil, errNoAnswer
		}
		return time.FixedZone("", 14*60*60), nil
	})
	accounts := []string{"a", "away", "b", "c", "d"}
	for n := range 3 {
		for _, account := range accounts {
			l.Delivered(account, story.At("12:00").Add(time.Duration(n)*time.Minute), 0, false)
		}
		require.ErrorIs(t, l.Flush(t.Context()), errNoAnswer)
		hours, err := l.Hours(t.Context(), story.At("12:00"), story.At("13:00"))
		require.NoError(t, err)
		require.EqualValues(t, 5*(n+1), hours[0].Delivered)
	}
	days := func(account string) activity.Counts {
		found, err := l.Days(t.Context(), account, story.At("10:00"))
		require.NoError(t, err)
		return found[0].Counts
	}
	require.Zero(t, days("away"))
	away = false
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, l.Flush(ended), context.Canceled)
	require.Zero(t, days("away"))
	for range 2 {
		require.NoError(t, l.Flush(t.Context()))
		for _, account := range accounts {
			require.Equal(t, activity.Counts{Delivered: 3}, days(account), account)
		}
	}
}

var errNoAnswer = errors.New("no answer")

// loseReplies is a client hook that loses the first answers of a script.
type loseReplies struct {
	script *lua.Script
	left   int
	after  int // calls since
}

func (l *loseReplies) onCommand(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	err := next(ctx, cmd)
	if args := cmd.Args(); err == nil && len(args) > 1 && args[1] == l.script.Hash() {
		if l.left == 0 {
			l.after++
			return nil
		}
		l.left--
		cmd.SetErr(errNoAnswer)
		return errNoAnswer
	}
	return err
}
