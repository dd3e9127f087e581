package integration_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/heavy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// A policy and a category have as many rules as they may, a time zone and quiet hours.
func TestManyRulesAreJudgedSoon(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	server := redistest.Shared(t)
	client := server.Client()
	counter, err := heavy.NewCounter(server.Client())
	require.NoError(t, err)
	client.AddHook(counter)
	now := noon()
	book(t, client, "alice", now, 10*time.Minute, 5000)
	rulesOf := func(slide, hourly string) []policy.Rule {
		rules := story.LimitsOf(t, hourly, "40/calendar_day", "100/calendar_week", "400/calendar_month", "3/calendar_minute")
		for n := len(rules); n < policy.MaxRules; n++ {
			rules = append(rules, story.LimitsOf(t, fmt.Sprintf("%d/%d%s", 2*n, n, slide))...)
		}
		return rules
	}
	for slide, hourly := range map[string]string{"m": "20/calendar_hour", "h": "21/calendar_hour", "s": "1/calendar_hour"} {
		p := policy.Policy{Name: "many", TimeZone: "Europe/Berlin", Rules: rulesOf(slide, hourly), QuietHours: story.QuietHours(t, "22:00-08:00")}
		p.Categories = map[string]policy.CategoryRules{"news": {Rules: rulesOf(slide, hourly)}}
		timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{Records: true, Rules: story.RulesBy(t, p)})
		require.NoError(t, err)
		for _, category := range []string{"", "news"} {
			at := now.Add(20 * 24 * time.Hour)
			for name, do := range map[string]func(n int) error{
				"refused": func(n int) error {
					_, err := timeline.Reserve(t.Context(), sendlimit.Request{
						User: "alice", ID: fmt.Sprint("x", n), At: at, Category: category, Now: now, Record: story.Categorized(keyspace.NewToken(), category),
					})
					return err
				},
				"next free": func(int) error {
					_, err := timeline.NextFree(t.Context(), sendlimit.NextFreeRequest{User: "alice", Category: category, Count: 3, Now: now})
					return err
				},
				"usage": func(int) error {
					_, err := timeline.Usage(t.Context(), sendlimit.UsageRequest{User: "alice", Category: category, At: at, From: now, To: at, Now: now})
					return err
				},
			} {
				work, err := counter.MostOf(func() error { return do(0) })
				require.NoError(t, err)
				t.Logf("%s %-4s %-10s %+v", slide, category, name, work)
				require.False(t, work.Exceeds(mostWork()), "%s %s %s does %+v in a call", slide, category, name, work)
			}
		}
	}
}
