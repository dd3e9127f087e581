package tasks_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// relaying has a worker look after messages as often as one does by default.
func relaying(o *tasks.WorkerOptions) { o.RelayEvery = 0 }

// loseTasks takes every task out of the queue, as a hand could.
func (s *story) loseTasks() int {
	s.Helper()
	synctest.Wait() // messages are confirmed in the background, and what is confirmed stays
	inspector := asynq.NewInspectorFromRedisClient(s.client)
	lost := 0
	for _, remove := range []func(string) (int, error){inspector.DeleteAllScheduledTasks, inspector.DeleteAllPendingTasks, inspector.DeleteAllRetryTasks} {
		for _, name := range s.queues() {
			n, err := remove(name)
			require.NoError(s, err)
			lost += n
		}
	}
	return lost
}

// The lists of the queue are removed by hand, and the tasks themselves left:
// they say that they wait, and nobody will take them.
func TestRelayFindsWhatIsInNoList(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for _, list := range []string{"scheduled", "pending"} {
		t.Run(list, func(t *testing.T) {
			tellSlowly(t, func(s *story) {
				s.accepted(s.message("a", time.Minute))
				if list == "pending" {
					s.until(time.Minute)
					info, err := asynq.NewInspectorFromRedisClient(s.client).GetTaskInfo(queue.Name(""), s.record("alice", "a")["g"])
					require.NoError(s, err)
					require.NoError(s, asynq.NewInspectorFromRedisClient(s.client).RunTask(queue.Name(""), info.ID))
				}
				require.EqualValues(s, 1, s.client.Del(s.Context(), "asynq:{"+queue.Name("")+"}:"+list).Val())
				s.work(relaying)
				s.until(2*time.Minute - time.Millisecond)
				s.delivered()
				s.until(3 * time.Minute)
				require.Len(s, s.recorder.Deliveries(), 1)
				s.ended("alice", "a", "d")
			})
		})
	}
}

// inOrder requires that these were delivered in this order.
func (s *story) inOrder(ids ...string) {
	s.Helper()
	got := []string{}
	for _, d := range s.recorder.Deliveries() {
		got = append(got, d.Notification.ID)
	}
	require.Equal(s, ids, got)
}

func (s *story) watchKey(user string) string {
	s.Helper()
	keys := s.keys()
	return keys.Near(user)
}

func (s *story) member(user, id string) string {
	return keyspace.WatchMember(user, id, s.record(user, id)["g"])
}

// A task is archived by hand, or by a program that knows no better: it still
// exists, and never runs.
func TestAMessageIsSentThoughItsTaskIsArchived(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		s.work(relaying)
		s.accepted(s.message("a", time.Minute))
		s.until(time.Second)
		inspector := asynq.NewInspectorFromRedisClient(s.client)
		require.NoError(s, inspector.ArchiveTask(queue.Name(""), s.record("alice", "a")["g"]))
		s.until(3 * time.Minute)
		require.Len(s, s.recorder.Deliveries(), 1)
		s.ended("alice", "a", "d")
	})
}

// A worker died, or the reply to it got lost, between taking a task and claiming
// its message: the queue shows the task as running until its lease is over, and
// would find it minutes later.
func TestRelayDoesNotWaitForATaskOfADeadWorker(t *testing.T) {
	sendlimittest.Long(t)
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Second))
		s.until(time.Second)
		s.takeTask(s.record("alice", "a")["g"])
		s.work(relaying)
		s.until(61*time.Second - time.Millisecond)
		s.delivered()
		s.until(68 * time.Second)
		require.Len(s, s.recorder.Deliveries(), 1)
		s.until(4 * time.Minute)
		require.Len(s, s.recorder.Deliveries(), 1, "the queue finds its task too: it is stale")
		require.Zero(s, s.queued())
	})
}

// takeTask takes a task as a worker does of which nothing is heard any more.
func (s *story) takeTask(id string) {
	s.Helper()
	key := "asynq:{" + queue.Name("") + "}:"
	require.NoError(s, asynq.NewInspectorFromRedisClient(s.client).RunTask(queue.Name(""), id))
	require.Equal(s, id, s.client.LMove(s.Context(), key+"pending", key+"active", "right", "left").Val())
	require.NoError(s, s.client.HSet(s.Context(), key+"t:"+id, "state", "active").Err())
	lease := float64(time.Now().Add(30 * time.Second).Unix())
	require.NoError(s, s.client.ZAdd(s.Context(), key+"lease", redis.Z{Score: lease, Member: id}).Err())
}

// What a worker has in hand and waits with for a delivery slot is not lost.
func TestRelayLeavesWhatWaitsForASlot(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		s.recorder.AnswerWith(func(ctx context.Context, _ notifier.Notification) notifier.Result {
			select {
			case <-time.After(10 * time.Second):
			case <-ctx.Done():
			}
			return notifier.Result{Status: notifier.Delivered}
		})
		s.work(relaying, func(o *tasks.WorkerOptions) {
			o.Deliveries, o.PushTimeout, o.ShutdownTimeout = 1, time.Minute, 2*time.Minute
		})
		generations := map[string]string{}
		for i := range 12 {
			m := s.message("m", time.Second)
			m.User = strconv.Itoa(i)
			s.accepted(m)
			generations[m.User] = s.record(m.User, "m")["g"]
		}
		s.until(90 * time.Second)
		for user, generation := range generations {
			require.Equal(s, generation, s.record(user, "m")["g"])
		}
		s.until(3 * time.Minute)
		require.Len(s, s.recorder.Deliveries(), 12)
	}, "9/minute")
}

// The queue does not even exist: the first submit there ever was did not get to
// hand its message over, or somebody has removed everything there was of it.
func TestRelayWhereThereIsNoQueue(t *testing.T) {
	t.Parallel()
	for _, removed := range []string{"before there was one", "by hand"} {
		t.Run(removed, func(t *testing.T) {
			tellSlowly(t, func(s *story) {
				if removed == "by hand" {
					s.work(relaying)
				}
				s.accepted(s.message("a", 20*time.Second))
				s.until(time.Second)
				for _, key := range s.server.Keys() {
					if strings.HasPrefix(key, "asynq:") {
						s.server.Del(key)
					}
				}
				if removed != "by hand" {
					s.server.FlushAll()
					s.apply()
					t, err := s.Timeline(s.Context())
					require.NoError(s, err)
					_, err = t.Reserve(s.Context(), sendlimit.Request{
						User: "alice", ID: "a", At: s.at(20 * time.Second),
						Record: &sendlimit.Record{Generation: "g1", Content: []byte(`{"title":"a"}`)},
					})
					require.NoError(s, err)
					s.work(relaying)
				}
				s.until(2 * time.Minute)
				require.Len(s, s.recorder.Deliveries(), 1)
				s.ended("alice", "a", "d")
			})
		})
	}
}

// The worker takes the store's clock to be later than it is: it does not go
// round and round until an entry is due.
func TestRelayWithAClockThatIsAhead(t *testing.T) {
	tell(t, func(s *story) {
		var looks atomic.Int64
		s.server.Server().SetPreHook(func(_ *server.Peer, command string, words ...string) bool {
			if command == "ZRANGE" && strings.HasSuffix(words[0], ":watch") {
				looks.Add(1)
			}
			return false
		})
		s.server.SetTime(s.at(-3 * time.Second)) // and stands still
		_, err := s.server.ZAdd(s.watchKey("alice"), float64(s.at(-2*time.Second).UnixMilli()), "g1/a/alice")
		require.NoError(s, err)
		s.client.HSet(s.Context(), "sl:{p"+fmt.Sprintf("%04d", keyspace.Partition("alice"))+"}:m:alice:a", "g", "g1", "t", "1")
		s.work(relaying)
		s.until(20 * time.Second)
		require.Less(s, looks.Load(), int64(10*keyspace.Partitions))
	})
}

// A worker died in the middle of a delivery and its task is gone as well: the
// relay finds the message when the lease is over.
func TestRelayTakesOverWhatAWorkerLeft(t *testing.T) {
	t.Parallel()
	for _, uncertain := range []deliver.OnUncertain{deliver.ResendUncertain, deliver.SkipUncertain} {
		t.Run(string(uncertain), func(t *testing.T) {
			tellSlowly(t, func(s *story) {
				s.accepted(s.message("a", time.Minute))
				s.until(time.Minute)
				s.leave("a", 20*time.Second)
				require.Equal(s, 1, s.loseTasks())
				s.work(relaying, func(o *tasks.WorkerOptions) { o.OnUncertain = uncertain })
				s.until(80*time.Second - time.Millisecond)
				s.delivered()
				s.until(90 * time.Second)
				if uncertain == deliver.SkipUncertain {
					s.delivered()
					s.ended("alice", "a", "u")
					require.Equal(s, "uncertain", s.record("alice", "a")["w"])
					require.Equal(s, []string{"a"}, s.places(), "the provider may have it: it counts")
					require.True(s, s.submit(s.message("a", time.Minute)).Replayed, "and its id is taken")
					return
				}
				require.Len(s, s.recorder.Deliveries(), 1)
				require.Equal(s, 2, s.recorder.Deliveries()[0].Notification.Attempt)
				s.ended("alice", "a", "d")
			})
		})
	}
}

// leave claims a message of alice as a worker that dies then.
func (s *story) leave(id string, lease time.Duration) {
	s.Helper()
	gate, err := messages.NewGate(s.client, sendlimit.Options{Records: true})
	require.NoError(s, err)
	claim, err := gate.Claim(s.Context(), messages.Delivery{
		User: "alice", ID: id, Generation: s.record("alice", id)["g"], Nonce: keyspace.NewToken(),
	}, lease, time.Time{})
	require.NoError(s, err)
	require.Equal(s, messages.Send, claim.Verdict)
}

// A message whose delivery kills its worker each time is given up after as many
// attempts as any other.
func TestAMessageThatKillsWorkersIsGivenUp(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		s.recorder.AnswerWith(func(context.Context, notifier.Notification) notifier.Result { panic("again") })
		s.work(retrying(3), func(o *tasks.WorkerOptions) { o.PushTimeout, o.RelayEvery = time.Second, 30*time.Second })
		s.accepted(s.message("a", time.Second))
		s.until(10 * time.Minute)
		require.Len(s, s.recorder.Deliveries(), 3)
		s.ended("alice", "a", "u")
		require.Equal(s, []string{"a"}, s.places())
		require.Zero(s, s.queued())
	})
}

// The store came back without the record of a message. A relay frees its place, so that the
// user gets others near it, and leaves all other places.
func TestRelayFreesPlacesWithoutARecord(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.work(relaying, func(o *tasks.WorkerOptions) { o.PlacesEvery = time.Minute })
		s.accepted(s.message("lost", 5*time.Minute))
		s.accepted(s.message("kept", 6*time.Minute))
		key := keyspace.KeysUnder(keyspace.DefaultPrefix).Record("alice", "lost")
		require.True(s, s.server.Del(key))
		refused := s.submit(s.message("b", 5*time.Minute-time.Second))
		require.Equal(s, fault.CodeSendLimit, refused.Code)
		s.until(time.Minute + time.Second)
		s.accepted(s.message("b", 5*time.Minute-time.Second))
		s.until(6*time.Minute + time.Second)
		s.delivered("b +4m59s", "kept +6m0s")
	})
}

// What a relay can't read or look after stays where it is. It does not keep the relay from
// what is behind it, though there is more of it than a relay reads at a time.
func TestARelayPassesOverWhatFails(t *testing.T) {
	tell(t, func(s *story) {
		keys := s.keys()
		const each = 110 // more than a relay reads at a time
		for k := range each {
			broken := fmt.Sprint("broken", k)
			require.NoError(s, s.server.Set(keys.Record("alice", broken), "no hash"))
			for _, member := range []string{"v9:" + broken, keyspace.WatchMember("alice", broken, "g")} {
				_, err := s.server.ZAdd(s.watchKey("alice"), float64(s.at(0).UnixMilli()), member)
				require.NoError(s, err)
			}
		}
		s.accepted(s.message("a", 20*time.Second))
		require.Equal(s, 1, s.loseTasks())
		_, err := s.server.ZAdd(s.watchKey("alice"), float64(s.at(time.Second).UnixMilli()), s.member("alice", "a"))
		require.NoError(s, err)
		log := new(bytes.Buffer)
		s.shared.Logger = slog.New(slog.NewTextHandler(log, nil))
		s.work(relaying)
		s.until(25 * time.Second)
		require.Len(s, s.recorder.Deliveries(), 1)
		s.ended("alice", "a", "d")
		members, err := s.server.ZMembers(s.watchKey("alice"))
		require.NoError(s, err)
		require.Len(s, members, 2*each)
		require.Equal(s, 1, strings.Count(log.String(), "has entries that this program can't read"))
	})
}

// relayApart runs a relay that delivers nothing.
func (s *story) relayApart() (stop func()) {
	s.Helper()
	relay, err := tasks.NewRelay(taskstest.Open(s, s.newClient(), s.shared), tasks.RelayOptions{})
	require.NoError(s, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	ended := make(chan error, 1)
	go func() { ended <- relay.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(s, <-ended)
	})
	s.Cleanup(stop)
	return stop
}

func withoutRelay(o *tasks.WorkerOptions) { o.WithoutRelay = true }

// A worker without a relay delivers what is near, and what a relay hands over.
func TestARelayApartFromTheWorkers(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		s.horizon(2 * time.Minute)
		s.work(withoutRelay)
		s.accepted(s.message("near", time.Minute), s.message("far", 5*time.Minute), s.message("lost", 10*time.Minute))
		s.until(4 * time.Minute)
		s.delivered("near +1m0s")
		require.Zero(s, s.queued(), "nobody hands the others over, though one is due within the horizon")

		stop := s.relayApart()
		s.until(6 * time.Minute)
		s.delivered("near +1m0s", "far +5m0s")
		s.until(9 * time.Minute)
		require.Equal(s, 1, s.loseTasks())
		s.until(11*time.Minute + 30*time.Second)
		s.ended("alice", "near", "d")
		s.ended("alice", "far", "d")
		s.ended("alice", "lost", "d")
		stop()
	})
}

func TestARelayNeedsTimes(t *testing.T) {
	tell(t, func(s *story) {
		for want, o := range map[string]tasks.RelayOptions{
			"relay_every": {RelayEvery: time.Microsecond}, "sweep_every": {SweepEvery: -1}, "places_every": {PlacesEvery: -1},
		} {
			_, err := tasks.NewRelay(taskstest.Open(s, s.client, s.shared), o)
			var invalid *fault.InvalidError
			require.ErrorAs(s, err, &invalid)
			require.Equal(s, want, invalid.Field)
		}
	})
}
