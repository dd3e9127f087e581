package tasks_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// useQueues makes programs that start from now on use n queues.
func (s *story) useQueues(n int) {
	s.Helper()
	s.shared.Queues = n
	s.Submitter = s.newSubmitter(submit.Options{})
}

// sizes counts the tasks of each queue that has any.
func (s *story) sizes() map[string]int {
	s.Helper()
	synctest.Wait()
	inspector := asynq.NewInspectorFromRedisClient(s.client)
	sizes := make(map[string]int)
	for _, name := range s.queues() {
		info, err := inspector.GetQueueInfo(name)
		require.NoError(s, err)
		if info.Size > 0 {
			sizes[name] = info.Size
		}
	}
	return sizes
}

// Messages are spread over several queues, by their users. Those of a queue that are due
// together share a task, and each goes out once, at its own millisecond.
func TestMessagesAreSpreadOverQueues(t *testing.T) {
	sendlimittest.Long(t)
	tell(t, func(s *story) {
		s.useQueues(3)
		s.batch(60)
		s.work(relaying)
		s.until(2*time.Minute + 30*time.Second)
		sizes := s.sizes()
		require.Len(s, sizes, 3)
		for _, name := range queue.Names("", 3) {
			require.GreaterOrEqual(s, sizes[name], 1)
			require.LessOrEqual(s, sizes[name], 2, "they share tasks")
		}
		counted, err := queue.Sizes(s.Context(), s.client, "")
		require.NoError(s, err)
		require.Equal(s, sizes["sl:push"]+sizes["sl:push:2"]+sizes["sl:push:41"], counted["scheduled"])
		servers, err := queue.Servers(s.client, "")
		require.NoError(s, err)
		require.Len(s, servers, 1, "one worker, however many queues it serves")
		s.until(4 * time.Minute)
		require.Len(s, s.recorder.Deliveries(), 60)
		arrivals := s.arrivals()
		for i := range 60 {
			m := s.toUser(i, 0)
			require.Equal(s, []time.Duration{3*time.Minute + time.Duration(i)*time.Millisecond}, arrivals[m.User])
		}
		require.Empty(s, s.sizes())
	})
}

// The number of queues changes between two runs, or programs differ in it. What is in queues
// of another number is served in time, found by the relay and not doubled; a cancelled or
// moved message goes out as it should.
func TestQueuesOfAnotherNumberAreServed(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for _, numbers := range [][]int{{1, 3}, {3, 1}} {
		t.Run(fmt.Sprint(numbers), func(t *testing.T) {
			tell(t, func(s *story) {
				submitAll := func(from int, after time.Duration) {
					for i := range 30 {
						s.accepted(s.toUser(from+i, after))
					}
				}
				s.useQueues(numbers[0])
				submitAll(0, 90*time.Second)
				submitAll(30, 4*time.Minute)
				require.Len(s, s.sizes(), numbers[0])

				former := s.Submitter // a program that is not restarted
				s.useQueues(numbers[1])
				generation := s.record("user-30", "m")["g"]
				stop := s.work(func(o *tasks.WorkerOptions) { o.RelayEvery = 20 * time.Second })
				cancelled, moved := s.toUser(31, 0), s.toUser(32, 0)
				_, err := s.Cancel(s.Context(), cancelled.User, "m")
				require.NoError(s, err)
				_, err = s.Move(s.Context(), moved.User, "m", s.began.Add(5*time.Minute))
				require.NoError(s, err)
				s.until(2 * time.Minute)
				require.Len(s, s.recorder.Deliveries(), 30)
				for user, at := range s.arrivals() {
					require.Equal(s, []time.Duration{90 * time.Second}, at, user)
				}
				require.Equal(s, generation, s.record("user-30", "m")["g"])

				at := time.Now().Add(20 * time.Second)
				o, err := former.Submit(s.Context(), message.Message{User: "late", ID: "m", Title: "t", SendAt: at})
				require.NoError(s, err)
				require.Equal(s, message.Accepted, o.Outcome)
				s.until(6 * time.Minute)
				stop()
				arrivals := s.arrivals()
				require.Len(s, s.recorder.Deliveries(), 60)
				require.NotContains(s, arrivals, cancelled.User)
				require.Equal(s, []time.Duration{5 * time.Minute}, arrivals[moved.User])
				require.Equal(s, []time.Duration{4 * time.Minute}, arrivals["user-59"])
				require.Equal(s, []time.Duration{at.Sub(s.began)}, arrivals["late"])
				require.Empty(s, s.sizes())
			})
		})
	}
}

// The relay takes nothing for lost that is in a queue of another number, alone or in a batch,
// although no worker fetches it.
func TestTheRelayFindsTasksInQueuesOfAnotherNumber(t *testing.T) {
	sendlimittest.Long(t)
	tell(t, func(s *story) {
		s.useQueues(3)
		s.batch(10)
		s.until(2*time.Minute + time.Second)
		stop := s.work(relaying)
		s.until(2*time.Minute + 30*time.Second)
		stop()
		s.accepted(s.toUser(10, 160*time.Second))
		s.until(6 * time.Minute) // no worker fetched them
		for _, n := range []int{1, 2, 3, 4} {
			q, err := queue.New(s.client, "", n, queue.Polling{})
			require.NoError(s, err)
			work, err := q.Workload(s.Context())
			require.NoError(s, err)
			for i := range 11 {
				user := s.toUser(i, 0).User
				has, err := q.Has(s.Context(), user, s.record(user, "m")["g"], work)
				require.NoError(s, err)
				require.True(s, has, "%s with %d queues", user, n)
				has, err = q.Has(s.Context(), user, "another", work)
				require.NoError(s, err)
				require.False(s, has)
			}
		}
	})
}

// The tasks of a user are found and deleted in each queue.
func TestTasksOfAUserInAnyQueue(t *testing.T) {
	tell(t, func(s *story) {
		for _, n := range []int{1, 3, 64} {
			s.useQueues(n)
			for i := range 40 {
				m := s.toUser(i, time.Duration(n)*time.Hour)
				m.ID = fmt.Sprint("m", n)
				s.accepted(m)
			}
		}
		before := s.sizes()
		require.Contains(s, before, queue.Name(""))
		require.Greater(s, len(before), 20)
		for _, n := range []int{1, 5} {
			s.useQueues(n)
			q := taskstest.Open(s, s.client, s.shared).Queue
			user := s.toUser(n, 0).User
			found, err := q.TasksOf(user).List(s.Context())
			require.NoError(s, err)
			require.Len(s, found, 3)
			deleted, running, err := q.TasksOf(user).Delete(s.Context())
			require.NoError(s, err)
			require.Equal(s, []int{3, 0}, []int{deleted, running})
		}
	})
}
