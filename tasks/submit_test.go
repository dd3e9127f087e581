package tasks_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// Accepted leaves a place, a record, a watch entry and a task, and the task
// carries no content.
func TestSubmitLeavesAPlaceARecordAndATask(t *testing.T) {
	tell(t, func(s *story) {
		m := s.message("secret", time.Hour+123*time.Millisecond)
		s.accepted(m)
		record := s.record("alice", "secret")
		require.JSONEq(s, `{"title":"secret"}`, record["c"])
		require.Equal(s, []string{"secret"}, s.places())

		generation := record["g"]
		task, err := asynq.NewInspectorFromRedisClient(s.client).GetTaskInfo(queue.Name(""), generation)
		require.NoError(s, err)
		require.Equal(s, "push:deliver", task.Type)
		require.JSONEq(s, fmt.Sprintf(`{"v":1,"user":"alice","id":"secret","generation":%q,"due":%d}`,
			generation, m.SendAt.UnixMilli()), string(task.Payload))
		require.NotContains(s, string(task.Payload), "title")
		require.Equal(s, asynq.TaskStateScheduled, task.State)
		require.Zero(s, task.Retention)
		require.Positive(s, task.MaxRetry, "at none, the queue archives whatever comes again")
		require.Equal(s, 1, s.queued())

		// It is confirmed, by whoever; nobody waited for it.
		synctest.Wait()
		require.Equal(s, map[string]time.Duration{
			keyspace.WatchMember("alice", "secret", generation): time.Hour + 123*time.Millisecond + time.Minute,
		}, s.watched("alice"))
	})
}

// An expiry is bounded everywhere: in a submit, a check, a dry run and what was sent.
func TestTheLatestExpiry(t *testing.T) {
	tell(t, func(s *story) {
		s.shared.Reach = 30 * 24 * time.Hour
		s.Submitter = s.newSubmitter(submit.Options{})
		dryRun, err := s.StartDryRun(s.Context())
		require.NoError(s, err)
		m := s.message("a", time.Hour)
		m.ExpiresAt = s.at(61*24*time.Hour + time.Second)
		past := s.sent("past", -time.Hour)
		past.ExpiresAt = m.ExpiresAt
		want := `expires_at "2000-03-02T00:00:01Z" is not allowed: use a time until 2000-03-02T00:00:00.000Z,` +
			` which is 31 days after the latest send time`
		for _, ask := range []func() (message.Outcome, error){
			func() (message.Outcome, error) { return s.Submit(s.Context(), m) },
			func() (message.Outcome, error) { return s.Check(s.Context(), m) },
			func() (message.Outcome, error) { return dryRun.Submit(s.Context(), m) },
			func() (message.Outcome, error) { return s.RecordSent(s.Context(), past) },
		} {
			o, err := ask()
			require.NoError(s, err)
			require.Equal(s, []any{message.Invalid, fault.CodeInvalidField, "expires_at", want}, []any{o.Outcome, o.Code, o.Field, o.Detail})
		}
		require.NoError(s, dryRun.Close(s.Context()))
		m.ExpiresAt = s.at(61 * 24 * time.Hour)
		s.accepted(m)
	})
}

func TestSubmitAgainIsReplayed(t *testing.T) {
	tell(t, func(s *story) {
		m := s.message("a", 10*time.Second)
		s.accepted(m)
		generation := s.record("alice", "a")["g"]
		for range 3 {
			o := s.submit(m)
			require.True(s, o.Replayed)
			require.Equal(s, message.Accepted, o.Outcome)
		}
		require.Equal(s, 1, s.queued(), "it is in the queue once")
		require.Equal(s, generation, s.record("alice", "a")["g"])

		other := m
		other.Title = "b"
		require.Equal(s, fault.CodeIDReused, s.submit(other).Code)

		s.work()
		s.until(20 * time.Second)
		s.delivered("a +10s")
		require.True(s, s.submit(m).Replayed, "after the delivery too")
		require.Equal(s, fault.CodeIDReused, s.submit(other).Code)
		s.until(40 * time.Second)
		s.delivered("a +10s")
	})
}

// A message without an id gets one, and is another message each time.
func TestSubmitMakesUpAnID(t *testing.T) {
	tell(t, func(s *story) {
		m := message.Message{User: "alice", SendAt: s.at(time.Hour), Title: "a"}
		first, second := s.submit(m), s.submit(m)
		require.Equal(s, message.Accepted, first.Outcome)
		require.True(s, keyspace.ValidID(first.ID), first.ID)
		require.Equal(s, fault.CodeSendLimit, second.Code)
		require.NotEqual(s, first.ID, second.ID)
	})
}

func TestSubmitNow(t *testing.T) {
	tell(t, func(s *story) {
		s.work()
		now := message.Message{ID: "now", User: "alice", Now: true, Title: "now"}
		o := s.submit(now)
		require.Equal(s, message.Accepted, o.Outcome)
		require.Equal(s, s.at(0), o.SendAt.Time)
		require.False(s, o.Shifted)

		// As soon as the rules allow; or not at all, if the caller says so.
		soon := now
		soon.ID = "soon"
		o = s.submit(soon)
		require.True(s, o.Shifted)
		require.Equal(s, s.at(time.Minute), o.SendAt.Time)
		require.Equal(s, s.at(0), o.RequestedAt.Time)
		never := now
		never.ID, never.OnConflict = "never", message.OnConflictRefuse
		require.Equal(s, fault.CodeSendLimit, s.submit(never).Code)

		s.until(2 * time.Minute)
		require.True(s, s.submit(now).Replayed)
		deliveries := s.recorder.Deliveries()
		require.Len(s, deliveries, 2)
		require.Less(s, deliveries[0].At.Sub(s.began), 200*time.Millisecond)
		require.Equal(s, s.at(time.Minute), deliveries[1].At.UTC().Truncate(time.Millisecond))
		require.Equal(s, s.at(0), deliveries[1].Notification.RequestedAt)
	})
}

// A shift goes no further than shift_until, the expiry and the reach allow.
func TestSubmitShifts(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Hour))
		next := time.Hour + time.Minute // free
		for name, row := range map[string]struct {
			until, expires time.Duration // zero for none
			accepted       bool
		}{
			"without bounds":          {0, 0, true},
			"up to it":                {next, 0, true},
			"not up to it":            {next - time.Millisecond, 0, false},
			"expiring just after":     {0, next + time.Millisecond, true},
			"expiring just then":      {0, next, false},
			"expiring before the end": {next + time.Hour, next, false},
		} {
			m := s.message("b", time.Hour+time.Second)
			m.OnConflict = message.OnConflictShift
			if row.until != 0 {
				m.ShiftUntil = s.at(row.until)
			}
			if row.expires != 0 {
				m.ExpiresAt = s.at(row.expires)
			}
			o := s.submit(m)
			if !row.accepted {
				require.Equal(s, fault.CodeSendLimit, o.Code, name)
				require.Equal(s, s.at(next), o.NextFreeAt.Time, name)
				continue
			}
			require.Equal(s, message.Accepted, o.Outcome, name)
			require.Equal(s, s.at(next), o.SendAt.Time, name)
			s.cancelled("b")
		}
	})
}

// A shift_until does not ask for a shift: it bounds the one of a policy that shifts,
// and a policy that refuses has nothing to bound. A dry run says the same.
func TestShiftUntilBoundsAShiftByPolicy(t *testing.T) {
	t.Parallel()
	next := time.Hour + time.Minute // free
	for name, row := range map[string]struct {
		policy policy.OnConflict
		until  time.Duration
		code   fault.Code
	}{
		"up to it":              {policy.Shift, next, ""},
		"not up to it":          {policy.Shift, next - time.Millisecond, fault.CodeSendLimit},
		"of one that refuses":   {policy.Refuse, next, fault.CodeSendLimit},
		"of one that says none": {"", next, fault.CodeSendLimit},
	} {
		t.Run(name, func(t *testing.T) {
			tell(t, func(s *story) {
				s.charges("acme", accounts.Tier{MessagesPerHour: 10}, "UTC")
				s.policy(func(p *policy.Policy) { p.OnConflict = row.policy })
				s.accepted(s.message("a", time.Hour))
				for _, account := range []string{"", "acme"} {
					m := s.message("b", time.Hour+time.Second)
					m.Account, m.ShiftUntil = account, s.at(row.until)
					looked, err := s.Check(s.Context(), m)
					require.NoError(s, err)
					dryRun, err := s.StartDryRun(s.Context())
					require.NoError(s, err)
					dryRunMessages, err := dryRun.Submit(s.Context(), m)
					require.NoError(s, err)
					require.NoError(s, dryRun.Close(s.Context()))
					o := s.submit(m)
					require.Equal(s, o, looked)
					require.Equal(s, o, dryRunMessages)
					require.Equal(s, row.code, o.Code, "%+v", o)
					if row.code != "" {
						require.Equal(s, s.at(next), o.NextFreeAt.Time)
						continue
					}
					require.True(s, o.Shifted)
					require.Equal(s, s.at(next), o.SendAt.Time)
					require.True(s, s.submit(m).Replayed)
					s.cancelled("b")
				}
			})
		})
	}
}

func TestSubmitShiftsADay(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Hour))
		m := s.message("b", time.Hour)
		m.OnConflict = message.OnConflictShift
		require.Equal(s, s.at(25*time.Hour), s.submit(m).SendAt.Time)
		m = s.message("c", time.Hour+time.Millisecond)
		m.OnConflict = message.OnConflictShift
		require.Equal(s, fault.CodeSendLimit, s.submit(m).Code, "free only at 49 h")
	}, "1/day")
}

// The store's clock says whether a message has expired, also to a program that has just begun.
func TestExpiryIsByTheStoresClock(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		ahead, expires time.Duration
		outcome        string
	}{
		"the store is behind": {-10 * time.Minute, -2 * time.Minute, message.Accepted},
		"the store is ahead":  {10 * time.Minute, 8 * time.Minute, message.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			tell(t, func(s *story) {
				s.storeAhead(row.ahead)
				o, err := s.newSubmitter(submit.Options{}).Submit(s.Context(), message.Message{
					ID: "a", User: "alice", Now: true, Title: "now", ExpiresAt: s.at(row.expires),
				})
				require.NoError(s, err)
				require.Equal(s, row.outcome, o.Outcome, "%+v", o)
			})
		})
	}
}

// What has expired when it is submitted takes no place, but an id that is known
// is answered first.
func TestSubmitOfWhatHasExpired(t *testing.T) {
	tell(t, func(s *story) {
		now := message.Message{ID: "now", User: "alice", Now: true, Title: "now", ExpiresAt: s.at(time.Minute)}
		require.Equal(s, message.Accepted, s.submit(now).Outcome)
		s.until(time.Minute)
		require.True(s, s.submit(now).Replayed)

		graced := s.message("graced", time.Minute-3*time.Second)
		graced.ExpiresAt = s.at(time.Minute - time.Second)
		now.ID = "again"
		before := s.server.Dump()
		dryRun, err := s.StartDryRun(s.Context())
		require.NoError(s, err)
		for _, m := range []message.Message{now, graced} {
			o := s.submit(m)
			require.Equal(s, message.Invalid, o.Outcome)
			require.Equal(s, "expires_at", o.Field)
			require.Equal(s, m.ID, o.ID)
			require.Contains(s, o.Detail, ", has passed")
			dryRunMessages, err := dryRun.Submit(s.Context(), m)
			require.NoError(s, err)
			require.Equal(s, o, dryRunMessages)
		}
		require.NoError(s, dryRun.Close(s.Context()))
		require.Equal(s, before, s.server.Dump())
	})
}

func TestSubmitInvalid(t *testing.T) {
	tell(t, func(s *story) {
		before := s.server.Dump()
		o := s.submit(message.Message{ID: "a", User: "alice", SendAt: s.at(time.Hour)})
		require.Equal(s, message.Outcome{
			Outcome: message.Invalid, Code: fault.CodeInvalidField, Field: "title", ID: "a", User: "alice",
			Detail: `title or body is required: a message has at least one of them`,
		}, o)
		for _, id := range []string{"", "a b"} {
			o, err := s.Cancel(s.Context(), "alice", id)
			require.NoError(s, err)
			require.Equal(s, "id", o.Field)
			o, err = s.Move(s.Context(), "", id, s.at(time.Hour))
			require.NoError(s, err)
			require.Equal(s, "user", o.Field)
		}
		require.Equal(s, before, s.server.Dump())
	})
}

// Check says what Submit would, and leaves nothing.
func TestCheckOnlyLooks(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Hour))
		synctest.Wait()
		shifted := s.message("c", time.Hour+time.Second)
		shifted.OnConflict = message.OnConflictShift
		for _, m := range []message.Message{
			s.message("a", time.Hour), s.message("a", 2*time.Hour), s.message("b", time.Hour+time.Second), shifted,
			s.message("d", 3*time.Hour), s.message("e", -time.Hour),
			{},
		} {
			before := s.server.Dump()
			checked, err := s.Check(s.Context(), m)
			require.NoError(s, err)
			require.Equal(s, before, s.server.Dump())
			require.Equal(s, s.submit(m), checked)
			synctest.Wait()
		}
	})
}

// An enqueue that fails or takes too long changes nothing about the answer. The
// watch list has the message, to be looked after soon.
func TestSubmitSucceedsWithoutTheQueue(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		takes   time.Duration
		waits   time.Duration
		in      int // the queue, in the end
		trouble string
	}{
		"an error": {trouble: "ERR the queue is out of order"},
		"slow":     {takes: 10 * time.Second, waits: 250 * time.Millisecond, in: 1},
		"not slow": {takes: 200 * time.Millisecond, waits: 200 * time.Millisecond, in: 1},
	} {
		t.Run(name, func(t *testing.T) {
			tell(t, func(s *story) {
				s.accepted(s.message("first", time.Hour)) // the queue and its scripts are known
				s.server.Server().SetPreHook(func(c *server.Peer, command string, args ...string) bool {
					if command != "EVALSHA" || !strings.Contains(strings.Join(args, " "), "asynq:") {
						return false
					}
					time.Sleep(row.takes)
					if row.trouble != "" {
						c.WriteError(row.trouble)
					}
					return row.trouble != ""
				})
				began := time.Now()
				m := s.message("a", 2*time.Hour)
				s.accepted(m)
				require.Equal(s, row.waits, time.Since(began))
				generation := s.record("alice", "a")["g"]
				synctest.Wait()
				watched := s.watched("alice")[keyspace.WatchMember("alice", "a", generation)]
				if row.waits == row.takes && row.trouble == "" {
					require.Equal(s, 2*time.Hour+time.Minute, watched)
				} else {
					require.Equal(s, began.Sub(s.began)+10*time.Second, watched)
				}

				time.Sleep(20 * time.Second)
				s.server.Server().SetPreHook(nil)
				require.True(s, s.submit(m).Replayed)
				require.Equal(s, 1+row.in, s.queued(), "a client that gave up does not take it back")
			})
		})
	}
}
