package tasks_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// status is what became of a message to alice.
func (s *story) status(id string) message.Status {
	s.Helper()
	status, ok, err := s.Status(s.Context(), "alice", id)
	require.NoError(s, err)
	require.True(s, ok)
	return status
}

// spells requires that the status of a message to alice is spelled so, apart from its
// content and its history.
func (s *story) spells(id, want string) {
	s.Helper()
	status := s.status(id)
	require.NotEmpty(s, status.History)
	status.Content, status.History = message.Content{}, nil
	text, err := json.Marshal(status)
	require.NoError(s, err)
	require.Equal(s, want, string(text))

	var again message.Status
	require.NoError(s, json.Unmarshal(text, &again))
	require.Equal(s, status, again, "read back")
}

func TestStatusesAsTheContractSpellsThem(t *testing.T) {
	tellSlowly(t, func(s *story) {
		m := s.message("a", 10*time.Minute)
		m.Category, m.ExpiresAt = "news", s.at(20*time.Minute)
		s.accepted(m)
		s.spells("a", `{"id":"a","user":"alice","status":"scheduled","send_at":"2000-01-01T00:10:00.000Z",`+
			`"expires_at":"2000-01-01T00:20:00.000Z","category":"news"}`)
		s.moved("a", time.Minute)
		s.spells("a", `{"id":"a","user":"alice","status":"moved","send_at":"2000-01-01T00:01:00.000Z",`+
			`"requested_at":"2000-01-01T00:10:00.000Z","moved_from":"2000-01-01T00:10:00.000Z",`+
			`"expires_at":"2000-01-01T00:20:00.000Z","category":"news"}`)

		shifted := s.message("b", time.Minute)
		shifted.OnConflict = message.OnConflictShift
		s.submit(shifted)
		s.spells("b", `{"id":"b","user":"alice","status":"scheduled","send_at":"2000-01-01T00:02:00.000Z",`+
			`"requested_at":"2000-01-01T00:01:00.000Z","shifted":true}`)
		s.cancelled("b")
		s.spells("b", `{"id":"b","user":"alice","status":"cancelled","send_at":"2000-01-01T00:02:00.000Z",`+
			`"requested_at":"2000-01-01T00:01:00.000Z","shifted":true,"ended_at":"2000-01-01T00:00:00.000Z"}`)

		s.recorder.Script(notifier.Result{Status: notifier.Delivered, ProviderID: "p-1"},
			notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonGone})
		s.work()
		s.until(90 * time.Second)
		s.spells("a", `{"id":"a","user":"alice","status":"delivered","send_at":"2000-01-01T00:01:00.000Z",`+
			`"requested_at":"2000-01-01T00:10:00.000Z","moved_from":"2000-01-01T00:10:00.000Z",`+
			`"expires_at":"2000-01-01T00:20:00.000Z","delivered_at":"2000-01-01T00:01:00.000Z","lateness_ms":0,`+
			`"provider_id":"p-1","attempts":1,"category":"news"}`)
		s.accepted(s.message("c", 3*time.Minute))
		s.until(4 * time.Minute)
		s.spells("c", `{"id":"c","user":"alice","status":"failed","send_at":"2000-01-01T00:03:00.000Z",`+
			`"ended_at":"2000-01-01T00:03:00.000Z","attempts":1,"reason":"gone"}`)
	})
}

// Workers were down: of three that are late one goes out at once, the others
// when the rules have room.
func TestStatusOfLateMessages(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.accepted(s.message("a", time.Minute), s.message("b", 2*time.Minute), s.message("c", 3*time.Minute))
		s.until(10 * time.Minute)
		s.work()
		s.until(10*time.Minute + 30*time.Second)
		a := s.status("a")
		require.Equal(s, message.StatusDelivered, a.Status)
		require.Equal(s, s.at(time.Minute), a.PromisedAt.Time)
		require.Equal(s, a.DeliveredAt.Sub(a.PromisedAt.Time).Milliseconds(), *a.LatenessMS)
		require.GreaterOrEqual(s, *a.LatenessMS, (9 * time.Minute).Milliseconds())
		require.Empty(s, a.Reason)

		b := s.status("b")
		require.Equal(s, message.StatusPostponed, b.Status)
		require.Equal(s, s.at(2*time.Minute), b.PromisedAt.Time)
		require.Equal(s, a.DeliveredAt.Add(time.Minute), b.SendAt.Time)
		require.Equal(s, "late: 1/minute was in the way", b.Reason)

		// A move makes a new promise.
		s.moved("c", 30*time.Minute)
		c := s.status("c")
		require.Equal(s, message.StatusMoved, c.Status)
		require.Zero(s, c.PromisedAt)
		s.until(12 * time.Minute)
		b = s.status("b")
		require.Equal(s, message.StatusDelivered, b.Status)
		require.Equal(s, "late: 1/minute was in the way", b.Reason, "why it was late")
	})
}

func TestStatusOfAMessageThatIsTriedAgain(t *testing.T) {
	tell(t, func(s *story) {
		s.recorder.Script(notifier.Result{
			Status: notifier.Retry, Reason: notifier.ReasonUnavailable, RetryAfter: 20 * time.Second,
		})
		s.work(retrying(2))
		s.accepted(s.message("a", 10*time.Second))
		s.until(11 * time.Second)
		status := s.status("a")
		require.Equal(s, message.StatusScheduled, status.Status)
		require.Equal(s, "unavailable", status.Reason)
		require.Equal(s, 1, status.Attempts)
		require.WithinDuration(s, s.at(30*time.Second), status.NextTryAt.Time, 5*time.Millisecond)
		require.Equal(s, 1, status.Failures())
		s.until(31 * time.Second)
		status = s.status("a")
		require.Equal(s, message.StatusDelivered, status.Status)
		require.Equal(s, "unavailable", status.Reason, "why it was late")
		require.Equal(s, []int{2, 1}, []int{status.Attempts, status.Failures()})
	})
}

// The delivery that runs has neither failed nor another try behind it.
func TestStatusOfASecondTryThatRuns(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Minute))
		gate, err := messages.NewGate(s.client, sendlimit.Options{Records: true})
		require.NoError(s, err)
		d := messages.Delivery{User: "alice", ID: "a", Generation: s.record("alice", "a")["g"], Nonce: "n1"}
		s.until(time.Minute)
		_, err = gate.Claim(s.Context(), d, time.Minute, time.Time{})
		require.NoError(s, err)
		_, err = gate.Settle(s.Context(), d, messages.Settlement{
			Reason: "timeout", Outcome: messages.Retried, Retry: messages.Retry{Generation: "g2", At: s.at(61 * time.Second), Uncertain: true},
		}, time.Time{})
		require.NoError(s, err)
		s.until(61 * time.Second)
		d.Generation, d.Nonce = "g2", "n2"
		_, err = gate.Claim(s.Context(), d, time.Minute, time.Time{})
		require.NoError(s, err)
		s.spells("a", `{"id":"a","user":"alice","status":"sending","send_at":"2000-01-01T00:01:00.000Z","attempts":2,`+
			`"reason":"timeout","uncertain":true}`)
		require.Equal(s, []message.HistoryEntry{
			{At: message.Time{Time: s.at(0)}, Change: message.ChangeAccepted, SendAt: message.Time{Time: s.at(time.Minute)}},
			{
				At: message.Time{Time: s.at(time.Minute)}, Change: message.ChangeRetry, SendAt: message.Time{Time: s.at(61 * time.Second)},
				Attempt: 1, Reason: "timeout",
			},
		}, s.status("a").History)
		require.Equal(s, 1, s.status("a").Failures())
	})
}

func TestStatusOfWhatIsNotKnown(t *testing.T) {
	tell(t, func(s *story) {
		_, ok, err := s.Status(s.Context(), "alice", "none")
		require.NoError(s, err)
		require.False(s, ok)
		requireJSON(s.T, `{"outcome":"refused","code":"not_found","id":"none","user":"alice",`+
			`"detail":"no message \"none\" of user \"alice\": it was never accepted, or ended too long ago"}`,
			message.NoStatus("alice", "none"))
		_, _, err = s.Status(s.Context(), "alice", "a/b")
		require.ErrorContains(s, err, `id "a/b" is not allowed`)
		_, err = s.Statuses(s.Context(), "")
		require.ErrorContains(s, err, `user "" is not allowed`)
		s.network.cut()
		_, _, err = s.Status(s.Context(), "alice", "none")
		s.away(err, fault.CodeUnavailable)
	})
}

// lists returns a list of messages to alice, "status id" each.
func (s *story) lists(r sendlimit.ListRequest) (found []string, last keyspace.Reservation) {
	s.Helper()
	r.User = "alice"
	statuses, err := s.List(s.Context(), r)
	require.NoError(s, err)
	for _, status := range statuses {
		found = append(found, status.Status+" "+status.ID)
		last = keyspace.Reservation{ID: status.ID, At: status.SendAt.Time}
	}
	return found, last
}

func TestAListHasWhatEndedToo(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.recorder.Script(notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonGone})
		s.accepted(s.message("failed", time.Minute), s.message("sent", 2*time.Minute), s.message("back", 10*time.Minute),
			s.message("cancelled", 20*time.Minute), s.message("ahead", 30*time.Minute))
		s.cancelled("cancelled")
		s.cancelled("back")
		s.accepted(s.message("back", 12*time.Minute))
		s.work()
		s.until(3 * time.Minute)
		want := []string{"failed failed", "delivered sent", "scheduled back", "cancelled cancelled", "scheduled ahead"}
		found, _ := s.lists(sendlimit.ListRequest{})
		require.Equal(s, want, found)

		// Any page goes on where the one before has ended.
		for limit := 1; limit <= len(want)+1; limit++ {
			var paged []string
			for r := (sendlimit.ListRequest{Limit: limit}); ; {
				page, last := s.lists(r)
				paged = append(paged, page...)
				if len(page) < limit {
					break
				}
				r.After = last
			}
			require.Equal(s, want, paged, "limit %d", limit)
		}
		found, _ = s.lists(sendlimit.ListRequest{From: s.at(2 * time.Minute), To: s.at(30 * time.Minute)})
		require.Equal(s, want[1:4], found)

		statuses, err := s.List(s.Context(), sendlimit.ListRequest{User: "alice", Limit: 1})
		require.NoError(s, err)
		failed := s.status("failed")
		require.Equal(s, message.Content{Title: "failed"}, failed.Content)
		require.Len(s, failed.History, 2)
		failed.Content, failed.History = message.Content{}, nil
		require.Equal(s, []message.Status{failed}, statuses, "as the status tells it, without content and history")
		_, err = s.List(s.Context(), sendlimit.ListRequest{User: "alice", Limit: -1})
		require.ErrorContains(s, err, `limit "-1" is not allowed`)
		s.network.cut()
		_, err = s.List(s.Context(), sendlimit.ListRequest{User: "alice"})
		s.away(err, fault.CodeUnavailable)
	})
}
