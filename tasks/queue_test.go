package tasks_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// enqueue puts a task into the queue to run now, as any program might.
func (s *story) enqueue(kind, payload, id string) {
	s.Helper()
	_, err := asynq.NewClientFromRedisClient(s.client).Enqueue(asynq.NewTask(kind, []byte(payload)),
		asynq.Queue(queue.Name("")), asynq.TaskID(id))
	require.NoError(s, err)
}

// repeats runs a second task of a message's present generation.
func (s *story) repeats(user, id string) {
	s.Helper()
	payload := `{"v":1,"user":"` + user + `","id":"` + id + `","generation":"` + s.record(user, id)["g"] + `","due":0}`
	s.enqueue(queue.TypeDeliver, payload, keyspace.NewToken())
}

// A task runs twice at the same time, here and in another worker.
func TestTheSameTaskTwiceDeliversOnce(t *testing.T) {
	tell(t, func(s *story) {
		s.work()
		s.work()
		s.recorder.AnswerWith(func(context.Context, notifier.Notification) notifier.Result {
			time.Sleep(5 * time.Second)
			return notifier.Result{Status: notifier.Delivered}
		})
		s.accepted(s.message("a", 5*time.Second))
		for range 10 {
			s.repeats("alice", "a") // early
		}
		s.until(6 * time.Second)
		for range 10 {
			s.repeats("alice", "a") // while it is being sent
		}
		s.until(40 * time.Second)
		s.delivered("a +5s")
		require.Zero(s, s.queued(), "those that came again found it sent")
		require.Equal(s, "1", s.record("alice", "a")["n"])
	})
}

// A task without retries left is archived whatever IsFailure says.
// However often ours come again, it uses up none.
func TestComingAgainUsesUpNoRetry(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Second))
		generation := s.record("alice", "a")["g"]
		failures := 0
		s.server.Server().SetPreHook(func(c *server.Peer, command string, args ...string) bool {
			claims := command == "EVALSHA" && strings.HasSuffix(args[2], ":m:alice:a") && failures < 30
			if claims {
				failures++
				c.WriteError("ERR the store is out of order")
			}
			return claims
		})
		s.work()
		s.until(50 * time.Second)
		require.Greater(s, failures, 20)
		task, err := asynq.NewInspectorFromRedisClient(s.client).GetTaskInfo(queue.Name(""), generation)
		require.NoError(s, err)
		require.Zero(s, task.Retried)
		s.delivered()
		s.until(90 * time.Second)
		require.Equal(s, 30, failures)
		require.Len(s, s.recorder.Deliveries(), 1)
		require.Zero(s, s.queued())
	})
}

// A worker vanished with a task in hand, or the reply to
// its dequeue got lost. The queue finds it after its lease, and that uses up no
// retry either.
func TestTheTaskOfAVanishedWorkerIsSent(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.accepted(s.message("a", time.Second))
		generation := s.record("alice", "a")["g"]
		const keys = "asynq:{sl:push}:"
		_, err := s.client.TxPipelined(s.Context(), func(pipe redis.Pipeliner) error {
			pipe.ZRem(s.Context(), keys+"scheduled", generation)
			pipe.LPush(s.Context(), keys+"active", generation)
			pipe.ZAdd(s.Context(), keys+"lease", redis.Z{Score: float64(s.at(30 * time.Second).Unix()), Member: generation})
			pipe.HSet(s.Context(), keys+"t:"+generation, "state", "active")
			return nil
		})
		require.NoError(s, err)
		s.work()
		s.until(150 * time.Second)
		require.Len(s, s.recorder.Deliveries(), 1)
		require.Zero(s, s.queued())
		s.ended("alice", "a", "d")
	})
}

// The queue's own uniqueness takes a lock that outlives its task.
func TestTasksTakeNoUniqueLocks(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Minute), s.message("b", time.Hour))
		s.moved("a", 5*time.Minute)
		s.cancelled("b")
		for _, key := range s.server.Keys() {
			require.NotContains(s, key, "unique")
		}
	})
}

// A payload that names no message is dropped: it would be no better the next
// time.
func TestGarbageInTheQueueIsDropped(t *testing.T) {
	tell(t, func(s *story) {
		for _, payload := range []string{
			"", "x", "{}", "[]", `"alice"`, `{"v":1}`, `{"v":0,"user":"alice","id":"a","generation":"g","due":0}`,
			`{"v":1,"user":"","id":"a","generation":"g","due":0}`,
			`{"v":1,"user":"a\u0000","id":"a","generation":"g","due":0}`,
			`{"v":1,"user":"alice","id":"a b","generation":"g","due":0}`,
			`{"v":1,"user":"alice","id":"a","generation":"","due":0}`,
			`{"v":1,"user":"alice","id":"a","generation":"g g","due":0}`,
			`{"v":1,"user":"alice","id":"a","generation":"g","due":"soon"}`,
			`{"v":1,"user":"alice","id":"a","generation":"g","due":0}`, // well-formed, but stands for nothing
			`{"v":1,"user":"alice","id":"a","generation":"g","due":-9223372036854775808}`,
		} {
			s.enqueue(queue.TypeDeliver, payload, keyspace.NewToken())
		}
		before := s.places()
		s.work()
		s.until(time.Second)
		require.Zero(s, s.queued())
		s.delivered()
		require.Equal(s, before, s.places())
	})
}

// During an upgrade an older program may get what a newer one
// wrote. It leaves it to that.
func TestTasksOfANewerProgramComeAgain(t *testing.T) {
	tell(t, func(s *story) {
		s.enqueue(queue.TypeDeliver, `{"v":3,"message":"who knows"}`, "newer-version")
		s.enqueue("push:digest", `{"v":1}`, "newer-type")
		stop := s.work()
		s.until(time.Minute)
		inspector := asynq.NewInspectorFromRedisClient(s.client)
		for _, id := range []string{"newer-version", "newer-type"} {
			task, err := inspector.GetTaskInfo(queue.Name(""), id)
			require.NoError(s, err)
			require.Zero(s, task.Retried)
			require.Contains(s, task.LastErr, "a newer program wrote the task")
		}
		require.Equal(s, 2, s.queued())
		stop()
	})
}

// Prefixes keep environments on one store apart, their queues included.
func TestPrefixesShareNothing(t *testing.T) {
	tell(t, func(s *story) {
		policies := settings.NewPolicies(s.client, keyspace.KeysUnder("test"))
		require.NoError(s, policies.Apply(s.Context(), policy.Default()))
		test := s.shared
		test.Prefix = "test"
		other := s.newSubmitterOn(taskstest.Open(s, s.client, test), submit.Options{})
		stop := s.work()
		m := s.message("a", time.Second)
		o, err := other.Submit(s.Context(), m)
		require.NoError(s, err)
		require.Equal(s, message.Accepted, o.Outcome)
		s.until(10 * time.Second)
		s.delivered()
		stop()
		later := s.message("a", 20*time.Second)
		s.accepted(later)
		s.workOn(taskstest.Open(s, s.newClient(), test))
		s.until(30 * time.Second)
		require.Len(s, s.recorder.Deliveries(), 1)
		require.Equal(s, m.SendAt, s.recorder.Deliveries()[0].Notification.SendAt)
		synctest.Wait()
		require.Equal(s, 1, s.queued())
	})
}

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
