package refit_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
	"github.com/sendlimit/sendlimiter/tasks/refit"
)

// scheduleEveryMinute returns n messages, one a minute, of the categories in
// turn.
func scheduleEveryMinute(from time.Time, n int, categories ...string) []scheduled {
	messages := make([]scheduled, n)
	for i := range messages {
		messages[i] = scheduled{
			id: "m" + strconv.Itoa(i), category: categories[i%len(categories)], at: from.Add(time.Duration(i+1) * time.Minute),
		}
	}
	return messages
}

// Reservations of one millisecond are judged in as many calls as others: a call stops between two of
// them, and the next one goes on there, also if the last one that was judged is gone.
func TestRefitOfManyAtOneTime(t *testing.T) {
	t.Parallel()
	now := story.At("10:00")
	for _, rule := range []string{"100/hour", "250/calendar_day", "40/10m"} {
		for _, goes := range []bool{false, true} {
			server, client := redistest.Embedded(t)
			p := story.PolicyOf(t, rule)
			p.Categories = map[string]policy.CategoryRules{
				"otp": {Exempt: true}, "marketing": {Rules: []policy.Rule{{Limit: 30, Window: time.Hour}}},
			}
			messages := scheduleEveryMinute(now, 900, "", "otp", "marketing", "news", "otp", "")
			for i := range messages {
				messages[i].at = now.Add(time.Duration(1+i/400) * time.Hour)
			}
			schedule(t, client, now, "alice", messages...)
			last := &lastJudged{}
			client.AddHook(redistest.Pipelines(last.onPipeline))
			if goes {
				last.then = func(id string) {
					_, err := server.ZRem(story.KeysOf(sendlimit.Options{}).Timeline("alice"), id)
					require.NoError(t, err)
				}
			}
			found := runRefitOfUser(t, client, p, now, "alice")
			require.Equal(t, refitModel{policy: p, zone: time.UTC, now: now}.misfits(messages), summarize(found), rule)
			require.Greater(t, last.calls, 3)
		}
	}
}

// lastJudged calls then before each further call of a look, with the id of the last that was judged.
type lastJudged struct {
	calls int
	then  func(id string) // nil for nothing
}

// onPipeline looks at calls of the script.
func (l *lastJudged) onPipeline(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
	for _, cmd := range cmds {
		args := cmd.Args()
		if args[1] != lua.Refit.Hash() {
			continue
		}
		l.calls++
		if id, _ := args[len(args)-1].(string); id != "" && l.then != nil {
			l.then(id)
		}
	}
	return next(ctx, cmds)
}

// The number of calls depends only on the number of reservations, wherever
// exempt messages are. Each call reads a bounded number of records.
func TestRefitLooksAheadOnce(t *testing.T) {
	t.Parallel()
	now := story.At("10:00")
	for _, c := range []struct {
		name, rule string
		n          int
		categories []string
	}{
		{"of a limit that is far off", "1000/calendar_month", 700, []string{""}},
		{"of a limit that is reached", "300/calendar_month", 700, []string{"", "news", "otp"}},
		{"of a limit that exempt ones reach alone", "200/calendar_month", 700, []string{"", "otp"}},
		{"of a window that slides", "80/2h", 400, []string{"", "news", "otp"}},
		{"of a long window that slides", "200/5h", 400, []string{"otp", "", "news", ""}},
		{"of a category's limit", "1000/calendar_month", 700, []string{"news", "marketing", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, client := redistest.Embedded(t)
			p := story.PolicyOf(t, c.rule)
			p.Categories = map[string]policy.CategoryRules{
				"otp": {Exempt: true}, "marketing": {Rules: []policy.Rule{{Limit: 100, Period: calendar.Month}}},
			}
			messages := scheduleEveryMinute(now, c.n, c.categories...)
			schedule(t, client, now, "alice", messages...)
			counted := redistest.DoAfterCalls(t, client, lua.Refit, 0, nil)
			found := runRefitOfUser(t, client, p, now, "alice")
			require.Equal(t, refitModel{policy: p, zone: time.UTC, now: now}.misfits(messages), summarize(found))
			require.LessOrEqual(t, counted.Calls, 2+c.n/80)
		})
	}
}

// Of sent messages, one call reads those that matter.
func TestRefitOfManyThatWereSent(t *testing.T) {
	t.Parallel()
	client := redistest.Real(t).Client()
	now := story.At("20:00")
	p := story.PolicyOf(t, "1000/10h")
	p.Categories = map[string]policy.CategoryRules{
		"marketing": {Rules: []policy.Rule{{Limit: 450, Period: calendar.Month}}}, "otp": {Exempt: true},
	}
	schedule(t, client, now, "alice", scheduleEveryMinute(story.At("00:00"), 1205, "marketing", "")...)
	counted := redistest.DoAfterCalls(t, client, lua.Refit, 0, nil)
	found := runRefitOfUser(t, client, p, now, "alice")
	require.Equal(t, []string{
		"m1200 marketing 450/calendar_month", "m1202 marketing 450/calendar_month", "m1204 marketing 450/calendar_month",
	}, summarize(found))
	require.Equal(t, 1, counted.Calls)
}

// A look that takes several calls uses the settings of the last call, whoever
// finds that they have changed.
func TestRefitBeginsAnewWhereSettingsChange(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]bool{"found by the script": false, "found by somebody else": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = 1000
			_, client := redistest.Embedded(t)
			now := story.At("10:00")
			schedule(t, client, now, "alice", scheduleEveryMinute(now, n, "")...)
			p := story.PolicyOf(t, "1/hour")
			o := sendlimit.Options{Rules: story.RulesBy(t, p)}
			settings := settings.NewUsers(client, keyspace.KeysUnder(""))
			look, err := refit.NewFinder(client, o, refit.FinderOptions{Policy: p, Now: now})
			require.NoError(t, err)
			counted := redistest.DoAfterCalls(t, client, lua.Refit, 1, func() {
				require.NoError(t, settings.Set(t.Context(), "alice", policy.UserSettings{Limits: story.LimitsOf(t, "60/hour")}))
				if known {
					_, err = look.NextFree(t.Context(), refit.Misfit{User: "alice", Reservation: keyspace.Reservation{ID: "none", At: now}})
					require.NoError(t, err)
				}
			})
			found, totals := looked(t, look)
			require.Empty(t, found)
			require.Equal(t, message.RefitTotals{Users: 1, Reservations: n}, totals)
			require.Greater(t, counted.Calls, 1)
		})
	}
}
