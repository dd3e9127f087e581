package messages_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
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

// Its id is free again, and a new message with it goes to all devices.
func TestAMessageWithoutADeviceGivesItsIDBack(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:00", "g1", "text")
	s.Until("11:00")
	settle(s, "a", messages.Settlement{Outcome: messages.NoDevice, Progress: messages.ParseProgress("gphone")})
	require.Equal(t, sendlimit.DefaultKeepRecords, s.KeptFor("a"))
	require.Equal(t, fault.CodeNotFound, s.Release("a").Code)
	require.Equal(t, messages.ChangeDropped, tracedLast(s, "a").What)
	require.Equal(t, messages.ReasonNoDevice, tracedLast(s, "a").Reason)
	require.Equal(t, story.At("11:00").UnixMilli(), int64(s.Client.ZScore(t.Context(), story.KeysOf(s.Options).Ended("alice"), "a").Val()))

	require.True(t, s.Submit("a", "11:00:30", "g2", "other text").Allowed)
	require.Empty(t, s.Field("a", "D"))
	s.Until("11:00:30")
	require.Nil(t, s.Claim("a", "g2", "n2").Progress)
}

// tracedLast returns the last change of a message.
func tracedLast(s *story.Messages, id string) messages.Change {
	s.Helper()
	traced, err := story.RecordsIn(s, s.Client, s.Options.Prefix).Trace(s.Context(), "alice", id)
	require.NoError(s, err)
	return traced[0].History[len(traced[0].History)-1]
}

// A dead letter that is tried again goes to the devices that it failed on or may have reached,
// not to those that have it or are gone.
func TestARetryGoesToTheDevicesThatFailed(t *testing.T) {
	t.Parallel()
	for before, after := range map[string]string{
		"gtablet fphone uweb": "gtablet",
		"fgd":                 "", // the letters of its id don't matter
		"fphone uweb":         "",
		"dtv gtablet fphone":  "dtv gtablet", // of another release
		"":                    "",
	} {
		s := newDeadStory(t, "1/minute")
		s.Submit("a", "11:00", "g1", "text")
		s.Until("11:00")
		settle(s.Messages, "a", messages.Settlement{Outcome: messages.Failed, Reason: "refused"})
		if before != "" {
			require.NoError(t, s.Client.HSet(t.Context(), story.KeysOf(s.Options).Record("alice", "a"), keyspace.RecordProgress, before).Err())
		}
		require.True(t, s.retry("a", "g2").Allowed)
		require.Equal(t, after, s.Field("a", "D"))
		require.Equal(t, messages.ParseProgress(after), s.Claim("a", "g2", "n2").Progress)
	}
}

func TestTheProgressOfASettlementIsChecked(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:00", "g1", "text")
	s.Until("11:00")
	s.Claim("a", "g1", "n1")
	for _, done := range []messages.DeviceDone{
		{State: messages.DeviceDelivered},
		{Device: "my phone", State: messages.DeviceDelivered},
		{Device: "phone\n", State: messages.DeviceGone},
		{Device: "phone"},
		{Device: "phone", State: 'x'},
	} {
		_, err := s.Gate.Settle(t.Context(), messages.Delivery{User: "alice", ID: "a", Generation: "g1", Nonce: "n1"},
			messages.Settlement{Outcome: messages.Delivered, Progress: messages.Progress{done}}, s.Now)
		require.Equal(t, "ids without spaces, each with a state", story.Invalid(t, err, "progress", "1 devices"))
	}
	require.Equal(t, messages.StateSending, s.Look("a").State)
}

func TestProgressIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	p := messages.Progress{
		{Device: "tablet", State: messages.DeviceGone},
		{Device: "phone", State: messages.DeviceDelivered},
		{Device: "watch", State: messages.DeviceUncertain},
		{Device: "old", State: messages.DeviceFailed},
	}
	text := p.Encode()
	require.Equal(t, "dphone gtablet fold uwatch", text, "a script looks at the first letter only")
	require.ElementsMatch(t, p, messages.ParseProgress(text))
	require.True(t, p.Delivered())
	require.True(t, p.Done("tablet"))
	require.False(t, p.Done("table"))
	require.False(t, messages.ParseProgress("gtablet").Delivered())
	require.Empty(t, messages.ParseProgress(""))
	require.Empty(t, messages.ParseProgress("d xphone"))
}
