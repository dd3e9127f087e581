package tasks_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// away requires the error of a store that can't be used, with its code.
func (s *story) away(err error, code fault.Code) {
	s.Helper()
	var away *fault.UnavailableError
	require.ErrorAs(s, err, &away)
	require.NotEmpty(s, away.Detail)
	o := message.OutcomeOf(err)
	require.Equal(s, message.Errored, o.Outcome)
	require.Equal(s, code, o.Code)
}

// Without its store a submit fails, with an error of its own. It
// accepts nothing, and neither does it refuse.
func TestStoreDownFailsClosed(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.accepted(s.message("before", time.Hour))
		synctest.Wait()
		before := s.server.Dump()
		says := func(text string) func() { return func() { s.server.SetError(text) } }
		for _, down := range []struct {
			begin, end func()
			code       fault.Code
		}{
			{s.network.cut, s.network.mend, fault.CodeUnavailable},
			{says("LOADING Redis is loading the dataset in memory"), says(""), fault.CodeUnavailable},
			{says("READONLY You can't write against a read only replica."), says(""), fault.CodeUnavailable},
			{says("OOM command not allowed when used memory > 'maxmemory'."), says(""), fault.CodeStoreFull},
		} {
			down.begin()
			_, err := s.Submit(s.Context(), s.message("a", 2*time.Hour))
			s.away(err, down.code)
			_, err = s.Check(s.Context(), s.message("a", 2*time.Hour))
			s.away(err, down.code)
			_, err = s.Cancel(s.Context(), "alice", "before")
			s.away(err, down.code)
			_, err = s.Move(s.Context(), "alice", "before", s.at(2*time.Hour))
			s.away(err, down.code)
			down.end()
			time.Sleep(3 * time.Second) // the rules are old by now, and loaded again
		}
		require.Equal(s, before, s.server.Dump())
		s.accepted(s.message("a", 2*time.Hour))
	})
}

// A caller that gave up is told so, and not that the store is down.
func TestSubmitOfACallerThatGaveUp(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.accepted(s.message("a", time.Hour))
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		_, err := s.Submit(ctx, s.message("b", 2*time.Hour))
		require.ErrorIs(s, err, context.Canceled)
		require.Equal(s, message.Outcome{Outcome: message.Errored, Detail: err.Error()}, message.OutcomeOf(err))
	})
}

// A worker that cannot settle ends all the same when it is told to, within its
// shutdown time.
func TestStoppedDuringAnOutage(t *testing.T) {
	tellSlowly(t, func(s *story) {
		stop := s.work(func(o *tasks.WorkerOptions) { o.PushTimeout, o.ShutdownTimeout = time.Second, 3*time.Second })
		s.recorder.AnswerWith(func(context.Context, notifier.Notification) notifier.Result {
			s.network.cut()
			return notifier.Result{Status: notifier.Delivered}
		})
		s.accepted(s.message("a", time.Second))
		s.until(5 * time.Second)
		began := time.Now()
		stop()
		require.Less(s, time.Since(began), 10*time.Second)
		s.network.mend()
	})
}

// What is noted late about accepted messages does not hold up the end of a
// program whose store is gone.
func TestCloseDuringAnOutage(t *testing.T) {
	tellSlowly(t, func(s *story) {
		submitter := s.newSubmitter(submit.Options{})
		s.server.Server().SetPreHook(func(_ *server.Peer, command string, args ...string) bool {
			if command == "ZADD" && strings.EqualFold(args[1], "XX") { // what confirms
				time.Sleep(time.Hour)
			}
			return false
		})
		for i := range 1000 {
			m := s.message("a", time.Hour)
			m.User = strings.Repeat("u", i%256+1)
			m.ID = keyspace.NewToken()
			_, err := submitter.Submit(s.Context(), m)
			require.NoError(s, err)
		}
		began := time.Now()
		require.NoError(s, submitter.Close())
		require.NoError(s, submitter.Close(), "closing twice is harmless")
		require.LessOrEqual(s, time.Since(began), 6*time.Second)
		o, err := submitter.Submit(s.Context(), s.message("after", 2*time.Hour))
		require.NoError(s, err)
		require.Equal(s, message.Accepted, o.Outcome, "and so is a submit after it")
		s.server.Server().SetPreHook(nil)
	}, "1000/minute")
}

// No user, no content and no secret is in the log, whatever happens.
func TestLogNamesNobody(t *testing.T) {
	tellSlowly(t, func(s *story) {
		log := new(bytes.Buffer)
		logger := slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		s.shared.Logger = logger
		s.Submitter = s.newSubmitter(submit.Options{})
		stop := s.work(retrying(2))
		m := message.Message{ID: "m1", User: "Malory", SendAt: s.at(time.Second), Title: "Tidings", Body: "Bodily"}
		m.Data = map[string]string{"Keyword": "Valued"}
		s.recorder.Script(unavailable(), unavailable())
		s.accepted(m)
		s.until(10 * time.Second)
		m.ID, m.SendAt = "m2", s.at(20*time.Second)
		s.accepted(m)
		s.until(15 * time.Second)
		s.enqueue(queue.TypeDeliver, `{"v":1,"user":"Malory\u0000","id":"Tidings","generation":"g","due":0}`, "garbage")
		s.until(16 * time.Second)
		s.network.cut()
		s.until(25 * time.Second)
		s.network.mend()
		s.until(2 * time.Minute)
		stop()
		require.Len(s, s.recorder.Deliveries(), 3)
		require.Contains(s, log.String(), "a delivery failed")
		require.Contains(s, log.String(), "dropped a task")
		for _, word := range []string{"Malory", "Tidings", "Bodily", "Keyword", "Valued"} {
			require.NotContains(s, log.String(), word)
		}
	})
}

// After a restore from an old backup: what was due before a time has been sent.
func TestDropDueBefore(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("sent-before", time.Minute), s.message("to-send", time.Hour))
		s.until(30 * time.Minute)
		s.workWhereDue(2*time.Hour, func(o *tasks.WorkerOptions) { o.DropDueBefore = s.at(30 * time.Minute) })
		s.delivered("to-send +1h0m0s")
		s.ended("alice", "sent-before", "u")
		require.Equal(s, messages.ReasonRestored, s.record("alice", "sent-before")["w"])
		require.Equal(s, []string{"sent-before", "to-send"}, s.places(), "it counts: it was sent")
	})
}

// nodeAway is a client hook: the node of a cluster that has some of the keys is away.
type nodeAway struct {
	has  func(key string) bool
	away atomic.Bool
}

// without makes s's clients made from now on know that a node is away, while the hook says
// so.
func (s *story) without(has func(key string) bool) *nodeAway {
	n := &nodeAway{has: has}
	s.hook = n
	return n
}

// evenPartitions are the keys of every second partition.
func evenPartitions(key string) bool {
	found := partitionTag.FindStringSubmatch(key)
	if found == nil {
		return false
	}
	n, _ := strconv.Atoi(found[1]) // digits
	return n%2 == 0
}

var partitionTag = regexp.MustCompile(`^sl:\{p(\d+)\}`)

// usersOf returns n users in even partitions, or in others.
func usersOf(even bool, n int) []string {
	var users []string
	for i := 0; len(users) < n; i++ {
		if user := fmt.Sprint("user-", i); keyspace.Partition(user)%2 == 0 == even {
			users = append(users, user)
		}
	}
	return users
}

func (n *nodeAway) DialHook(next redis.DialHook) redis.DialHook { return next }

func (n *nodeAway) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if n.refuses(cmd) {
			return cmd.Err()
		}
		return next(ctx, cmd)
	}
}

func (n *nodeAway) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		first := error(nil)
		sent := slices.DeleteFunc(slices.Clone(cmds), func(cmd redis.Cmder) bool {
			refused := n.refuses(cmd)
			if refused && first == nil {
				first = cmd.Err()
			}
			return refused
		})
		if len(sent) > 0 {
			if err := next(ctx, sent); first == nil {
				first = err
			}
		}
		return first
	}
}

func (n *nodeAway) refuses(cmd redis.Cmder) bool {
	if !n.away.Load() {
		return false
	}
	for _, word := range cmd.Args() {
		if text, ok := word.(string); ok && n.has(text) {
			cmd.SetErr(&store.NodeAwayError{Address: "192.0.2.1:6379"})
			return true
		}
	}
	return false
}

// More messages are due for users of a node that is away than a worker takes at a time,
// and it has one delivery slot. The others' are sent in time.
func TestTasksOfANodeThatIsAwayHoldUpNobody(t *testing.T) {
	t.Parallel()
	for _, users := range []int{40, 600} {
		t.Run(strconv.Itoa(users), func(t *testing.T) {
			if users > 40 {
				sendlimittest.Long(t)
			}
			tell(t, func(s *story) { tellOfANodeThatIsAway(s, users) })
		})
	}
}

func tellOfANodeThatIsAway(s *story, users int) {
	s.Helper()
	node := s.without(evenPartitions)
	s.work(func(o *tasks.WorkerOptions) { o.Deliveries = 1 })
	away, there := usersOf(true, users), usersOf(false, 20)
	due := make(map[string]time.Time)
	promise := func(user string, after time.Duration) {
		m := s.message("m", after)
		m.User, due[user] = user, m.SendAt
		s.accepted(m)
	}
	for _, user := range away {
		promise(user, 10*time.Second)
	}
	for i, user := range there {
		promise(user, time.Duration(11+i)*time.Second)
	}
	s.until(9 * time.Second)
	node.away.Store(true)
	s.until(31 * time.Second)
	require.Len(s, s.recorder.Deliveries(), len(there))
	for _, d := range s.recorder.Deliveries() {
		require.Less(s, d.At.Sub(due[d.Notification.User]), time.Second, d.Notification.User)
	}
	node.away.Store(false)
	s.until(2 * time.Minute)
	sent := make(map[string]int)
	for _, d := range s.recorder.Deliveries() {
		sent[d.Notification.User]++
	}
	for user := range due {
		require.Equal(s, 1, sent[user], user)
	}
	require.Zero(s, s.queued())
}

// A provider answered, and the node that is to know is away: the result is kept until it is
// back, and the only delivery slot goes to another message.
func TestAResultIsKeptWithoutADeliverySlot(t *testing.T) {
	tell(t, func(s *story) {
		node := s.without(evenPartitions)
		away, there := usersOf(true, 1)[0], usersOf(false, 1)[0]
		s.recorder.AnswerWith(func(_ context.Context, n notifier.Notification) notifier.Result {
			node.away.Store(n.User == away)
			return notifier.Result{Status: notifier.Delivered}
		})
		s.work(func(o *tasks.WorkerOptions) { o.Deliveries = 1 })
		first, second := s.message("first", 5*time.Second), s.message("second", 10*time.Second)
		first.User, second.User = away, there
		s.accepted(first, second)
		s.until(8 * time.Second)
		require.Equal(s, "s", s.record(away, "first")["s"])
		s.until(12 * time.Second) // the second delivery brings the node back
		s.delivered("first +5s", "second +10s")
		s.ended(there, "second", "d")
		s.ended(away, "first", "d")
		s.until(2 * time.Minute)
		require.Len(s, s.recorder.Deliveries(), 2)
		require.Zero(s, s.queued())
	})
}

// The relay looks after everything of a partition in one pass, also if another can't be
// read.
func TestTheRelayGoesOnWithoutANode(t *testing.T) {
	tellSlowly(t, func(s *story) {
		node := s.without(evenPartitions)
		node.away.Store(true)
		const messages = 250 // of one partition, more than two pages
		user := usersOf(false, 1)[0]
		for i := range messages {
			m := s.message(fmt.Sprint("m", i), 50*time.Minute)
			m.User = user
			s.accepted(m)
		}
		require.Equal(s, messages, s.loseTasks())
		for member := range s.watched(user) {
			_, err := s.server.ZAdd(s.watchKey(user), float64(s.at(time.Second).UnixMilli()), member)
			require.NoError(s, err)
		}
		s.work()
		s.until(5 * time.Minute) // one pass, see workOn
		require.Equal(s, messages, s.queued())
	}, "500/hour")
}

// While the node of the policies is away, nothing is accepted by those that are known for longer
// than they may be old.
func TestWithoutTheNodeOfThePoliciesNothingIsAccepted(t *testing.T) {
	tell(t, func(s *story) {
		node := s.without(func(key string) bool { return strings.HasPrefix(key, "sl:{policies}") })
		submitter := s.newSubmitterOn(taskstest.Open(s, s.newClient(), s.shared), submit.Options{})
		_, err := submitter.Submit(s.Context(), s.message("a", time.Hour))
		require.NoError(s, err)
		node.away.Store(true)
		s.until(5 * time.Minute)
		_, err = submitter.Submit(s.Context(), s.message("b", 10*time.Hour))
		s.away(err, fault.CodeUnavailable)
		node.away.Store(false)
		_, err = submitter.Submit(s.Context(), s.message("b", 10*time.Hour))
		require.NoError(s, err)
	})
}
