package tasks_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
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
