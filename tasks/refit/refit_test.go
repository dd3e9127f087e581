package refit_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
	"github.com/sendlimit/sendlimiter/tasks/refit"
)

// scheduled is a message of a user.
type scheduled struct {
	id, category string
	at           time.Time
}

// schedule adds messages to the store as a submit does, but without judging.
// Past ones have been sent.
func schedule(t *testing.T, client redis.UniversalClient, now time.Time, user string, messages ...scheduled) {
	t.Helper()
	keys := story.KeysOf(sendlimit.Options{})
	_, err := client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		for _, m := range messages {
			generation := keyspace.NewToken()
			pipe.ZAdd(t.Context(), keys.Timeline(user), redis.Z{Score: float64(m.at.UnixMilli()), Member: m.id})
			record := []any{"g", generation, "t", m.at.UnixMilli()}
			if m.category != "" {
				record = append(record, "k", m.category)
				pipe.ZAdd(t.Context(), keys.Category(user, m.category), redis.Z{Score: float64(m.at.UnixMilli()), Member: m.id})
			}
			if !m.at.After(now) {
				record = append(record, "s", "d")
			} else {
				pipe.ZAdd(t.Context(), keys.Near(user), redis.Z{
					Score: float64(m.at.Add(time.Minute).UnixMilli()), Member: keyspace.WatchMember(user, m.id, generation),
				})
			}
			pipe.HSet(t.Context(), keys.Record(user, m.id), record...)
		}
		return nil
	})
	require.NoError(t, err)
}

// runRefit runs a refit over all partitions with users. It returns the misfits
// by user, and the totals.
func runRefit(t *testing.T, client redis.UniversalClient, o sendlimit.Options, r refit.FinderOptions) (map[string][]refit.Misfit, message.RefitTotals) {
	t.Helper()
	look, err := refit.NewFinder(client, o, r)
	require.NoError(t, err)
	return looked(t, look)
}

// looked is all that a Refit finds.
func looked(t *testing.T, look *refit.Finder) (map[string][]refit.Misfit, message.RefitTotals) {
	t.Helper()
	found := make(map[string][]refit.Misfit)
	var sum message.RefitTotals
	occupied, err := look.Occupied(t.Context())
	require.NoError(t, err)
	require.Len(t, occupied, keyspace.Partitions)
	for p, some := range occupied {
		if !some {
			continue
		}
		totals, err := look.Partition(t.Context(), p, func(_ context.Context, misfits []refit.Misfit) error {
			require.NotEmpty(t, misfits)
			user := misfits[0].User
			require.Equal(t, p, keyspace.Partition(user))
			require.NotContains(t, found, user, "a user's misfits come together")
			found[user] = misfits
			return nil
		})
		require.NoError(t, err)
		sum.Add(totals)
	}
	return found, sum
}

// runRefitOfUser returns the misfits of one user.
func runRefitOfUser(t *testing.T, client redis.UniversalClient, p policy.Policy, now time.Time, user string) []refit.Misfit {
	t.Helper()
	look, err := refit.NewFinder(client, sendlimit.Options{Rules: story.RulesBy(t, p)}, refit.FinderOptions{Policy: p, Now: now})
	require.NoError(t, err)
	var found []refit.Misfit
	_, err = look.Partition(t.Context(), keyspace.Partition(user), func(_ context.Context, misfits []refit.Misfit) error {
		if misfits[0].User == user {
			found = misfits
		}
		return nil
	})
	require.NoError(t, err)
	return found
}

// summarize returns misfits as "id rule".
func summarize(misfits []refit.Misfit) []string {
	var texts []string
	for _, m := range misfits {
		texts = append(texts, m.ID+" "+m.Breaks())
	}
	return texts
}

func TestRefitKnowsWhoIsUnderThePolicy(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	now := story.At("10:00")
	everybody := story.PolicyOf(t, "1/calendar_day")
	everybody.Name = "default"
	vip := story.PolicyOf(t, "2/calendar_day")
	vip.Name = "vip"
	settings := settings.NewUsers(client, keyspace.KeysUnder(""))
	for user, s := range map[string]policy.UserSettings{
		"vera":  {Policy: "vip"},
		"lena":  {Limits: []policy.Rule{{Limit: 3, Period: calendar.Day}}},
		"bob":   {Blocked: true},
		"tokio": {TimeZone: "Asia/Tokyo"},
		"gone":  {Policy: "gone"},
	} {
		require.NoError(t, settings.Set(t.Context(), user, s))
	}
	for _, user := range []string{"alice", "vera", "lena", "bob", "tokio", "gone"} {
		schedule(t, client, now, user,
			scheduled{id: "a", at: story.At("12:00")}, scheduled{id: "b", at: story.At("13:00")},
			scheduled{id: "c", at: story.At("15:00")}, scheduled{id: "d", at: story.At("16:00")})
	}
	o := sendlimit.Options{Rules: story.RulesBy(t, everybody, vip)}

	found, totals := runRefit(t, client, o, refit.FinderOptions{Policy: everybody, Now: now})
	require.Len(t, found, 4)
	require.Equal(t, []string{"b 1/calendar_day", "c 1/calendar_day", "d 1/calendar_day"}, summarize(found["alice"]))
	require.Equal(t, []string{"d 3/calendar_day"}, summarize(found["lena"]), "by their own limits")
	require.Len(t, found["bob"], 3, "the block may be lifted before they are due")
	require.Len(t, found["tokio"], 3, "the policy counts in its own zone")
	require.Equal(t, message.RefitTotals{
		Users: 4, Reservations: 16, MisfitUsers: 4, Misfits: 10, UnclearUsers: 1,
		MisfitsByRule: map[string]int{"1/calendar_day": 9, "3/calendar_day": 1},
	}, totals)

	everybody.UserTimeZone = true
	found, _ = runRefit(t, client, o, refit.FinderOptions{Policy: everybody, Now: now})
	require.Equal(t, []string{"b 1/calendar_day", "d 1/calendar_day"}, summarize(found["tokio"]), "in Tokyo c is on the next day")

	changed := everybody
	changed.Rules = story.PolicyOf(t, "4/day").Rules
	found, totals = runRefit(t, client, o, refit.FinderOptions{Policy: changed, Now: now})
	require.Equal(t, []string{"d 3/calendar_day"}, summarize(found["lena"]), "her own limit is not lost with the rule")
	require.Equal(t, 1, totals.LimitUsers)

	found, totals = runRefit(t, client, o, refit.FinderOptions{Policy: vip, Now: now})
	require.Equal(t, []string{"c 2/calendar_day", "d 2/calendar_day"}, summarize(found["vera"]))
	require.Equal(t, message.RefitTotals{
		Users: 1, Reservations: 4, MisfitUsers: 1, Misfits: 2, UnclearUsers: 1, MisfitsByRule: map[string]int{"2/calendar_day": 2},
	}, totals)
}

// A refit ignores ended messages and those accepted without a place. Nobody can
// move a reservation without a message.
func TestRefitLooksAtWhatIsToBeSent(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	now := story.At("10:00")
	schedule(t, client, now, "alice",
		scheduled{id: "a", at: story.At("12:00")}, scheduled{id: "b", at: story.At("12:10")}, scheduled{id: "c", at: story.At("12:20")})
	keys := story.KeysOf(sendlimit.Options{})
	require.NoError(t, client.HSet(t.Context(), keys.Record("alice", "b"), "s", "s").Err()) // being sent
	require.NoError(t, client.ZAdd(t.Context(), keys.Uncounted("alice"), redis.Z{Score: float64(story.At("12:05").UnixMilli()), Member: "x"}).Err())
	policy := story.PolicyOf(t, "1/hour")
	found, _ := runRefit(t, client, sendlimit.Options{Rules: story.RulesBy(t, policy)}, refit.FinderOptions{Policy: policy, Now: now})
	require.Equal(t, []string{"c 1/hour"}, summarize(found["alice"]))
}

// What reached a device can't be moved, although it waits for its retry on the others.
func TestRefitLeavesWhatReachedADevice(t *testing.T) {
	t.Parallel()
	for progress, wanted := range map[string][]string{"dphone": {"c 1/hour"}, "gphone": {"b 1/hour", "c 1/hour"}} {
		_, client := redistest.Embedded(t)
		now := story.At("10:00")
		schedule(t, client, now, "alice",
			scheduled{id: "a", at: story.At("12:00")}, scheduled{id: "b", at: story.At("12:10")}, scheduled{id: "c", at: story.At("12:20")})
		key := story.KeysOf(sendlimit.Options{}).Record("alice", "b")
		require.NoError(t, client.HSet(t.Context(), key, keyspace.RecordProgress, progress).Err())
		policy := story.PolicyOf(t, "1/hour")
		found, _ := runRefit(t, client, sendlimit.Options{Rules: story.RulesBy(t, policy)}, refit.FinderOptions{Policy: policy, Now: now})
		require.Equal(t, wanted, summarize(found["alice"]))
	}
}

func TestRefitFreeTime(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	now := story.At("10:00")
	schedule(t, client, now, "alice", scheduled{id: "a", at: story.At("12:00")}, scheduled{id: "b", at: story.At("12:30")})
	require.NoError(t, client.HSet(t.Context(), story.KeysOf(sendlimit.Options{}).Record("alice", "b"), "x", story.At("13:00").UnixMilli()).Err())
	policy := story.PolicyOf(t, "1/hour")
	o := sendlimit.Options{Rules: story.RulesBy(t, policy), ExpireAfter: 10 * time.Minute}
	look, err := refit.NewFinder(client, o, refit.FinderOptions{Policy: policy, Now: now})
	require.NoError(t, err)
	found, _ := runRefit(t, client, o, refit.FinderOptions{Policy: policy, Now: now})
	require.Len(t, found["alice"], 1)
	m := found["alice"][0]
	require.Equal(t, story.At("13:00"), m.ExpiresAt)
	free, err := look.NextFree(t.Context(), m)
	require.NoError(t, err)
	require.Zero(t, free, "13:00 is free, and too late")

	require.NoError(t, client.HDel(t.Context(), story.KeysOf(sendlimit.Options{}).Record("alice", "b"), "x").Err())
	found, _ = runRefit(t, client, o, refit.FinderOptions{Policy: policy, Now: now})
	m = found["alice"][0]
	require.Zero(t, m.ExpiresAt)
	free, err = look.NextFree(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, story.At("13:00"), free, "it expires so long after its new time")
}

// A user with 10,000 reservations is judged in short calls.
func TestRefitOfAUserWithManyReservations(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	const n = 10_000
	_, client := redistest.Embedded(t)
	now := story.At("10:00")
	messages := make([]scheduled, n)
	for i := range messages {
		messages[i] = scheduled{id: "m" + strconv.Itoa(i), at: now.Add(time.Duration(i+1) * time.Minute)}
	}
	schedule(t, client, now, "alice", messages...)
	calls := &redistest.ScriptCalls{}
	client.AddHook(calls)
	hourly := story.PolicyOf(t, "1/hour")
	var found map[string][]refit.Misfit
	var totals message.RefitTotals
	made := calls.During(func() {
		found, totals = runRefit(t, client, sendlimit.Options{Rules: story.RulesBy(t, hourly)}, refit.FinderOptions{Policy: hourly, Now: now})
	})
	require.Equal(t, n, totals.Reservations)
	require.Equal(t, n-(n+59)/60, totals.Misfits)
	for _, m := range found["alice"] {
		minute, err := strconv.Atoi(m.ID[1:])
		require.NoError(t, err)
		require.NotZero(t, minute%60, "each first of an hour stays")
	}
	require.Greater(t, made, 10, "in many calls")
}

func TestRefitRefusesAndStops(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	policy := story.PolicyOf(t, "1/hour")
	_, err := refit.NewFinder(client, sendlimit.Options{}, refit.FinderOptions{})
	var wrong *fault.InvalidError
	require.ErrorAs(t, err, &wrong)

	look, err := refit.NewFinder(client, sendlimit.Options{Rules: story.RulesBy(t, policy)}, refit.FinderOptions{Policy: policy, Now: story.At("10:00")})
	require.NoError(t, err)
	nothing := func(context.Context, []refit.Misfit) error { return nil }
	for _, p := range []int{-1, keyspace.Partitions} {
		_, err = look.Partition(t.Context(), p, nothing)
		require.ErrorAs(t, err, &wrong)
		require.Equal(t, "partition", wrong.Field)
	}

	schedule(t, client, story.At("10:00"), "alice", scheduled{id: "a", at: story.At("12:00")}, scheduled{id: "b", at: story.At("12:30")})
	full := errors.New("enough")
	totals, err := look.Partition(t.Context(), keyspace.Partition("alice"), func(context.Context, []refit.Misfit) error { return full })
	require.ErrorIs(t, err, full)
	require.Equal(t, 1, totals.Misfits, "what was found until then")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = look.Partition(ended, 0, nothing)
	require.ErrorIs(t, err, context.Canceled)
	_, err = look.Occupied(ended)
	require.ErrorIs(t, err, context.Canceled)
}
