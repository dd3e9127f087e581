package sendlimit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// user is alice with policies and settings of her own, on the embedded store or
// on Redis. Requests have a Now of midnight of 2093-11-22, a Sunday.
type user struct {
	*testing.T

	client   *redis.Client
	rules    *sendlimit.Rules
	timeline *sendlimit.Timeline
	stored   *settings.Users
	calls    *redistest.ScriptCalls
}

// runOnEachStore runs a test on the embedded store and on Redis.
func runOnEachStore(t *testing.T, o sendlimit.Options, test func(u *user)) {
	t.Helper()
	run := func(t *testing.T, client *redis.Client, o sendlimit.Options) {
		t.Helper()
		if o.Rules != nil {
			o.Rules = story.RulesBy(t, o.Rules.Policies()...) // with an empty cache of settings
		}
		u := &user{T: t, client: client, rules: o.Rules, calls: &redistest.ScriptCalls{}}
		client.AddHook(u.calls)
		var err error
		u.timeline, err = sendlimit.NewTimeline(client, o)
		require.NoError(t, err)
		u.stored, err = settings.NewUsers(client, o.Prefix)
		require.NoError(t, err)
		test(u)
	}
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		_, client := redistest.Embedded(t)
		run(t, client, o)
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		run(t, redistest.Real(t).Client(), o)
	})
}

// under changes the policy.
func (u *user) under(p policy.Policy) {
	u.Helper()
	require.NoError(u, u.rules.Replace(p))
}

func (u *user) setSettings(s policy.UserSettings) {
	u.Helper()
	require.NoError(u, u.stored.Set(u.Context(), "alice", s))
}

// request returns a request for a message. Its generation and content are its
// id.
func (u *user) request(id, when, category string) sendlimit.Request {
	return sendlimit.Request{
		User: "alice", ID: id, At: story.Ahead(when), Now: story.Ahead("00:00"), Category: category, Record: story.RecordOf(id, id),
	}
}

func (u *user) ask(r sendlimit.Request) sendlimit.Decision {
	u.Helper()
	checked, err := u.timeline.Check(u.Context(), r)
	require.NoError(u, err)
	d, err := u.timeline.Reserve(u.Context(), r)
	require.NoError(u, err)
	require.Equal(u, checked, d, "Check says what Reserve answers")
	return d
}

func (u *user) submit(id, when, category string) sendlimit.Decision {
	u.Helper()
	return u.ask(u.request(id, when, category))
}

// submitAgain repeats a submit with another generation.
func (u *user) submitAgain(id, when, category string) sendlimit.Decision {
	u.Helper()
	r := u.request(id, when, category)
	r.Record.Generation += "-again"
	return u.ask(r)
}

func (u *user) accepted(id, when, category string) {
	u.Helper()
	require.Equal(u, sendlimit.Decision{Allowed: true, At: story.Ahead(when), Now: story.Ahead("00:00")}, u.submit(id, when, category), id)
}

func (u *user) move(id, when, generation string) sendlimit.Decision {
	u.Helper()
	d, err := u.timeline.Move(u.Context(), sendlimit.MoveRequest{
		User: "alice", ID: id, At: story.Ahead(when), Now: story.Ahead("00:00"), Generation: generation,
	})
	require.NoError(u, err)
	return d
}

// places lists the members of a sorted set of places, as "id time".
func (u *user) places(key string) []string {
	u.Helper()
	list, err := u.client.ZRangeWithScores(u.Context(), key, 0, -1).Result()
	require.NoError(u, err)
	var held []string
	for _, z := range list {
		held = append(held, fmt.Sprint(z.Member)+" "+time.UnixMilli(int64(z.Score)).UTC().Format("15:04:05.999"))
	}
	return held
}

func settingsOptions(t *testing.T, rules ...string) sendlimit.Options {
	t.Helper()
	return sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, rules...)), Records: true}
}

func TestSettingsHoldFromTheNextDecisionOn(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, settingsOptions(t, "1/minute"), func(u *user) {
		reserve := func(id, when string) (d sendlimit.Decision, calls int) {
			calls = u.calls.During(func() {
				var err error
				d, err = u.timeline.Reserve(u.Context(), u.request(id, when, ""))
				require.NoError(u, err)
			})
			return d, calls
		}
		d, calls := reserve("a", "10:00")
		require.True(u, d.Allowed)
		require.Equal(u, 1, calls, "of whom nothing is set")

		u.setSettings(policy.UserSettings{Limits: []policy.Rule{{Limit: 2, Window: time.Minute}}})
		d, calls = reserve("b", "10:00")
		require.True(u, d.Allowed, "under the limit of her own")
		require.Equal(u, 2, calls, "once more with what was set")
		d, calls = reserve("c", "10:00:30")
		require.False(u, d.Allowed)
		require.Equal(u, []string{"2/minute"}, story.Broken(d))
		require.Equal(u, 1, calls, "and known from then on")

		u.setSettings(policy.UserSettings{Blocked: true})
		d, calls = reserve("d", "11:00")
		require.Equal(u, fault.CodeBlocked, d.Code)
		require.Equal(u, 2, calls)

		require.NoError(u, u.stored.Clear(u.Context(), "alice"))
		d, calls = reserve("e", "10:00:30")
		require.Equal(u, []string{"1/minute"}, story.Broken(d))
		require.Equal(u, 2, calls)
		d, calls = reserve("f", "12:00")
		require.True(u, d.Allowed)
		require.Equal(u, 1, calls, "and forgotten")
	})
}

// Every call finds changed settings immediately.
func TestEveryCallFollowsTheSettings(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, settingsOptions(t, "1/minute"), func(u *user) {
		u.accepted("a", "10:00", "")
		u.accepted("b", "11:00", "")
		u.setSettings(policy.UserSettings{Limits: []policy.Rule{{Limit: 2, Window: time.Minute}}})
		usage, err := u.timeline.Usage(u.Context(), sendlimit.UsageRequest{User: "alice", At: story.Ahead("10:00"), Now: story.Ahead("00:00")})
		require.NoError(u, err)
		require.Equal(u, 2, usage.Rules[0].Rule.Limit)

		u.setSettings(policy.UserSettings{Limits: []policy.Rule{{Limit: 3, Window: time.Minute}}})
		times, err := u.timeline.NextFree(u.Context(), sendlimit.NextFreeRequest{User: "alice", From: story.Ahead("10:00"), Count: 3, Now: story.Ahead("00:00")})
		require.NoError(u, err)
		require.Equal(u, []time.Time{story.Ahead("10:00"), story.Ahead("10:00"), story.Ahead("10:01")}, times)

		u.setSettings(policy.UserSettings{Limits: []policy.Rule{{Limit: 4, Window: time.Minute}}})
		require.True(u, u.move("b", "10:00", "b2").Allowed)

		u.setSettings(policy.UserSettings{Blocked: true})
		recorded, err := u.timeline.RecordSent(u.Context(), sendlimit.SentRequest{
			User: "alice", ID: "sent", At: story.Ahead("2026-11-21T23:00:00Z"), Now: story.Ahead("00:00"), Record: story.RecordOf("sent", "sent"),
		})
		require.NoError(u, err)
		require.Empty(u, recorded.Code, "what is over is recorded of whoever it was")
	})
}

func TestBlockedIsJudgedInItsTurn(t *testing.T) {
	t.Parallel()
	p := story.PolicyOf(t, "1/minute")
	p.QuietHours = story.QuietHours(t, "22:00-08:00")
	o := sendlimit.Options{Rules: story.RulesBy(t, p), Records: true}
	runOnEachStore(t, o, func(u *user) {
		u.accepted("a", "10:00", "")
		u.accepted("b", "11:00", "")
		u.setSettings(policy.UserSettings{Blocked: true})
		require.True(u, u.submitAgain("a", "10:00", "").Replayed, "a replay comes first")
		require.Equal(u, fault.CodeTooFarAhead, u.submit("far", "2095-01-01T00:00:00Z", "").Code)
		require.Equal(u, fault.CodeInPast, u.submit("past", "2026-11-21T00:00:00Z", "").Code)
		require.Equal(u, sendlimit.Decision{Code: fault.CodeBlocked, At: story.Ahead("23:00"), Now: story.Ahead("00:00")}, u.submit("quiet", "23:00", ""))
		require.Equal(u, fault.CodeBlocked, u.submit("now", "", "").Code)
		shifting := u.request("shifting", "10:00", "")
		shifting.Shift = true
		require.Equal(u, fault.CodeBlocked, u.ask(shifting).Code)
		require.Equal(u, fault.CodeBlocked, u.move("b", "12:00", "b2").Code)
		require.Equal(u, fault.CodeNotFound, u.move("none", "12:00", "n2").Code)
		require.True(u, u.move("b", "11:00", "b3").Allowed, "which changes nothing")
		times, err := u.timeline.NextFree(u.Context(), sendlimit.NextFreeRequest{User: "alice", From: story.Ahead("12:00"), Count: 2, Now: story.Ahead("00:00")})
		require.NoError(u, err)
		require.Empty(u, times, "whatever the time, it would be refused")
		usage, err := u.timeline.Usage(u.Context(), sendlimit.UsageRequest{User: "alice", From: story.Ahead("09:00"), To: story.Ahead("12:00"), Now: story.Ahead("00:00")})
		require.NoError(u, err)
		require.Empty(u, usage.Free)
		require.NotEmpty(u, usage.Rules)
		d, err := u.timeline.Release(u.Context(), sendlimit.ReleaseRequest{User: "alice", ID: "b", Now: story.Ahead("00:00")})
		require.NoError(u, err)
		require.True(u, d.Allowed, "what was accepted can be cancelled")
		require.Equal(u, []string{"a 10:00:00"}, u.places(story.KeysOf(o).Timeline("alice")))
	})
}

// A timeline that ignores settings does not read them.
func TestSettingsThatAreNotHonoured(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, sendlimit.Options{Records: true}, func(u *user) { // without Rules
		u.setSettings(policy.UserSettings{Blocked: true})
		require.Equal(u, 1, u.calls.During(func() {
			d, err := u.timeline.Reserve(u.Context(), u.request("a", "10:00", ""))
			require.NoError(u, err)
			require.True(u, d.Allowed)
		}))
	})
}

func TestAPolicyThatIsNotKnown(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, settingsOptions(t, "1/minute"), func(u *user) {
		u.setSettings(policy.UserSettings{Policy: "gold"})
		_, err := u.timeline.Reserve(u.Context(), u.request("a", "10:00", ""))
		require.ErrorIs(u, err, sendlimit.ErrUnknownPolicy)
		unavailable := &fault.UnavailableError{}
		require.ErrorAs(u, err, &unavailable)
		require.Empty(u, u.places(story.KeysOf(sendlimit.Options{}).Timeline("alice")))
	})
}

// ByPolicy shifts if the user's own policy shifts.
func TestShiftByPolicy(t *testing.T) {
	t.Parallel()
	shifting := story.PolicyOf(t, "1/minute")
	shifting.Name, shifting.OnConflict = "shifting", policy.Shift
	o := sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute"), shifting), Records: true}
	runOnEachStore(t, o, func(u *user) {
		byPolicy := func(id string) sendlimit.Decision {
			r := u.request(id, "10:00", "")
			r.ByPolicy, r.ShiftUntil = true, story.Ahead("10:01")
			return u.ask(r)
		}
		require.True(u, byPolicy("a").Allowed)
		require.Equal(u, fault.CodeSendLimit, byPolicy("b").Code)
		u.setSettings(policy.UserSettings{Policy: "shifting"})
		d := byPolicy("b")
		require.True(u, d.Shifted)
		require.Equal(u, story.Ahead("10:01"), d.At)
		require.Equal(u, fault.CodeSendLimit, byPolicy("c").Code, "not past ShiftUntil")
	})
}

// The shorter of both reaches applies.
func TestTheReachOfAPolicy(t *testing.T) {
	t.Parallel()
	p := story.PolicyOf(t, "1/minute")
	p.Reach = time.Hour
	o := sendlimit.Options{Rules: story.RulesBy(t, p), Records: true, Reach: 2 * time.Hour}
	runOnEachStore(t, o, func(u *user) {
		require.True(u, u.submit("a", "01:00", "").Allowed)
		require.Equal(u, fault.CodeTooFarAhead, u.submit("b", "01:00:00.001", "").Code)
		require.Zero(u, u.submit("b", "01:00", "").NextFree)
	})
}

// What counted for rules of the user's own still counts when they come back, although no policy
// looks back as far.
func TestOwnRulesThatComeBack(t *testing.T) {
	t.Parallel()
	p := story.PolicyOf(t, "9/minute")
	p.UnknownCategories = policy.AllowUnknown
	runOnEachStore(t, sendlimit.Options{Rules: story.RulesBy(t, p), Records: true}, func(u *user) {
		own := policy.UserSettings{Categories: map[string][]policy.Rule{"offers": story.LimitsOf(u.T, "2/day")}}
		begin := time.Now().Truncate(16 * time.Millisecond) // at such times a submit forgets places
		submit := func(id, category string, after time.Duration) sendlimit.Decision {
			r := u.request(id, "00:00", category)
			r.Now, r.At = begin.Add(after), begin.Add(after)
			return u.ask(r)
		}
		u.setSettings(own)
		require.True(u, submit("a", "offers", 0).Allowed)
		require.True(u, submit("b", "offers", time.Minute).Allowed)
		require.NoError(u, u.stored.Clear(u.Context(), "alice"))
		require.True(u, submit("c", "", 3*time.Hour).Allowed)
		u.setSettings(own)
		require.Equal(u, []string{"offers 2/day"}, brokenOf(submit("d", "offers", 4*time.Hour)))
		u.setSettings(policy.UserSettings{})
		kept, err := u.client.PTTL(u.Context(), story.KeysOf(sendlimit.Options{}).Settings("alice")).Result()
		require.NoError(u, err)
		require.Positive(u, kept, "it is forgotten once that matters no more")
	})
}
