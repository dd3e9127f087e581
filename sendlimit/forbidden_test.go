package sendlimit_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// forbiddenTimes asks for the forbidden times of a message.
func (u *user) forbiddenTimes(id, from, until string) sendlimit.Forbidden {
	u.Helper()
	f, err := u.timeline.Forbidden(u.Context(), sendlimit.ForbiddenRequest{
		User: "alice", ID: id, From: story.Ahead(from), To: story.Ahead(until), Now: story.Ahead("00:00"),
	})
	require.NoError(u, err)
	require.Equal(u, story.Ahead("00:00"), f.Now)
	return f
}

// forbidden requires the forbidden times, each as "02 15:04:05.000 02 15:04:05.000 reason".
func (u *user) forbidden(id, from, until string, want ...string) {
	u.Helper()
	f := u.forbiddenTimes(id, from, until)
	require.False(u, f.Blocked || f.OptedOut)
	require.Equal(u, want, spelledStretches(f))
}

func spelledStretches(f sendlimit.Forbidden) []string {
	var all []string
	for _, s := range f.Stretches {
		text := s.From.Format("02 15:04:05.000") + " " + s.Until.Format("02 15:04:05.000 ")
		all = append(all, text+s.Rule.String())
	}
	return all
}

// A place forbids the times less than a minute away, on both sides: the open interval. A
// place a minute later is free, and what the two forbid is one stretch.
func TestForbiddenTimesOfASlidingRule(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, settingsOptions(t, "1/minute"), func(u *user) {
		u.forbidden("", "11:00", "12:00")
		u.accepted("a", "11:11:11", "")
		u.forbidden("", "11:00", "12:00", "22 11:10:11.001 22 11:12:11.000 1/minute")
		u.accepted("b", "11:12:11", "")
		u.forbidden("", "11:00", "12:00", "22 11:10:11.001 22 11:13:11.000 1/minute")
		u.accepted("c", "11:14:11", "")
		u.forbidden("", "11:00", "12:00",
			"22 11:10:11.001 22 11:13:11.000 1/minute", "22 11:13:11.001 22 11:15:11.000 1/minute")
		u.forbidden("", "11:11", "11:13", "22 11:11:00.000 22 11:13:00.000 1/minute")
		u.forbidden("", "11:15:11", "11:16")

		// The own place of a message does not count.
		u.forbidden("b", "11:00", "12:00",
			"22 11:10:11.001 22 11:12:11.000 1/minute", "22 11:13:11.001 22 11:15:11.000 1/minute")
		u.forbidden("a", "11:00", "11:13", "22 11:11:11.001 22 11:13:00.000 1/minute")
		u.forbidden("nobody", "11:15", "12:00", "22 11:15:00.000 22 11:15:11.000 1/minute")
		require.Equal(u, story.Ahead("00:00").Add(policy.DefaultReach), u.forbiddenTimes("", "11:15", "12:00").Latest)
	})
}

// A timeline without records has places only. It reads them in several calls, those of one
// time too, and starts again if settings change meanwhile.
func TestForbiddenTimesOfManyPlaces(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("00:00"))
	o := sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1000/hour", "1/minute")), PlacesPerDay: 6000}
	timeline, err := sendlimit.NewTimeline(client, o)
	require.NoError(t, err)
	key := story.KeysOf(o).Timeline("alice")
	for i := range 4500 {
		at := story.At("07:00")
		if i < 1000 {
			at = story.At("10:00")
		}
		_, err := server.ZAdd(key, float64(at.UnixMilli()), fmt.Sprint("m", i))
		require.NoError(t, err)
	}
	ask := func(id string) []string {
		f, err := timeline.Forbidden(t.Context(), sendlimit.ForbiddenRequest{User: "alice", ID: id, From: story.At("09:30"), To: story.At("10:30")})
		require.NoError(t, err)
		return spelledStretches(f)
	}
	hour := "22 09:30:00.000 22 10:30:00.000 1000/hour"
	minute := "22 09:59:00.001 22 10:01:00.000 1/minute"
	require.Equal(t, []string{hour, minute}, ask(""))
	require.Equal(t, []string{minute}, ask("m7"))

	users := settings.NewUsers(client, keyspace.KeysUnder(o.Prefix))
	calls := redistest.DoAfterCalls(t, client, lua.Times, 2, func() {
		require.NoError(t, users.Set(t.Context(), "alice", policy.UserSettings{Limits: story.LimitsOf(t, "2/minute")}))
	})
	require.Equal(t, []string{hour, "22 09:59:00.001 22 10:01:00.000 2/minute"}, ask(""))
	require.Equal(t, 2+1+3, calls.Calls, "two, one that finds other settings, and all three again")
}

func TestInvalidForbiddenRequests(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{})
	require.NoError(t, err)
	from := story.At("10:00")
	for want, r := range map[string]sendlimit.ForbiddenRequest{
		"user":    {From: from, To: from.Add(1)},
		"id":      {User: "alice", ID: "no id", From: from, To: from.Add(1)},
		"from":    {User: "alice", To: from},
		"until":   {User: "alice", From: from},
		"until ":  {User: "alice", From: from, To: from},
		"until  ": {User: "alice", From: from, To: from.Add(sendlimit.MaxUsageSpan + 1)},
		"from \t": {User: "alice", From: from.AddDate(8000, 0, 0), To: from.AddDate(8000, 0, 1)},
	} {
		_, err := timeline.Forbidden(t.Context(), r)
		var invalid *fault.InvalidError
		require.ErrorAs(t, err, &invalid, want)
		require.Contains(t, want, invalid.Field, "%v", err)
	}
}
