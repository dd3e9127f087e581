package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
	"github.com/sendlimit/sendlimiter/tasks/userdata"
)

// users hands out and erases what there is of a user.
func (s *story) users() *userdata.Users {
	s.Helper()
	users, err := userdata.New(taskstest.Open(s, s.client, backend.Options{}))
	require.NoError(s, err)
	return users
}

func (s *story) eraseAlice() userdata.Erasure {
	s.Helper()
	e, err := s.users().Erase(s.Context(), "alice", time.Minute, nil)
	require.NoError(s, err)
	return e
}

// canary is what the messages to alice say; nobody else's do.
const canary = "Xanadu is a pleasure dome"

// toAlice is a message to alice that can be found again.
func (s *story) toAlice(id string, after time.Duration) message.Message {
	m := s.message(id, after)
	m.Body = canary
	m.Data = map[string]string{"k": canary}
	m.Metadata = map[string]string{"k": canary}
	return m
}

// nothingLeft requires that no key, and nothing in one, has alice or what was
// said to her.
func (s *story) nothingLeft() {
	s.Helper()
	for _, text := range []string{"alice", canary} {
		require.Empty(s, s.mentions(text), text)
	}
}

// mentions lists the keys that have a text in their name or in what they hold.
func (s *story) mentions(text string) []string {
	s.Helper()
	var found []string
	for _, key := range s.server.Keys() {
		var value any
		var err error
		switch kind := s.server.Type(key); kind {
		case "string":
			value, err = s.server.Get(key)
		case "hash":
			value, err = s.client.HGetAll(s.Context(), key).Result()
		case "zset":
			value, err = s.server.ZMembers(key)
		case "set":
			value, err = s.server.Members(key)
		case "list":
			value, err = s.server.List(key)
		case "stream":
			value, err = s.client.XRange(s.Context(), key, "-", "+").Result()
		default:
			require.Fail(s, "a type nobody knows", "%s: %s", key, kind)
		}
		require.NoError(s, err)
		if strings.Contains(key, text) || strings.Contains(fmt.Sprint(value), text) {
			found = append(found, key)
		}
	}
	return found
}

// Everything goes, the tasks of former generations too, and nothing is sent.
func TestEraseAUser(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.keepSuperseded()
		s.accepted(s.toAlice("scheduled", time.Minute), s.toAlice("moved", 2*time.Minute), s.toAlice("cancelled", 3*time.Minute))
		s.moved("moved", 4*time.Minute)
		s.cancelled("cancelled")
		other := s.message("other", time.Minute)
		other.User = "bob"
		s.accepted(other)
		require.NotEmpty(s, s.mentions(canary), "it is found while it is there")
		require.Equal(s, 5, s.queued(), "two of them stale")

		require.Equal(s, userdata.Erasure{
			User: "alice", Messages: 3, Cancelled: 2, Tasks: 4, Keys: 4, Entries: 3,
		}, s.eraseAlice(), "those of the index; a cancel removes those of the timeline and the watch list")
		s.nothingLeft()
		require.Equal(s, 1, s.queued())
		require.Equal(s, userdata.Erasure{User: "alice"}, s.eraseAlice(), "twice is harmless")

		s.work()
		s.until(5 * time.Minute)
		require.Len(s, s.recorder.Deliveries(), 1)
		require.Equal(s, "bob", s.recorder.Deliveries()[0].Notification.User)
		s.nothingLeft()
	})
}

// A delivery that runs is waited for, and the worker's report about it. What
// would be tried again is not.
func TestEraseWaitsForADelivery(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		s.recorder.AnswerWith(func(_ context.Context, n notifier.Notification) notifier.Result {
			time.Sleep(7 * time.Second)
			if n.ID == "fails" {
				return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonUnavailable}
			}
			return notifier.Result{Status: notifier.Delivered}
		})
		s.work()
		s.accepted(s.toAlice("goes", 10*time.Second), s.toAlice("fails", 80*time.Second), s.toAlice("later", 3*time.Minute))
		s.until(81 * time.Second)
		began := time.Now()
		e := s.eraseAlice()
		require.Greater(s, time.Since(began), 5*time.Second, "until the delivery has ended")
		require.Less(s, time.Since(began), 20*time.Second)
		require.Equal(s, 3, e.Messages)
		require.Equal(s, 2, e.Cancelled, "what was to be tried again, and what was to come")
		require.Zero(s, e.Running)
		s.nothingLeft()
		s.until(4 * time.Minute)
		require.Len(s, s.recorder.Deliveries(), 2)
		s.nothingLeft()
	})
}

// While a delivery is waited for, only its message is looked at again.
func TestEraseCancelsWhatEndedOnlyOnce(t *testing.T) {
	tell(t, func(s *story) {
		s.recorder.AnswerWith(func(context.Context, notifier.Notification) notifier.Result {
			time.Sleep(3 * time.Second)
			return notifier.Result{Status: notifier.Delivered}
		})
		s.work()
		const others = 30
		s.accepted(s.toAlice("goes", 10*time.Second))
		for i := range others {
			s.accepted(s.toAlice(fmt.Sprint("later", i), time.Duration(i+1)*time.Hour))
		}
		s.until(11 * time.Second)
		calls := &scriptCalls{of: []string{lua.Release.Hash()}}
		s.hook = redistest.Commands(calls.onCommand)
		s.client = s.newClient()
		e := s.eraseAlice()
		require.Equal(s, others, e.Cancelled)
		require.Greater(s, calls.made, others+2, "the message that is being sent, several times")
		require.Less(s, calls.made, 2*others, "the others once")
		s.nothingLeft()
	}, "1/minute")
}

// What does not end in time is said, and found the next time.
func TestEraseSaysWhatIsRunningStill(t *testing.T) {
	sendlimittest.Long(t)
	tell(t, func(s *story) {
		hang := make(chan struct{})
		s.recorder.AnswerWith(func(context.Context, notifier.Notification) notifier.Result {
			<-hang
			return notifier.Result{Status: notifier.Delivered}
		})
		s.work(func(o *tasks.WorkerOptions) { o.PushTimeout, o.ShutdownTimeout = time.Hour, 2*time.Hour })
		s.accepted(s.toAlice("hangs", time.Second))
		s.until(2 * time.Second)
		e := s.eraseAlice()
		require.Equal(s, 1, e.Running)
		require.Equal(s, 1, e.Messages)
		require.Empty(s, s.record("alice", "hangs"), "the content is gone all the same")
		require.Empty(s, s.mentions(canary))

		close(hang)
		e = s.eraseAlice()
		require.Zero(s, e.Running)
		s.nothingLeft()
	})
}

// A message that failed, was retried or waits in the archive, where another
// program may have put it.
func TestEraseFindsWhatFailed(t *testing.T) {
	tell(t, func(s *story) {
		s.recorder.Script(
			notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonGone},
			notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonUnavailable},
		)
		stop := s.work()
		s.accepted(s.toAlice("gone", time.Second), s.toAlice("again", 62*time.Second), s.toAlice("archived", time.Hour))
		s.until(63 * time.Second)
		stop()
		for generation := range s.watched("alice") {
			id, _, _ := strings.Cut(generation, "/")
			if strings.Contains(generation, "archived") {
				require.NoError(s, asynq.NewInspectorFromRedisClient(s.client).ArchiveTask(queue.Name(""), id))
			}
		}
		e := s.eraseAlice()
		require.Equal(s, 3, e.Messages)
		require.Equal(s, 2, e.Cancelled)
		require.Equal(s, 2, e.Tasks)
		require.Equal(s, 4, e.Entries, "the dead letter, and three of the index")
		s.nothingLeft()
	})
}

func TestExportAUser(t *testing.T) {
	tell(t, func(s *story) {
		s.work()
		m := s.toAlice("order:17", time.Hour)
		m.Category, m.ExpiresAt = "news", s.at(3*time.Hour)
		m.Campaign = "spring"
		s.accepted(s.toAlice("sent", time.Second), m, s.toAlice("cancelled", 5*time.Hour))
		s.moved("order:17", 2*time.Hour)
		s.cancelled("cancelled")
		s.until(10 * time.Second)
		synctest.Wait()
		document, err := s.users().Export(s.Context(), "alice", nil)
		require.NoError(s, err)
		for i := range document.Tasks {
			require.Len(s, document.Tasks[i].Generation, 12)
			document.Tasks[i].Generation = "g"
		}
		require.Len(s, document.WatchList, 1)
		document.WatchList[0].Generation = "g"
		text, err := json.Marshal(document)
		require.NoError(s, err)
		require.JSONEq(s, `{"user":"alice",
			"ended":[{"id":"cancelled","send_at":"2000-01-01T05:00:00.000Z"}],
			"timeline":[{"id":"sent","send_at":"2000-01-01T00:00:01.000Z"},{"id":"order:17","send_at":"2000-01-01T02:00:00.000Z"}],
			"messages":[
				{"id":"cancelled","user":"alice","status":"cancelled","send_at":"2000-01-01T05:00:00.000Z","ended_at":"2000-01-01T00:00:00.000Z","metadata":{"k":"`+canary+`"},"history":[
					{"at":"2000-01-01T00:00:00.000Z","change":"accepted","send_at":"2000-01-01T05:00:00.000Z"},
					{"at":"2000-01-01T00:00:00.000Z","change":"cancelled"}]},
				{"id":"order:17","user":"alice","status":"moved","send_at":"2000-01-01T02:00:00.000Z",
					"requested_at":"2000-01-01T01:00:00.000Z","moved_from":"2000-01-01T01:00:00.000Z","expires_at":"2000-01-01T03:00:00.000Z",
					"category":"news","campaign":"spring","metadata":{"k":"`+canary+`"},"title":"order:17","body":"`+canary+`","data":{"k":"`+canary+`"},"history":[
						{"at":"2000-01-01T00:00:00.000Z","change":"accepted","send_at":"2000-01-01T01:00:00.000Z"},
						{"at":"2000-01-01T00:00:00.000Z","change":"moved","former_send_at":"2000-01-01T01:00:00.000Z",
							"send_at":"2000-01-01T02:00:00.000Z"}]},
				{"id":"sent","user":"alice","status":"delivered","send_at":"2000-01-01T00:00:01.000Z","attempts":1,
					"delivered_at":"2000-01-01T00:00:01.000Z","lateness_ms":0,"metadata":{"k":"`+canary+`"},"history":[
						{"at":"2000-01-01T00:00:00.000Z","change":"accepted","send_at":"2000-01-01T00:00:01.000Z"},
						{"at":"2000-01-01T00:00:01.000Z","change":"delivered","attempt":1}]}],
			"watch_list":[{"id":"order:17","generation":"g","look_at":"2000-01-01T02:01:00.000Z"}],
			"tasks":[{"id":"order:17","generation":"g","state":"scheduled","due":"2000-01-01T02:00:00.000Z"}]}`, string(text))
		require.False(s, document.Empty())

		document, err = s.users().Export(s.Context(), "nobody", nil)
		require.NoError(s, err)
		require.True(s, document.Empty())
	})
}

// The progress of the two looks at the store is that of one.
func TestTheProgressOfAnErasure(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.toAlice("a", time.Hour))
		var last, total int64
		_, err := s.users().Erase(s.Context(), "alice", time.Minute, func(done, of int64) {
			require.GreaterOrEqual(s, done*max(total, 1), last*max(of, 1), "it goes forward")
			last, total = done, of
		})
		require.NoError(s, err)
		require.Equal(s, total, last)
	})
}

// What an export tells of alerts can be read by whoever it is about.
func TestAnExportTellsOfAlerts(t *testing.T) {
	tell(t, func(s *story) {
		p := policy.Default()
		p.Rules = []policy.Rule{{Limit: 10, Period: calendar.Day}}
		p.AlertTo = "ops@example.org"
		policies := settings.NewPolicies(s.client, keyspace.KeysUnder(""))
		require.NoError(s, policies.Apply(s.Context(), p))
		settings := settings.NewUsers(s.client, keyspace.KeysUnder(""))
		require.NoError(s, settings.Set(s.Context(), "alice", policy.UserSettings{Contact: "ada@example.org"}))

		day := s.at(48 * time.Hour).Truncate(24 * time.Hour)
		for n := range 8 {
			m := s.message(fmt.Sprint("m", n), 0)
			m.User, m.SendAt = "alice", day.Add(time.Duration(n)*time.Hour)
			s.accepted(m)
		}
		document, err := s.users().Export(s.Context(), "alice", nil)
		require.NoError(s, err)
		require.Equal(s, []userdata.AlertedDay{{Since: message.Time{Time: day}, Threshold: 80}}, document.Alerted)
		require.Len(s, document.Alerts, 1)
		require.False(s, document.Alerts[0].LookAt.IsZero())
		document.Alerts[0].LookAt = message.Time{}
		require.Equal(s, []userdata.Alert{{
			Alert: notices.FormatID(notices.UserQuota, day, 80, "alice"), Since: message.Time{Time: day},
			Threshold: 80, Used: 8, Limit: 10, Status: "waiting",
		}}, document.Alerts)
		require.Len(s, document.Gathered, 1)
		document.Gathered[0].GatheredAt = message.Time{}
		require.Equal(s, []userdata.GatheredAlert{{
			Policy: "default", Since: message.Time{Time: day}, Threshold: 80, Used: 8, Limit: 10,
		}}, document.Gathered)
	})
}
