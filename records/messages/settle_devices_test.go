package messages_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

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

// A message that waits for its retry can be moved, changed and cancelled only if it reached no
// device. Its id is in use all the while.
func TestChangesOfAMessageThatIsTriedAgain(t *testing.T) {
	t.Parallel()
	for progress, reached := range map[string]bool{"dphone gtablet": true, "gtablet fphone": false, "": false} {
		s := story.NewMessages(t, "1/minute")
		s.Submit("a", "11:00", "g1", "text")
		s.Until("11:00")
		tryAgain(s, "a", "11:10", progress)
		require.True(t, s.Submit("a", "11:00", "g9", "text").Replayed)
		require.Equal(t, fault.CodeIDReused, s.Submit("a", "12:00", "g9", "other text").Code)
		changes := []func() sendlimit.Decision{
			func() sendlimit.Decision { return editContent(s, "a", "better text") },
			func() sendlimit.Decision { return s.MoveTo("a", "12:00", "g3") },
			func() sendlimit.Decision { return s.Release("a") },
		}
		for _, change := range changes {
			d := change()
			require.Equal(t, !reached, d.Allowed, "%q: %+v", progress, d)
			if reached {
				require.Equal(t, sendlimit.Decision{Code: fault.CodeTooLate, At: story.At("11:00"), Now: s.Now}, d)
			}
			require.Equal(t, progress, s.Field("a", "D"))
		}
		if reached {
			s.Holds("a 11:00:00")
		}
	}
}

// editContent gives a message another content.
func editContent(s *story.Messages, id, content string) sendlimit.Decision {
	s.Helper()
	_, version, err := story.RecordsIn(s, s.Client, s.Options.Prefix).Versioned(s.Context(), "alice", id)
	require.NoError(s, err)
	d, err := s.Timeline.Edit(s.Context(), sendlimit.EditRequest{User: "alice", ID: id, Edit: sendlimit.Edit{
		Of: version, What: []string{sendlimit.EditContent}, Content: []byte(content),
	}})
	require.NoError(s, err)
	return d
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
