package tasks_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/userdata"
)

// A task as testdata has it, which is never changed, is delivered: whichever
// version put it into the queue.
func TestATaskOfTheFirstVersionIsDelivered(t *testing.T) {
	tell(t, func(s *story) {
		text, err := os.ReadFile("queue/testdata/push_deliver.v1.json")
		require.NoError(s, err)
		const user, id, generation, pinned = "alice <a&b>/ü:{p}", "order:17", "Jz0k-3_9aQpL", 1795345871123
		due := s.at(5*time.Second + 123*time.Millisecond)
		payload := strings.Replace(string(text), strconv.Itoa(pinned), strconv.FormatInt(due.UnixMilli(), 10), 1)
		require.NotEqual(s, string(text), payload)

		timeline, err := s.Timeline(s.Context())
		require.NoError(s, err)
		content, err := os.ReadFile("message/testdata/content.v1.json")
		require.NoError(s, err)
		d, err := timeline.Reserve(s.Context(), sendlimit.Request{
			User: user, ID: id, At: due,
			Record: &sendlimit.Record{Generation: generation, Fingerprint: "f", Content: content},
		})
		require.NoError(s, err)
		require.True(s, d.Allowed)
		queue := asynq.NewClientFromRedisClient(s.client)
		_, err = queue.EnqueueContext(s.Context(), asynq.NewTask("push:deliver", []byte(payload)),
			asynq.Queue("sl:push"), asynq.TaskID(generation), asynq.ProcessAt(due.Add(-350*time.Millisecond)),
			asynq.MaxRetry(25), asynq.Timeout(30*time.Minute))
		require.NoError(s, err)

		s.work()
		s.until(20 * time.Second)
		s.delivered("order:17 +5.123s")
		n := s.recorder.Deliveries()[0].Notification
		require.Equal(s, user, n.User)
		require.Equal(s, "Shipped", n.Title)
		require.Equal(s, map[string]string{"order": "17", "empty": ""}, n.Data)
		s.ended(user, id, "d")
		require.Zero(s, s.queued())

		e, err := s.users().Erase(s.Context(), user, time.Minute, nil)
		require.NoError(s, err)
		require.Equal(s, userdata.Erasure{User: user, Messages: 1, Keys: 2, Entries: 1}, e)
	})
}

// restore gives the store what testdata/store.layout1.json has, which is never changed:
// programs of layout 1 left it 8 minutes after the begin of a story. The queue has all
// messages, however late they are due, and each content is in one field. Values of hashes
// and strings are in base64.
func (s *story) restore() {
	s.Helper()
	text, err := os.ReadFile("testdata/store.layout1.json")
	require.NoError(s, err)
	var keys map[string]any
	require.NoError(s, json.Unmarshal(text, &keys))
	plain := func(value any) string {
		coded, ok := value.(string)
		require.True(s, ok)
		text, err := base64.StdEncoding.DecodeString(coded)
		require.NoError(s, err)
		return string(text)
	}
	s.server.FlushAll()
	for key, value := range keys {
		switch value := value.(type) {
		case string:
			require.NoError(s, s.server.Set(key, plain(value)))
		case []any: // a list of one, or a set
			member, ok := value[0].(string)
			require.True(s, ok)
			require.Len(s, value, 1)
			if strings.HasSuffix(key, ":versions") {
				_, err = s.server.Push(key, member)
			} else {
				_, err = s.server.SetAdd(key, member)
			}
			require.NoError(s, err)
		case map[string]any:
			for member, of := range value {
				if score, sorted := of.(float64); sorted {
					_, err = s.server.ZAdd(key, score, member)
					require.NoError(s, err)
				} else {
					s.server.HSet(key, member, plain(of))
				}
			}
		}
	}
}

// What programs of layout 1 left is sent once, each at its time and with its content, moved
// and cancelled, also what their queue lost.
func TestAStoreOfLayout1IsDelivered(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		s.until(8 * time.Minute)
		s.restore()
		require.Error(s, store.CheckLayout(s.Context(), s.client, ""), "until a worker has raised it")
		require.NoError(s, store.UpgradeLayout(s.Context(), s.client, ""))
		require.Equal(s, 5, s.queued())
		for generation := range s.watched("alice") {
			if id, _, short := strings.Cut(generation, "/short/"); short {
				require.NoError(s, asynq.NewInspectorFromRedisClient(s.client).DeleteTask("sl:push", id))
			}
		}
		s.shared.Horizon = 2 * time.Minute
		s.Submitter = s.newSubmitter(submit.Options{})
		s.work(func(o *tasks.WorkerOptions) { o.RelayEvery = time.Minute })

		long := func(id string, after time.Duration, n int) message.Message {
			m := s.message(id, after)
			m.Body = strings.Repeat(id+" ", n)
			return m
		}
		o := s.submit(long("long", 80*time.Minute, 150))
		require.True(s, o.Replayed, "%+v", o)
		s.moved("middle", 35*time.Minute)
		s.cancelled("moved")
		s.accepted(long("cancelled", 85*time.Minute, 20)) // its id is free
		o, err := s.deadLetters().Retry(s.Context(), "alice", "gone")
		require.NoError(s, err)
		require.Equal(s, message.Retried, o.Outcome, "%+v", o)

		s.until(90 * time.Minute)
		got := make(map[string]time.Duration)
		for _, d := range s.recorder.Deliveries() {
			id := d.Notification.ID
			require.NotContains(s, got, id, "sent once")
			got[id] = d.At.Sub(s.began).Truncate(time.Minute)
			words := map[string]int{"again": 20, "gone": 20, "short": 1, "middle": 30, "long": 150, "cancelled": 20}[id]
			require.Equal(s, strings.Repeat(id+" ", words), d.Notification.Body)
			s.ended("alice", id, "d")
		}
		require.Equal(s, map[string]time.Duration{
			"gone": 8 * time.Minute, "again": 9 * time.Minute,
			"short":  21 * time.Minute, // a minute after its time it counts as lost
			"middle": 35 * time.Minute, "long": 80 * time.Minute, "cancelled": 85 * time.Minute,
		}, got)
		require.Empty(s, s.watched("alice"))
		require.Equal(s, 1, s.queued(), "the task of what was cancelled long before its time: it finds nothing to send")
	})
}
