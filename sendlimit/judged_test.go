package sendlimit_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
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
		u.stored = settings.NewUsers(client, keyspace.KeysUnder(o.Prefix))
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

func (u *user) accepted(id, when, category string) {
	u.Helper()
	require.Equal(u, sendlimit.Decision{Allowed: true, At: story.Ahead(when), Now: story.Ahead("00:00")}, u.submit(id, when, category), id)
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

// documented returns options with a policy in JSON's form. The story begins on 22 November
// 2093, a Sunday.
func documented(t *testing.T, d policy.Document) sendlimit.Options {
	t.Helper()
	d.Name = "test"
	p, err := d.Policy()
	require.NoError(t, err)
	return sendlimit.Options{Rules: story.RulesBy(t, p), Records: true}
}

// A search that takes several calls continues where it stopped, over many
// nights.
func TestQuietHoursThroughALongSearch(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	p := story.PolicyOf(t, "1/minute")
	p.QuietHours = story.QuietHours(t, "00:00-23:00")
	s := story.Tell(t, sendlimit.Options{Rules: story.RulesBy(t, p)})
	calls := &redistest.ScriptCalls{}
	s.Client.AddHook(calls)
	const days = 130 // more places than a call looks at
	places := make([]redis.Z, 0, days*60)
	for minute := range days * 60 {
		when := story.At("23:00").AddDate(0, 0, minute/60).Add(time.Duration(minute%60) * time.Minute)
		places = append(places, redis.Z{Member: strconv.Itoa(minute), Score: float64(when.UnixMilli())})
	}
	require.NoError(t, s.Client.ZAdd(t.Context(), s.Key(), places...).Err())
	made := calls.During(func() {
		d := s.Reserve("a", "23:00")
		require.Equal(t, fault.CodeSendLimit, d.Code)
		require.Equal(t, story.At("23:00").AddDate(0, 0, days), d.NextFree)
	})
	require.Greater(t, made, 1)
	made = calls.During(func() {
		d := s.Shift("a", "23:00")
		require.Equal(t, story.At("23:00").AddDate(0, 0, days), d.At)
	})
	require.Greater(t, made, 1)
}
