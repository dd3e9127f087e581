package tasks_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// edited changes a message to alice.
func (s *story) edited(id string, p message.Patch) message.Outcome {
	s.Helper()
	o, err := s.Change(s.Context(), "alice", id, p)
	require.NoError(s, err)
	return o
}

// words returns what changed of message a, one word a change.
func (s *story) words() string {
	s.Helper()
	var words []string
	for _, c := range s.status("a").History {
		words = append(words, strings.TrimSpace(c.Change+" "+c.Reason))
	}
	return strings.Join(words, "; ")
}

// A change without a move keeps the place, costs nothing, and goes out.
func TestAChangedMessageGoesOutAsItIsNow(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerDay: 1}, "")
		m := s.messageOf("acme", "a", time.Hour)
		m.Data, m.Metadata = map[string]string{"k": "v", "l": "w"}, map[string]string{"order": "17"}
		s.accepted(m)
		title, value := "new", "x"
		p := message.Patch{Edit: message.Edit{
			Title: &title, Data: map[string]*string{"k": nil, "l": &value}, Metadata: map[string]*string{"order": &value},
		}}
		o := s.edited("a", p)
		require.Equal(s, message.Outcome{Outcome: message.Changed, ID: "a", User: "alice", SendAt: message.Time{Time: s.at(time.Hour)}}, o)
		status := s.status("a")
		require.Equal(s, message.Content{Title: "new", Data: map[string]string{"l": "x"}}, status.Content)
		require.Equal(s, map[string]string{"order": "x"}, status.Metadata)
		require.Equal(s, s.edited("a", p), o, "as after a lost answer")
		require.Equal(s, "accepted; changed content, metadata", s.words())

		require.True(s, s.submit(m).Replayed, "a repeated submit is that of the message as it was")
		m.Title, m.Data, m.Metadata = "new", map[string]string{"l": "x"}, map[string]string{"order": "x"}
		require.Equal(s, fault.CodeIDReused, s.submit(m).Code)
		s.requireCharges(nil, map[string][]string{"alice": {"a"}})
		s.until(time.Hour - 10*time.Second)
		s.work()
		s.until(time.Hour + time.Second)
		require.Equal(s, "new", s.recorder.Deliveries()[0].Notification.Title)
		require.Equal(s, map[string]string{"order": "x"}, s.recorder.Deliveries()[0].Notification.Metadata)
		require.Equal(s, fault.CodeTooLate, s.edited("a", p).Code)
	})
}

// A move that is refused changes nothing; one that is made changes all at once.
func TestAChangeTogetherWithAMove(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Hour), s.message("b", 2*time.Hour))
		title := "new"
		p := message.Patch{Move: &message.Move{At: s.at(2 * time.Hour)}, Edit: message.Edit{Title: &title}}
		require.Equal(s, fault.CodeSendLimit, s.edited("a", p).Code)
		require.Equal(s, "a", s.status("a").Title)
		p.Move.OnConflict = message.OnConflictShift
		o := s.edited("a", p)
		require.Equal(s, message.Moved, o.Outcome)
		require.True(s, o.Shifted)
		require.Equal(s, s.at(2*time.Hour+10*time.Second), o.SendAt.Time)
		require.Equal(s, "new", s.status("a").Title)
		require.Equal(s, "accepted; moved; changed content", s.words())

		// To the time that it has, it moves nowhere, and still changes.
		other := "other"
		p = message.Patch{Move: &message.Move{At: o.SendAt.Time}, Edit: message.Edit{Title: &other}}
		o = s.edited("a", p)
		require.Equal(s, message.Moved, o.Outcome)
		require.Equal(s, o.SendAt, o.MovedFrom)
		require.Equal(s, "other", s.status("a").Title)
		require.Equal(s, "accepted; moved; changed content; changed content", s.words())
	}, "1/10s")
}

// A change without a reply was made. Who asks again finds that, and changes nothing.
func TestAChangeWithoutAReplyIsMadeOnce(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.accepted(s.message("a", time.Hour))
		title, body, to := "new", "text", message.Move{At: s.at(2 * time.Hour)}
		for _, row := range []struct {
			script *lua.Script
			patch  message.Patch
			done   string
		}{
			{lua.Edit, message.Patch{Edit: message.Edit{Title: &title}}, message.Changed},
			{lua.Move, message.Patch{Edit: message.Edit{Body: &body}, Move: &to}, message.Moved},
		} {
			s.losing(row.script, once())
			submitter, err := submit.New(taskstest.Open(t, s.newClient(), s.shared), submit.Options{})
			require.NoError(s, err)
			_, err = submitter.Change(s.Context(), "alice", "a", row.patch)
			var away *fault.UnavailableError
			require.ErrorAs(s, err, &away)
			o, err := submitter.Change(s.Context(), "alice", "a", row.patch)
			require.NoError(s, err)
			require.Equal(s, row.done, o.Outcome)
			require.NoError(s, submitter.Close())
		}
		require.Equal(s, "accepted; changed content; moved; changed content", s.words())
		require.Equal(s, message.Content{Title: "new", Body: "text"}, s.status("a").Content)
		require.Equal(s, s.at(2*time.Hour), s.status("a").SendAt.Time)
	})
}

// Of two changes at once, neither takes the other one back.
func TestChangesAtOnce(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Hour))
		keys := []string{"a", "b", "c"}
		var changes sync.WaitGroup
		for _, key := range keys {
			changes.Go(func() {
				s.edited("a", message.Patch{Edit: message.Edit{Data: map[string]*string{key: &key}}})
			})
		}
		changes.Wait()
		require.Equal(s, map[string]string{"a": "a", "b": "b", "c": "c"}, s.status("a").Data)
	})
}

func TestAChangedExpiry(t *testing.T) {
	tell(t, func(s *story) {
		m := s.message("a", time.Hour)
		m.ExpiresAt = s.at(2 * time.Hour)
		s.accepted(m)
		expires := func(at time.Time) message.Outcome {
			return s.edited("a", message.Patch{Edit: message.Edit{ExpiresAt: &at}})
		}
		o := expires(s.at(time.Hour))
		require.Equal(s, []any{message.Invalid, "expires_at"}, []any{o.Outcome, o.Field})
		require.Contains(s, o.Detail, "is not after send_at")
		o = expires(s.at(2 * 365 * 24 * time.Hour))
		require.Equal(s, []any{message.Invalid, "expires_at"}, []any{o.Outcome, o.Field})
		require.Contains(s, o.Detail, "31 days after the latest send time")
		late, to := s.at(2*365*24*time.Hour), s.at(90*time.Minute)
		o = s.edited("a", message.Patch{Edit: message.Edit{ExpiresAt: &late}, Move: &message.Move{At: to}})
		require.Equal(s, []any{message.Invalid, "expires_at"}, []any{o.Outcome, o.Field})
		require.Equal(s, s.at(2*time.Hour), s.status("a").ExpiresAt.Time)

		require.Equal(s, message.Changed, expires(s.at(40*24*time.Hour)).Outcome)
		require.Equal(s, s.at(40*24*time.Hour), s.status("a").ExpiresAt.Time)
		require.Equal(s, message.Changed, expires(time.Time{}).Outcome)
		require.True(s, s.status("a").ExpiresAt.IsZero())
		require.Equal(s, "accepted; changed expires_at; changed expires_at", s.words())
	})
}

// Who may not see a message can't change it either, and one that ended stays as it is.
func TestChangesThatAreRefused(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerDay: 5}, "")
		s.accepted(s.messageOf("acme", "a", time.Hour), s.message("b", 2*time.Hour))
		title, empty := "new", ""
		p := message.Patch{Edit: message.Edit{Title: &title}}
		for _, id := range []string{"b", "none"} {
			o, err := s.For("acme").Change(s.Context(), "alice", id, p)
			require.NoError(s, err)
			require.Equal(s, fault.CodeNotFound, o.Code, id)
		}
		o, err := s.For("acme").Change(s.Context(), "alice", "a", p)
		require.NoError(s, err)
		require.Equal(s, message.Changed, o.Outcome)
		o = s.edited("a", message.Patch{Edit: message.Edit{Title: &empty}})
		require.Equal(s, []any{message.Invalid, "title"}, []any{o.Outcome, o.Field})
		s.cancelled("b")
		o = s.edited("b", p)
		require.Equal(s, fault.CodeNotFound, o.Code)
		require.Contains(s, o.Detail, "was cancelled")
		require.Empty(s, s.status("b").Title)
	})
}

// A shift that ends where the message is keeps it there, and changes it as a move to that time
// does.
func TestAChangeWithAShiftToWhereItIs(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("first", time.Hour), s.message("second", time.Hour+10*time.Second), s.message("a", time.Hour+20*time.Second))
		before, tasks := s.record("alice", "a"), s.queued()
		shift := message.Move{At: s.at(time.Hour), OnConflict: message.OnConflictShift}
		plain := s.edited("a", message.Patch{Move: &shift})
		body := "new"
		p := message.Patch{Move: &shift, Edit: message.Edit{Body: &body}}
		o := s.edited("a", p)
		stays := message.Time{Time: s.at(time.Hour + 20*time.Second)}
		require.Equal(s, message.Outcome{
			Outcome: message.Moved, ID: "a", User: "alice", SendAt: stays, MovedFrom: stays,
			RequestedAt: message.Time{Time: s.at(time.Hour)}, Shifted: true,
		}, o)
		require.Equal(s, plain, o, "as without a change")
		require.Equal(s, o, s.edited("a", p), "as after a lost answer")
		require.Equal(s, "new", s.status("a").Body)
		require.Equal(s, "accepted; changed content", s.words())
		require.Equal(s, before["g"], s.record("alice", "a")["g"])
		require.Equal(s, tasks, s.queued(), "its task stays")

		now := message.Patch{Move: &message.Move{Now: true, OnConflict: message.OnConflictShift}, Edit: message.Edit{Body: &body}}
		body = "newer"
		require.Equal(s, s.at(0), s.edited("a", now).SendAt.Time, "an earlier time that is free")
		require.Equal(s, "newer", s.status("a").Body)
	}, "1/10s")
}

// So does one of a message that is charged: neither its account nor its throttle pays twice.
func TestAChangeWithAShiftToWhereItIsCostsNothing(t *testing.T) {
	tell(t, func(s *story) {
		s.throttle("2/minute", "2/10s")
		s.charges("acme", accounts.Tier{MessagesPerHour: 6, MessagesPerDay: 6}, "")
		hour := time.Hour
		for _, row := range []struct {
			user, category string
			places         []time.Duration // of the last one, "a", the shift has to find the own place
			to             time.Duration
		}{
			{"alice", "", []time.Duration{hour, hour + time.Second, hour + 10*time.Second}, hour},
			{"bob", "marketing", []time.Duration{hour, hour + 30*time.Second, hour + time.Minute}, hour + 45*time.Second},
		} {
			ids := []string{"first", "second", "a"}
			for i, after := range row.places {
				m := s.messageOf("acme", ids[i], after)
				m.User, m.Category = row.user, row.category
				s.accepted(m)
			}
			body, at := "new", s.at(row.places[2])
			p := message.Patch{Move: &message.Move{At: s.at(row.to), OnConflict: message.OnConflictShift}, Edit: message.Edit{Body: &body}}
			for _, by := range []*submit.Submitter{s.Submitter, s.For("acme")} {
				body += "er"
				o, err := by.Change(s.Context(), row.user, "a", p)
				require.NoError(s, err)
				require.Equal(s, []any{message.Moved, true, at, at}, []any{o.Outcome, o.Shifted, o.SendAt.Time, o.MovedFrom.Time}, "%+v", o)
				status, _, err := s.Status(s.Context(), row.user, "a")
				require.NoError(s, err)
				require.Equal(s, []any{body, at}, []any{status.Body, status.SendAt.Time})
			}
		}
		s.requireThrottled(map[string]int{"01:00": 2, "01:01": 1})
		s.requireCharges(nil, map[string][]string{"alice": {"first", "second", "a"}, "bob": {"first", "second", "a"}})
	})
}

// If the own place has passed before it is charged, nothing is edited, and nobody is told so.
func TestAChangeWithAShiftToWhereItWas(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerHour: 5}, "")
		end := time.Hour
		s.accepted(s.messageOf("acme", "first", end-12*time.Second), s.messageOf("acme", "a", end-2*time.Second))
		s.until(end - 20*time.Second)
		s.hook = redistest.Commands((&delayHook{script: lua.Hold, timeout: 30 * time.Second, skip: 1}).onCommand)
		client := s.newClient()
		submitter, err := submit.New(taskstest.Open(t, client, s.shared), submit.Options{})
		require.NoError(s, err)
		body := "new"
		o, err := submitter.Change(s.Context(), "alice", "a", message.Patch{
			Move: &message.Move{At: s.at(end - 12*time.Second), OnConflict: message.OnConflictShift}, Edit: message.Edit{Body: &body},
		})
		require.NoError(s, err)
		require.Equal(s, fault.CodeInPast, o.Code, "%+v", o)
		require.Equal(s, "accepted", s.words())
		require.NoError(s, submitter.Close())
	}, "1/10s")
}
