package tasks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/callbacks"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// told has the local time, the window and the requested time of a change, as far as it has them.
func told(local *message.ResolvedLocal, window *message.ResolvedWindow, requested message.Time) (words string) {
	if local != nil {
		words += " local " + local.Time + " " + local.Zone
	}
	if window != nil {
		words += " window " + string(window.Prefer) + " until " + window.Until.Format(time.TimeOnly)
	}
	if !requested.IsZero() {
		words += " requested " + requested.Format(time.TimeOnly)
	}
	return words
}

// History and events say what was asked for, beside the send time that was found.
func TestWhatWasAskedIsTold(t *testing.T) {
	tell(t, func(s *story) {
		s.work(oftenRelay)
		s.hear()
		s.until(5 * time.Second)
		b := taskstest.Open(s, s.client, s.shared)
		require.NoError(s, b.Listen.Load(s.Context()))
		s.Submitter = s.newSubmitterOn(b, submit.Options{})
		s.takes(s.local("local", "2000-01-01T00:00:20", "UTC"))
		s.takes(s.inWindow("window", time.Minute, 2*time.Minute, policy.PreferLatest))
		s.takes(s.message("plain", 10*time.Minute))
		shifts := s.message("shifts", 10*time.Minute)
		shifts.OnConflict = message.OnConflictShift
		s.takes(shifts)
		for id, p := range map[string]message.Patch{
			"plain":  {Move: &message.Move{}, Local: &message.LocalTimes{SendAt: message.LocalTime{Local: "2000-01-01T05:35:30", Zone: "Asia/Kolkata"}}},
			"window": {Move: &message.Move{At: s.at(90 * time.Second)}},
		} {
			o, err := s.Change(s.Context(), "alice", id, p)
			require.NoError(s, err)
			require.Equal(s, message.Moved, o.Outcome, o.Detail)
		}
		s.takes(s.inWindow("late", 3*time.Minute, 4*time.Minute, policy.PreferLatest))
		s.until(15 * time.Minute)

		log, err := events.NewLog(s.client, events.Options{})
		require.NoError(s, err)
		read, err := log.Read(s.Context(), keyspace.Everyone, "", events.MaxRead)
		require.NoError(s, err)
		var heard []string
		for _, e := range callbacks.EventsOf(keyspace.Everyone, read) {
			heard = append(heard, e.Data.ID+" "+e.Type[len(message.EventPrefix):]+told(e.Data.Local, e.Data.Window, e.Data.RequestedAt))
		}
		require.ElementsMatch(s, []string{
			"plain moved local 2000-01-01T05:35:30 Asia/Kolkata requested 00:10:00",
			"window moved requested 00:01:59",
			"local delivered local 2000-01-01T00:00:20 UTC",
			"window delivered requested 00:01:59",
			"late delivered window latest until 00:04:00",
			"plain delivered local 2000-01-01T05:35:30 Asia/Kolkata requested 00:10:00",
			"shifts delivered requested 00:10:00",
		}, heard)
		for id, want := range map[string][]string{
			"local":  {"accepted local 2000-01-01T00:00:20 UTC", "delivered"},
			"window": {"accepted", "moved", "delivered"},
			"late":   {"accepted window latest until 00:04:00", "delivered"},
			"plain":  {"accepted", "moved local 2000-01-01T05:35:30 Asia/Kolkata", "changed", "delivered"},
		} {
			var history []string
			for _, c := range s.status(id).History {
				history = append(history, c.Change+told(c.Local, c.Window, message.Time{}))
			}
			require.Equal(s, want, history, id)
		}
	}, "1/minute")
}
