package messages_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// settle claims a message and settles it.
func settle(s *story.Messages, id string, settlement messages.Settlement) {
	s.Helper()
	generation, nonce := s.Field(id, "g"), "n"+s.Now.Format("150405")
	require.Equal(s, messages.Send, s.Claim(id, generation, nonce).Verdict, id)
	for range 2 { // the first answer may get lost
		require.True(s, s.Settle(id, generation, nonce, settlement))
	}
}

// tryAgain settles a delivery of a message that is tried again at a time.
func tryAgain(s *story.Messages, id, at, progress string) {
	s.Helper()
	settle(s, id, messages.Settlement{
		Outcome: messages.Retried, Reason: "unavailable", Progress: messages.ParseProgress(progress),
		Retry: messages.Retry{Generation: s.Field(id, "g") + "x", At: story.At(at)},
	})
}

// A claim has the devices of the user and what the message is done with; without the option,
// only the latter.
func TestAClaimReturnsTheDevices(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		option         bool
		stored, wanted string
	}{{true, "packed", "packed"}, {true, "", ""}, {false, "packed", ""}} {
		o := sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute")), Devices: row.option}
		s := story.TellMessages(t, o)
		if row.stored != "" {
			require.NoError(t, s.Client.Set(t.Context(), story.KeysOf(o).Devices("alice"), row.stored, 0).Err())
		}
		s.Submit("a", "11:00", "g1", "text")
		s.Until("11:00")
		want := messages.Claim{
			Verdict: messages.Send, SendAt: story.At("11:00"), Attempt: 1, Content: []byte("text"), Devices: row.wanted, Now: s.Now,
			ExpiresAt: story.At("11:00").Add(24 * time.Hour),
		}
		require.Equal(t, want, s.Claim("a", "g1", "n1"))
		require.Equal(t, want, s.Claim("a", "g1", "n1"), "the same call again")
		require.True(t, s.Settle("a", "g1", "n1", messages.Settlement{
			Outcome: messages.Retried, Retry: messages.Retry{Generation: "g2", At: s.Now},
			Progress: messages.Progress{
				{Device: "tablet", State: messages.DeviceGone}, {Device: "phone", State: messages.DeviceDelivered},
			},
		}))
		require.Equal(t, "dphone gtablet", s.Field("a", "D"))
		want.Attempt, want.Progress = 2, messages.ParseProgress("dphone gtablet")
		require.Equal(t, want, s.Claim("a", "g2", "n2"))
		require.Equal(t, want.Progress, s.Look("a").Progress)
	}
}

// A message that reached no device is judged anew when it is late, and keeps what it is done
// with at its new place.
func TestAMessageThatReachedNoDeviceIsJudgedAgain(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/hour")
	s.Submit("a", "11:00", "g1", "text")
	s.Submit("b", "12:30", "g2", "text")
	s.Until("11:00")
	tryAgain(s, "a", "11:30", "gphone ftablet")
	s.Until("12:00")
	require.Equal(t, messages.Postponed, s.Claim("a", "g1x", "n2").Verdict)
	s.Holds("b 12:30:00", "a 13:30:00")
	s.MoveTo("a", "14:00", "g3")
	require.Equal(t, "gphone ftablet", s.Field("a", "D"))
	s.Until("14:00")
	require.Equal(t, messages.ParseProgress("gphone ftablet"), s.Claim("a", "g3", "n3").Progress)
}

// What reached a device counts at its place for others that are late, also while it waits, is
// being sent again, or has expired. None of these waits for it.
func TestWhatReachedADeviceCountsForLateMessages(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		progress, now string
		sends         bool
		wanted        messages.Verdict
		holds         []string
	}{
		"not due":               {"dphone", "11:40", false, messages.Postponed, []string{"first 11:30:00", "late 12:00:00"}},
		"due":                   {"dphone", "11:55", false, messages.Postponed, []string{"first 11:30:00", "late 12:00:00"}},
		"being sent":            {"dphone", "11:55", true, messages.Postponed, []string{"first 11:55:00", "late 12:25:00"}},
		"expired":               {"dphone", "11:59", false, messages.Postponed, []string{"first 11:30:00", "late 12:00:00"}},
		"expired, of no device": {"gphone", "11:59", false, messages.Send, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := story.NewMessages(t, "1/30m")
			r := sendlimit.Request{ID: "first", At: story.At("11:30"), Record: story.RecordOf("g1", "text")}
			r.Record.ExpiresAt = story.At("11:58")
			require.True(t, s.Ask(r).Allowed)
			require.True(t, s.Submit("late", "11:00", "g2", "text").Allowed)
			s.Until("11:30")
			tryAgain(s, "first", "11:50", row.progress)
			s.Until(row.now)
			if row.sends {
				require.Equal(t, messages.Send, s.Claim("first", "g1x", "n2").Verdict)
			}
			require.Equal(t, row.wanted, s.Claim("late", "g2", "n3").Verdict)
			if row.wanted == messages.Postponed {
				s.Holds(row.holds...)
			}
		})
	}
}

// Where another message is dropped or ends uncertain, one that reached a device ends as
// delivered, and keeps its place.
func TestAMessageThatReachedADeviceEndsAsDelivered(t *testing.T) {
	t.Parallel()
	for reason, row := range map[string]struct {
		change func(*sendlimit.Options)
		sends  bool
		now    string
	}{
		messages.ReasonExpired:   {now: "11:30"},
		messages.ReasonBlocked:   {now: "11:20"},
		messages.ReasonOptedOut:  {now: "11:20"},
		messages.ReasonRestored:  {change: func(o *sendlimit.Options) { o.DropDueBefore = story.At("11:00:00.001") }, now: "11:20"},
		messages.ReasonUncertain: {change: func(o *sendlimit.Options) { o.SkipUncertain = true }, sends: true, now: "11:20"},
	} {
		for _, keeps := range []bool{false, true} {
			o := sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/hour")), KeepContent: keeps}
			s := newSettingsStory(t, o)
			r := sendlimit.Request{ID: "a", At: story.At("11:00"), Category: "news", Record: story.Categorized("g1", "news")}
			r.Record.ExpiresAt = story.At("11:30")
			require.True(t, s.Ask(r).Allowed)
			s.Until("11:00")
			tryAgain(s.Messages, "a", "11:10", "dphone ftablet")
			if row.change != nil {
				row.change(&o)
				s.useGate(o)
			}
			at := "11:00"
			if row.sends {
				at = "11:10"
				s.Until(at)
				require.Equal(t, messages.Send, s.Claim("a", "g1x", "n2").Verdict)
			}
			s.Until(row.now)
			switch reason {
			case messages.ReasonBlocked:
				s.set(policy.UserSettings{Blocked: true})
			case messages.ReasonOptedOut:
				s.set(policy.UserSettings{OptOut: []string{"news"}})
			}
			want := messages.Claim{Verdict: messages.Reached, SendAt: story.At(at), Reason: reason, Now: s.Now}
			require.Equal(t, want, s.Claim("a", "g1x", "n3"))
			require.Equal(t, want, s.Claim("a", "g1x", "n3"), "the same call again")
			require.Equal(t, messages.Stale, s.Claim("a", "g1x", "n4").Verdict)
			require.False(t, s.Settle("a", "g1x", "n2", messages.Settlement{Outcome: messages.Failed, Reason: "refused"}))
			stands := s.Look("a")
			require.Equal(t, messages.StateDelivered, stands.State)
			require.Equal(t, reason, stands.Reason)
			require.Equal(t, row.sends, stands.Uncertain)
			require.Equal(t, messages.ParseProgress("dphone ftablet"), stands.Progress)
			require.Equal(t, keeps, s.Field("a", "c") != "")
			require.Equal(t, sendlimit.DefaultKeepRecords, s.KeptFor("a"))
			s.Holds("a " + at + ":00")
			s.Watched()
			require.Equal(t, int64(0), s.Client.ZCard(t.Context(), story.KeysOf(o).DeadLettersOf("alice")).Val())
		}
	}
}

// useGate claims with other options from now on.
func (s *settingsStory) useGate(o sendlimit.Options) {
	s.Helper()
	o.Records = true
	var err error
	s.Gate, err = messages.NewGate(s.Client, o)
	require.NoError(s, err)
}

// A message of a paused campaign waits, whatever it reached. It goes out late once the
// campaign is resumed.
func TestAMessageThatReachedADeviceWaitsForItsCampaign(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/hour")
	pauses := messages.NewPauses(s.Client, keyspace.KeysUnder(""))
	r := sendlimit.Request{ID: "a", At: story.At("11:00"), Record: story.RecordOf("g1", "text")}
	r.Record.Campaign = "sale"
	require.True(t, s.Ask(r).Allowed)
	s.Until("11:00")
	tryAgain(s, "a", "11:10", "dphone")
	_, err := pauses.Pause(t.Context(), messages.Campaign{Name: "sale"}, time.Time{})
	require.NoError(t, err)
	s.Until("11:20")
	paused, err := pauses.Load(t.Context())
	require.NoError(t, err)
	claim, err := s.Gate.Claim(t.Context(), messages.Delivery{User: "alice", ID: "a", Generation: "g1x", Nonce: "n2", Paused: paused}, story.Lease, time.Time{})
	require.NoError(t, err)
	require.Equal(t, messages.Claim{Verdict: messages.Paused, Until: story.At("12:20"), Now: s.Now}, claim)
	s.Holds("a 11:00:00")
	resumed, err := pauses.ResumeMessage(t.Context(), "alice", "a", "g3", time.Time{})
	require.NoError(t, err)
	require.True(t, resumed)
	s.Until("11:30")
	claim = s.Claim("a", "g3", "n3")
	require.Equal(t, messages.Send, claim.Verdict)
	require.Equal(t, messages.ParseProgress("dphone"), claim.Progress)
	s.Holds("a 11:30:00")
}
