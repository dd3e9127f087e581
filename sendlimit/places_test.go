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

// Exempt messages broke no rule, and an account could take any number of places with them.
func TestADayHasSoManyPlaces(t *testing.T) {
	t.Parallel()
	s := boundedStory(t)
	for i := range 3 {
		require.True(t, submitOf(s, fmt.Sprint("a", i), "11:00", "otp", false).Allowed)
	}
	full := sendlimit.Decision{
		Code: fault.CodeTooManyPlaces, At: story.At("23:00"), PlacesPerDay: 3, NextFree: story.At("00:00").AddDate(0, 0, 1), Now: s.Now,
	}
	require.Equal(t, full, submitOf(s, "b", "23:00", "otp", false))
	require.Equal(t, full, submitOf(s, "b", "23:00", "", false), "no rule forbids it")
	require.Equal(t, fault.CodeSendLimit, submitOf(s, "b", "11:00:30", "", false).Code, "a rule comes first")
	require.True(t, submitOf(s, "c", "23:00", "probe", false).Allowed, "beside the others")
	shifted := submitOf(s, "d", "23:00", "otp", true)
	require.Equal(t, full.NextFree, shifted.At)
	require.Equal(t, story.At("11:00"), submitOf(s, "a0", "11:00", "otp", false).At, "the same call again")

	u, err := s.Timeline.Usage(t.Context(), sendlimit.UsageRequest{
		User: "alice", Category: "otp", From: story.At("12:00"), To: full.NextFree.Add(time.Hour), Now: s.Now,
	})
	require.NoError(t, err)
	require.Len(t, u.Free, 1)
	require.Equal(t, full.NextFree, u.Free[0].From)

	moved, err := s.Timeline.Move(t.Context(), sendlimit.MoveRequest{User: "alice", ID: "a1", At: story.At("13:00"), Generation: "g-m", Now: s.Now})
	require.NoError(t, err)
	require.True(t, moved.Allowed, "within its day")
	moved, err = s.Timeline.Move(t.Context(), sendlimit.MoveRequest{User: "alice", ID: "d", At: story.At("13:00"), Generation: "g-n", Now: s.Now})
	require.NoError(t, err)
	full.At = story.At("13:00")
	require.Equal(t, full, moved, "into the full day")
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
