package sendlimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/userdata"
)

// giveUp is a story of a message of a category that failed at 21:30, under a
// policy that comes after that.
func giveUp(t *testing.T, category string, later policy.Policy) *graveyard {
	t.Helper()
	o := sendlimit.Options{Policy: policyOf(t, "1/minute"), UserSettings: true}
	s := &graveyard{messageStory: tellMessages(t, o)}
	s.submitOf(category, "a", "21:30")
	s.until("21:30")
	s.delivery("a", messages.Settlement{Failed: true, Reason: "gone"})
	o.Records, o.Policy = true, later
	var err error
	s.dead, err = messages.NewDeadLetters(s.client, o)
	require.NoError(t, err)
	s.timeline, err = sendlimit.NewTimeline(s.client, o)
	require.NoError(t, err)
	return s
}

func TestARetryWaitsForTheEndOfQuietHours(t *testing.T) {
	t.Parallel()
	s := giveUp(t, "", quietAt(t, policyOf(t, "1/minute"), "22:00-08:00"))
	s.until("23:00")
	require.Equal(t,
		sendlimit.Decision{Allowed: true, At: at("23 08:00"), RequestedAt: at("21:30"), Now: s.now},
		s.retry("a", "g2"))
}

func TestARetryIsJudgedByItsCategory(t *testing.T) {
	t.Parallel()
	s := giveUp(t, "marketing", withCategory(t, policyOf(t, "1/minute"), "marketing", "1/hour"))
	s.submitOf("marketing", "b", "22:00")
	s.until("21:40")
	require.Equal(t, at("23:00"), s.retry("a", "g2").At)
	s = giveUp(t, "news", withCategory(t, policyOf(t, "1/minute"), "marketing", "1/hour"))
	s.submitOf("marketing", "b", "22:00")
	s.until("21:40")
	require.Equal(t, at("21:40"), s.retry("a", "g2").At, "of another category")
}

func TestARetryOfAnExemptMessage(t *testing.T) {
	t.Parallel()
	for category, wanted := range map[string][2][]string{
		"otp":  {{"b 22:59:30", "a 23:00:00"}, nil},
		"code": {{"b 22:59:30"}, {"a 23:00:00"}},
	} {
		s := giveUp(t, category, quietAt(t, withCodes(t, "1/minute"), "22:00-08:00"))
		other, err := sendlimit.NewTimeline(s.client, s.options)
		require.NoError(t, err)
		d, err := other.Reserve(t.Context(), sendlimit.Request{
			User: "alice", ID: "b", At: at("22:59:30"), Record: recordOf("g1", "text"),
		})
		require.NoError(t, err)
		require.True(t, d.Allowed)
		s.until("23:00")
		require.Equal(t, at("23:00"), s.retry("a", "g2").At, category)
		s.places(wanted[0], wanted[1])
		require.Equal(t, category == "code", s.stands("a").Uncounted)
	}
}

func TestARetryForABlockedUser(t *testing.T) {
	t.Parallel()
	s := giveUp(t, "", policyOf(t, "1/minute"))
	settings, err := settings.NewUsers(s.client, "")
	require.NoError(t, err)
	require.NoError(t, settings.Set(t.Context(), "alice", policy.UserSettings{Blocked: true}))
	before := s.server.Dump()
	for range 2 { // with settings not yet known, and known
		require.Equal(t, sendlimit.Decision{Code: fault.CodeBlocked, Now: s.now}, s.retry("a", "g2"))
	}
	require.Equal(t, before, s.server.Dump())
	s.lists("a 21:30:00")
	_, err = settings.Clear(t.Context(), "alice")
	require.NoError(t, err)
	require.True(t, s.retry("a", "g2").Allowed)
}

// The reach of a policy bounds a retry: it is a promise made anew.
func TestARetryStaysWithinThePolicysReach(t *testing.T) {
	t.Parallel()
	p := quietAt(t, policyOf(t, "1/minute"), "22:00-08:00")
	p.Reach = time.Hour
	s := giveUp(t, "", p)
	s.until("22:30")
	require.Equal(t, sendlimit.Decision{Code: fault.CodeSendLimit, Now: s.now}, s.retry("a", "g2"))
	s.until("23 07:30")
	require.Equal(t, at("23 08:00"), s.retry("a", "g2").At)
}

// What may have been sent counts for the rules of its category, though nothing else
// is known of it any more.
func TestAPurgedUncertainMessageCountsForItsCategory(t *testing.T) {
	t.Parallel()
	o := sendlimit.Options{Policy: withCategory(t, policyOf(t, "1/minute"), "marketing", "2/calendar_day")}
	s := &graveyard{messageStory: tellMessages(t, o)}
	var err error
	s.dead, err = messages.NewDeadLetters(s.client, s.options)
	require.NoError(t, err)
	for id, when := range map[string]string{"a": "11:00", "b": "11:10"} {
		s.submitOf("marketing", id, when)
	}
	for _, id := range []string{"a", "b"} {
		s.until(map[string]string{"a": "11:00", "b": "11:10"}[id])
		s.delivery(id, messages.Settlement{Uncertain: true, Reason: "timeout"})
	}
	refused := func() {
		d := s.ask(sendlimit.Request{ID: "c", At: at("15:00"), Record: categorized("g-c", "marketing")})
		require.Equal(t, fault.CodeSendLimit, d.Code)
		require.Equal(t, "marketing", d.Violations[0].Category)
	}
	refused()
	kept := s.keptFor("a")
	for _, id := range []string{"a", "b"} {
		purged, err := s.dead.Purge(t.Context(), "alice", id)
		require.NoError(t, err)
		require.True(t, purged)
	}
	refused()
	s.lists()
	require.Equal(t, kept, s.keptFor("a"))
	require.Equal(t, messages.Standing{User: "alice", ID: "a"}, s.stands("a"))
	require.Equal(t, fault.CodeNotFound, s.release("a").Code)
	require.Equal(t, fault.CodeNotFound, s.retry("a", "g2").Code)
	require.Equal(t, fault.CodeNotFound, s.moveTo("a", "16:00", "g2").Code)
	users, err := userdata.New(s.client, s.options)
	require.NoError(t, err)
	data, err := users.Export(t.Context(), "alice", nil)
	require.NoError(t, err)
	require.Empty(t, data.Messages)
	require.Len(t, data.Places, 2)

	s.submitOf("news", "a", "23 11:00") // its id is free
	require.Equal(t, "news", s.stands("a").Category)
	require.Zero(t, s.keptFor("a"), "with a record of its own")
	_, err = users.Erase(t.Context(), "alice", nil)
	require.NoError(t, err)
	require.Empty(t, s.server.Keys())
}
