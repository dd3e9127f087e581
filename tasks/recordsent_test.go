package tasks_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

func (s *story) recordSent(m message.Message) string {
	s.Helper()
	o, err := s.RecordSent(s.Context(), m)
	require.NoError(s, err)
	text, err := json.Marshal(o)
	require.NoError(s, err)
	return string(text)
}

// sent is a message to alice that was sent at a time of the story, without what
// it said.
func (s *story) sent(id string, after time.Duration) message.Message {
	return message.Message{ID: id, User: "alice", SendAt: s.at(after)}
}

func TestRecordSent(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		s.work()
		s.until(time.Minute)
		require.JSONEq(s, `{"outcome":"recorded","id":"a","user":"alice","send_at":"2000-01-01T00:00:30.000Z"}`,
			s.recordSent(s.sent("a", 30*time.Second)))
		require.JSONEq(s, `{"outcome":"recorded","id":"a","user":"alice","send_at":"2000-01-01T00:00:30.000Z","replayed":true}`,
			s.recordSent(s.sent("a", 30*time.Second)))
		require.JSONEq(s, `{"outcome":"refused","code":"id_reused","id":"a","user":"alice","send_at":"2000-01-01T00:00:31.000Z",
			"detail":"the id a stands for another message to alice: use another id for another message"}`,
			s.recordSent(s.sent("a", 31*time.Second)))
		require.JSONEq(s, `{"outcome":"recorded","id":"old","user":"alice","send_at":"1999-12-30T00:00:00.000Z","forgotten":true}`,
			s.recordSent(s.sent("old", -48*time.Hour)))

		o := s.submit(s.message("next", 70*time.Second))
		require.Equal(s, "a", o.Violations[0].Conflicts[0].ID)
		require.Equal(s, s.at(90*time.Second), o.NextFreeAt.Time)
		status, known, err := s.Status(s.Context(), "alice", "a")
		require.NoError(s, err)
		require.True(s, known)
		require.Equal(s, message.StatusDelivered, status.Status)
		require.Zero(s, *status.LatenessMS)
		require.Zero(s, s.queued())
		require.Empty(s, s.watched("alice"))
		s.until(10 * time.Minute)
		s.delivered()

		own := s.sent("own", 9*time.Minute)
		own.Campaign, own.Metadata = "spring", map[string]string{"source": strings.Repeat("s", 100)}
		require.Contains(s, s.recordSent(own), message.Recorded)
		status, _, err = s.Status(s.Context(), "alice", "own")
		require.NoError(s, err)
		require.Equal(s, own.Campaign, status.Campaign)
		require.Equal(s, own.Metadata, status.Metadata)
	})
}

// A message that was accepted here is not recorded a second time, and goes out.
func TestRecordSentOfWhatIsScheduledHere(t *testing.T) {
	tell(t, func(s *story) {
		m := s.message("a", 30*time.Second)
		s.accepted(m)
		s.until(time.Minute)
		require.Contains(s, s.recordSent(m), `"replayed":true`)
		require.Contains(s, s.record("alice", "a")["c"], `"title":"a"`)
		s.work()
		s.until(61 * time.Second)
		require.Len(s, s.recorder.Deliveries(), 1)
	})
}

func TestRecordSentRefusesWhatIsNotOver(t *testing.T) {
	tell(t, func(s *story) {
		s.until(time.Minute)
		before := s.server.Dump()
		const want = ", has not passed: only messages that were sent are recorded"
		for value, edit := range map[string]func(*message.Message){
			"2000-01-01T00:01:00.001Z": func(m *message.Message) { m.SendAt = s.at(time.Minute + time.Millisecond) },
			"2001-01-01T00:00:00Z":     func(m *message.Message) { m.SendAt = s.at(366 * 24 * time.Hour) },
			"now":                      func(m *message.Message) { m.SendAt, m.Now = time.Time{}, true },
		} {
			m := s.sent("a", 0)
			edit(&m)
			o, err := s.RecordSent(s.Context(), m)
			require.NoError(s, err)
			require.Equal(s, message.Outcome{
				Outcome: message.Invalid, Code: fault.CodeInvalidField, Field: "send_at", ID: "a", User: "alice",
				Detail: "send_at, " + value + want,
			}, o)
			require.False(s, o.OK())
		}
		for field, edit := range map[string]func(*message.Message){
			"user":       func(m *message.Message) { m.User = "" },
			"id":         func(m *message.Message) { m.ID = "a b" },
			"send_at":    func(m *message.Message) { m.SendAt = time.Time{} },
			"category":   func(m *message.Message) { m.Category = "A" },
			"title":      func(m *message.Message) { m.Title = "\xff" },
			"expires_at": func(m *message.Message) { m.ExpiresAt = m.SendAt },
		} {
			m := s.sent("a", time.Second)
			edit(&m)
			o, err := s.RecordSent(s.Context(), m)
			require.NoError(s, err)
			require.Equal(s, message.Invalid, o.Outcome)
			require.Equal(s, field, o.Field)
		}
		require.Equal(s, before, s.server.Dump())
	})
}

func TestRecordSentMakesUpAnID(t *testing.T) {
	tell(t, func(s *story) {
		s.until(time.Minute)
		m := s.sent("", time.Second)
		m.Body = "what it said"
		o, err := s.RecordSent(s.Context(), m)
		require.NoError(s, err)
		require.True(s, o.OK())
		require.Len(s, o.ID, 36)
		require.Empty(s, s.mentions("what it said"), "it has been sent")
	})
}

func TestRecordSentWithoutAStore(t *testing.T) {
	tell(t, func(s *story) {
		s.until(time.Minute)
		s.network.cut()
		_, err := s.RecordSent(s.Context(), s.sent("a", 0))
		var away *fault.UnavailableError
		require.ErrorAs(s, err, &away)
	})
}
