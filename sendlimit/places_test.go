package sendlimit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// boundedStory is a user who may have three places in a day, of any category.
func boundedStory(t *testing.T) *story.Messages {
	t.Helper()
	p := story.PolicyOf(t, "1/minute")
	p.Categories = map[string]policy.CategoryRules{"otp": {Exempt: true}, "probe": {Exempt: true, Uncounted: true}}
	return story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, p), PlacesPerDay: 3})
}

func submitOf(s *story.Messages, id, when, category string, shift bool) sendlimit.Decision {
	s.Helper()
	d, err := s.Timeline.Reserve(s.Context(), sendlimit.Request{
		User: "alice", ID: id, At: story.At(when), Category: category, Shift: shift, Now: s.Now, Record: story.Categorized("g-"+id, category),
	})
	require.NoError(s, err)
	return d
}

func TestPastSendsHaveNoMorePlaces(t *testing.T) {
	t.Parallel()
	s := boundedStory(t)
	s.Until("12:00")
	record := func(id string) sendlimit.Recorded {
		recorded, err := s.Timeline.RecordSent(t.Context(), sendlimit.SentRequest{
			User: "alice", ID: id, At: s.Now.Add(-time.Second), Record: story.Categorized("g-"+id, "otp"), Now: s.Now,
		})
		require.NoError(t, err)
		return recorded
	}
	for i := range 3 {
		require.Empty(t, record(fmt.Sprint("a", i)).Code)
	}
	refused := record("b")
	require.Equal(t, fault.CodeTooManyPlaces, refused.Code)
	require.Equal(t, 3, refused.PlacesPerDay)
	require.Empty(t, record("a0").Code, "the same call again")
}

// Accepted messages are sent, however full the day is.
func TestALateMessageIsSentOnAFullDay(t *testing.T) {
	t.Parallel()
	s := boundedStory(t)
	require.True(t, submitOf(s, "late", "22:00", "", false).Allowed)
	s.Until("22:00")
	next := s.Now.AddDate(0, 0, 1)
	for i := range 3 {
		d, err := s.Timeline.Reserve(t.Context(), sendlimit.Request{
			User: "alice", ID: fmt.Sprint("a", i), At: next, Category: "otp", Now: s.Now, Record: story.Categorized("g", "otp"),
		})
		require.NoError(t, err)
		require.True(t, d.Allowed)
	}
	s.Wait(23 * time.Hour)
	claim := s.Claim("late", "g-late", keyspace.NewToken())
	require.Equal(t, messages.Send, claim.Verdict)
	require.Equal(t, s.Now, claim.SendAt)
}

// A timeline outlives a place by the longest window of the rules that accepted
// the place. The rules of other places do not matter.
func TestATimelineOutlivesAPlaceByItsOwnRules(t *testing.T) {
	t.Parallel()
	// Keys expire by the server's clock. The test's clock must be ahead of it.
	const day = "2090-11-22T"
	const week = 7 * 24 * time.Hour
	weekly := story.PolicyOf(t, "1/minute", "9/7d")
	weekly.Categories = map[string]policy.CategoryRules{"otp": {Exempt: true}}
	weeklyMarketing := story.PolicyOf(t, "1/minute")
	weeklyMarketing.Categories = map[string]policy.CategoryRules{
		"marketing": {Rules: []policy.Rule{{Limit: 9, Window: week}}},
	}
	runOnEachStore(t, settingsOptions(t, "1/minute"), func(u *user) {
		everyMinute := story.PolicyOf(t, "1/minute")
		for _, row := range []struct {
			reason   string
			policy   policy.Policy
			before   []string // taken under 1/minute
			asked    string   // under the policy
			category string
			taken    string
		}{
			{"before another", weekly, []string{"03:00"}, "02:00", "", "02:00"},
			{"after another", weekly, []string{"01:00"}, "02:00", "", "02:00"},
			{"before more of them than are read", weekly, []string{"03:00", "04:00", "05:00", "06:00"}, "02:00", "", "02:00"},
			{"shifted before another", weekly, []string{"02:00", "03:00"}, "02:00", "", "02:01"},
			{"exempt, and counted all the same", weekly, []string{"03:00"}, "02:00", "otp", "02:00"},
			{"of a category that has the longer window", weeklyMarketing, []string{"03:00"}, "02:00", "marketing", "02:00"},
		} {
			require.NoError(u, u.client.FlushAll(u.Context()).Err())
			take := func(n int, when, category string) time.Time {
				r := u.request(fmt.Sprintf("m%d", n), day+when+":00Z", category)
				r.Now, r.Shift = story.At(day+"00:00:00Z"), true
				d := u.ask(r)
				require.True(u, d.Allowed, row.reason)
				return d.At
			}
			u.under(everyMinute)
			for n, when := range row.before {
				take(n, when, "")
			}
			u.under(row.policy)
			taken := story.At(day + row.taken + ":00Z")
			require.Equal(u, taken, take(len(row.before), row.asked, row.category), row.reason)
			expires := u.client.PExpireTime(u.Context(), story.KeysOf(sendlimit.Options{}).Timeline("alice")).Val()
			// The embedded store keeps the remaining time by a clock that runs.
			require.WithinDuration(u, taken.Add(week+policy.Grace), time.UnixMilli(expires.Milliseconds()), time.Minute, row.reason)
		}
	})
}

// The timeline is kept until a message expires, so nobody may have it kept for ever.
func TestTheLatestExpiry(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	latest := s.Now.Add(policy.DefaultReach + sendlimit.ExpiryBeyondReach)
	request := func(id string, at, expires time.Time) sendlimit.Request {
		r := sendlimit.Request{User: "alice", ID: id, At: at, Record: story.RecordOf("g-"+id, "text")}
		r.Record.ExpiresAt = expires
		return r
	}
	last := s.Now.Add(policy.DefaultReach)
	soon := story.At("12:00")
	for _, at := range []time.Time{{}, soon, last} {
		for _, expires := range []time.Time{latest.Add(time.Millisecond), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)} {
			before := s.Server.Dump()
			r := request("late", at, expires)
			d := s.Ask(r)
			require.Equal(t, fault.CodeInvalidField, d.Code)
			require.Equal(t, latest, d.Latest)
			checked, err := s.Timeline.Check(s.Context(), r)
			require.NoError(t, err)
			require.Equal(t, d, checked)
			require.Equal(t, before, s.Server.Dump(), "nothing was written")
		}
	}
	require.Equal(t, fault.CodeTooFarAhead, s.Ask(request("late", last.Add(time.Millisecond), latest.Add(time.Hour))).Code)
	r := request("a", soon, latest)
	require.True(t, s.Ask(r).Allowed)
	r.Record.Generation, r.Record.ExpiresAt = "g-again", latest.Add(time.Hour)
	require.True(t, s.Ask(r).Replayed, "an earlier answer comes first")
	require.True(t, s.Ask(request("b", last, latest)).Allowed)
	require.Less(t, s.Server.TTL(story.KeysOf(s.Options).Timeline("alice")), policy.DefaultReach+sendlimit.ExpiryBeyondReach+time.Minute)
}
