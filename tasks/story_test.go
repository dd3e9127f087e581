package tasks_test

import (
	"context"
	"encoding/json"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/internal/pipe"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	stories "github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// story is a store, a submitter and, where it tells of one, a worker, in a
// bubble: time stands still while anybody works, and jumps when all wait. It
// begins at midnight of 2000-01-01 in UTC.
type story struct {
	*testing.T
	*submit.Submitter

	server   *miniredis.Miniredis
	network  *network
	client   *redis.Client
	recorder *notifiertest.Recorder
	began    time.Time
	shared   backend.Options // of submitters and workers that are made from now on
	hook     redis.Hook      // of clients made from now on; nil for none
}

// seldom is the polling of stories of hours: polling as often as programs do would
// take most of their time. A message that is due at least four seconds after it
// was submitted, and while a worker runs, still goes out to the millisecond.
// Anything due sooner is late by up to four seconds.
func seldom() queue.Polling { return queue.Polling{Forward: 2 * time.Second, Fetch: time.Second} }

// tell runs a story under rules, the default policy where there are none, as a parallel test.
// The queue gets all messages at once: stories of the hand-over set another horizon.
// An hour of a worker takes half a minute under the race detector: see tellSlowly.
func tell(t *testing.T, story func(*story), rules ...string) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { story(newStory(t, queue.Polling{}, rules...)) })
}

// tellSlowly is tell for a story of hours in which nothing is due soon.
func tellSlowly(t *testing.T, story func(*story), rules ...string) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { story(newStory(t, seldom(), rules...)) })
}

func newStory(t *testing.T, polling queue.Polling, rules ...string) *story {
	t.Helper()
	s := &story{T: t, server: miniredis.NewMiniRedis(), recorder: notifiertest.NewRecorder(time.Now), began: time.Now(), shared: backend.Options{Options: sendlimit.Options{Horizon: policy.DefaultReach}, Polling: polling}}
	// At the very end: the client library takes a second to notice that it is
	// closed where the store was away.
	t.Cleanup(func() { time.Sleep(2 * time.Second) })
	t.Cleanup(s.server.Close)
	s.network = &network{server: s.server}
	s.client = s.newClient()
	s.apply(rules...)
	redistest.AnswerIdlePolls(s.server)
	s.Submitter = s.newSubmitter(submit.Options{})
	return s
}

// newClient connects as the programs do.
func (s *story) newClient() *redis.Client {
	s.Helper()
	client := redis.NewClient(&redis.Options{
		Dialer: s.network.dial, DialerRetries: 1, PoolSize: 2048, ContextTimeoutEnabled: true,
		DisableIdentity: true, ReadBufferSize: 4096, WriteBufferSize: 4096,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	client.AddHook(redistest.PassOverAbsent(s.server))
	if s.hook != nil {
		client.AddHook(s.hook)
	}
	s.Cleanup(func() { _ = client.Close() })
	return client
}

// apply gives the store rules.
func (s *story) apply(rules ...string) {
	s.Helper()
	p := policy.Default()
	if len(rules) > 0 {
		var err error
		p, err = policy.Parse(policy.DefaultName, "", rules...)
		require.NoError(s, err)
	}
	policies := settings.NewPolicies(s.client, keyspace.KeysUnder(""))
	require.NoError(s, policies.Apply(s.Context(), p))
}

func (s *story) newSubmitter(o submit.Options) *submit.Submitter {
	s.Helper()
	return s.newSubmitterOn(taskstest.Open(s, s.client, s.shared), o)
}

func (s *story) newSubmitterOn(b *backend.Backend, o submit.Options) *submit.Submitter {
	s.Helper()
	submitter, err := submit.New(b, o)
	require.NoError(s, err)
	s.Cleanup(func() { require.NoError(s, submitter.Close()) })
	return submitter
}

// work starts a worker that delivers to the story's recorder unless told
// otherwise, and returns what stops it and waits for its end. It ends with the
// story.
func (s *story) work(options ...func(*tasks.WorkerOptions)) (stop func()) {
	s.Helper()
	return s.workOn(taskstest.Open(s, s.newClient(), s.shared), options...)
}

func (s *story) workOn(b *backend.Backend, options ...func(*tasks.WorkerOptions)) (stop func()) {
	s.Helper()
	// Looks at a watch list without anything due would make up most of a story.
	o := tasks.WorkerOptions{Notifier: s.recorder, RelayOptions: tasks.RelayOptions{RelayEvery: 5 * time.Minute}}
	for _, option := range options {
		option(&o)
	}
	worker, err := tasks.NewWorker(b, o)
	require.NoError(s, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(s, <-ended)
	})
	s.Cleanup(stop)
	return stop
}

// at is a time of the story.
func (s *story) at(after time.Duration) time.Time { return s.began.Add(after).UTC() }

// until lets time pass.
func (s *story) until(after time.Duration) {
	time.Sleep(time.Until(s.at(after)))
	synctest.Wait()
}

// message is a message to alice, whose id is its title.
func (s *story) message(id string, after time.Duration) message.Message {
	return message.Message{ID: id, User: "alice", SendAt: s.at(after), Title: id}
}

func (s *story) submit(m message.Message) message.Outcome {
	s.Helper()
	o, err := s.Submit(s.Context(), m)
	require.NoError(s, err)
	return o
}

// accepted submits messages that must be accepted as they are.
func (s *story) accepted(messages ...message.Message) {
	s.Helper()
	for _, m := range messages {
		o := s.submit(m)
		require.Equal(s, message.Accepted, o.Outcome, "%+v", o)
		require.Equal(s, m.SendAt.UTC(), o.SendAt.Time)
		require.False(s, o.Replayed)
	}
}

// cancelled takes back a message of alice.
func (s *story) cancelled(id string) {
	s.Helper()
	o, err := s.Cancel(s.Context(), "alice", id)
	require.NoError(s, err)
	require.Equal(s, message.Cancelled, o.Outcome, "%+v", o)
}

// moved moves a message of alice.
func (s *story) moved(id string, after time.Duration) {
	s.Helper()
	o, err := s.Move(s.Context(), "alice", id, s.at(after))
	require.NoError(s, err)
	require.Equal(s, message.Moved, o.Outcome, "%+v", o)
	require.Equal(s, s.at(after), o.SendAt.Time)
}

// delivered requires that so far exactly these were delivered to the recorder,
// "id +time" each, in order. The store tells the time in milliseconds, so a
// delivery may be late by less than one.
func (s *story) delivered(wanted ...string) {
	s.Helper()
	synctest.Wait()
	got := []string{}
	for _, d := range s.recorder.Deliveries() {
		got = append(got, d.Notification.ID+" +"+d.At.Sub(s.began).Truncate(time.Millisecond).String())
	}
	require.Equal(s, append([]string{}, wanted...), got)
}

func (s *story) keys() keyspace.Keys {
	s.Helper()
	keys, err := keyspace.NewKeys("")
	require.NoError(s, err)
	return keys
}

// record reads what the store knows of a message.
func (s *story) record(user, id string) map[string]string {
	s.Helper()
	keys := s.keys()
	fields, err := s.client.HGetAll(s.Context(), keys.Record(user, id)).Result()
	require.NoError(s, err)
	return fields
}

// ended requires that a message has ended in a state, that its content is
// erased unless it is a dead letter, and that nobody looks after it any more.
func (s *story) ended(user, id, state string) {
	s.Helper()
	record := s.record(user, id)
	require.Equal(s, state, record["s"])
	if state == "f" || state == "u" {
		require.Contains(s, record, "c", "it can be sent after all")
	} else {
		require.NotContains(s, record, "c", "the content is erased")
	}
	require.Contains(s, record, "e")
	for member := range s.watched(user) {
		require.NotContains(s, member, "/"+id+"/"+user)
	}
}

// watched is the watch list of a user's partition: when it looks after each
// member.
func (s *story) watched(user string) map[string]time.Duration {
	s.Helper()
	keys := s.keys()
	watched := map[string]time.Duration{}
	for member, look := range stories.WatchedOf(s, s.client, keys, user) {
		watched[member] = look.Sub(s.began)
	}
	return watched
}

// places are the ids in alice's timeline, by time.
func (s *story) places() []string {
	s.Helper()
	timeline, err := s.Timeline(s.Context())
	require.NoError(s, err)
	list, err := timeline.List(s.Context(), sendlimit.ListRequest{User: "alice"})
	require.NoError(s, err)
	places := []string{}
	for _, r := range list {
		places = append(places, r.ID)
	}
	return places
}

// queued counts the messages of the tasks in the queue, in whatever state, once nobody works.
func (s *story) queued() int {
	s.Helper()
	synctest.Wait() // superseded tasks are deleted in the background
	if !s.server.Exists("asynq:queues") {
		return 0
	}
	count := 0
	for _, name := range s.queues() {
		count += s.queuedIn(name)
	}
	return count
}

// queues lists the queues and their lanes.
func (s *story) queues() []string {
	names, err := asynq.NewInspectorFromRedisClient(s.client).Queues()
	require.NoError(s, err)
	return names
}

// queuedIn is queued for one queue.
func (s *story) queuedIn(name string) int {
	inspector, count := asynq.NewInspectorFromRedisClient(s.client), 0
	info, err := inspector.GetQueueInfo(name)
	require.NoError(s, err)
	require.Zero(s, info.Archived, "nothing is ever archived")
	require.Zero(s, info.Completed, "nothing is ever retained")
	for _, list := range []func(string, ...asynq.ListOption) ([]*asynq.TaskInfo, error){
		inspector.ListScheduledTasks, inspector.ListPendingTasks, inspector.ListActiveTasks, inspector.ListRetryTasks,
	} {
		tasks, err := list(name, asynq.PageSize(10_000))
		require.NoError(s, err)
		for _, task := range tasks {
			var payload struct {
				Messages []json.RawMessage `json:"messages"`
			}
			require.NoError(s, json.Unmarshal(task.Payload, &payload))
			count += max(1, len(payload.Messages))
		}
	}
	return count
}

// workWhereDue has a worker run while something is due or about to be, until a
// time of the story or until the queue is empty: hours in which a worker would
// find nothing are passed over.
func (s *story) workWhereDue(until time.Duration, options ...func(*tasks.WorkerOptions)) {
	s.Helper()
	const ahead = 2 * time.Second
	for {
		next, ok := s.nextTask()
		if !ok || next-ahead >= until || time.Since(s.began) >= until {
			s.until(until)
			return
		}
		s.until(max(next-ahead, time.Since(s.began)))
		stop := s.work(options...)
		for at := next; ok && at-2*ahead <= time.Since(s.began) && time.Since(s.began) < until; at, ok = s.nextTask() {
			s.until(min(max(at, time.Since(s.began))+ahead, until))
		}
		stop()
	}
}

// nextTask is when the queue is to hand out its next task, in the time of the
// story.
func (s *story) nextTask() (time.Duration, bool) {
	s.Helper()
	const queue = "asynq:{" + keyspace.DefaultPrefix + ":push}:"
	for _, list := range []string{"pending", "active"} { // a worker holds an active task until it is due
		waiting, err := s.client.LLen(s.Context(), queue+list).Result()
		require.NoError(s, err)
		if waiting > 0 {
			return time.Since(s.began), true
		}
	}
	next, found := time.Duration(0), false
	for _, set := range []string{"scheduled", "retry"} {
		first, err := s.client.ZRangeWithScores(s.Context(), queue+set, 0, 0).Result()
		require.NoError(s, err)
		if len(first) == 1 {
			at := time.Unix(int64(first[0].Score), 0).Sub(s.began)
			if !found || at < next {
				next, found = at, true
			}
		}
	}
	return next, found
}

// network is the way to the server, which can be cut.
type network struct {
	server *miniredis.Miniredis

	mu   sync.Mutex
	down bool
	open []net.Conn
}

func (n *network) dial(context.Context, string, string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	piped, err := n.server.Dial()
	if err != nil {
		return nil, err
	}
	conn := pipe.Buffered(piped)
	n.open = append(n.open, conn)
	return conn, nil
}

// cut breaks all connections, and refuses new ones until it is mended.
func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = true
	for _, conn := range n.open {
		_ = conn.Close()
	}
	n.open = nil
}

func (n *network) mend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = false
}
