package integration_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// The masters of redistest's clusters by what they have: each has a queue, queueNode also the
// list of queues and the policies.
const (
	queueNode = 0
	otherNode = 1
	lastNode  = 2
)

// goesAway says how a master goes away and comes back.
type goesAway struct {
	away, back func(*testing.T, *redistest.Server)
}

func killed() goesAway {
	return goesAway{
		away: func(_ *testing.T, s *redistest.Server) { s.Kill() },
		back: func(t *testing.T, s *redistest.Server) { t.Helper(); require.NoError(t, s.Restart(t.Context())) },
	}
}

func hangs() goesAway {
	signal := func(which syscall.Signal) func(*testing.T, *redistest.Server) {
		return func(t *testing.T, s *redistest.Server) { t.Helper(); require.NoError(t, syscall.Kill(s.PID(), which)) }
	}
	return goesAway{away: signal(syscall.SIGSTOP), back: signal(syscall.SIGCONT)}
}

// awayRow is a master that goes away, of a cluster that works only as a whole or also in part.
type awayRow struct {
	wholeOnly string
	node      int
	goesAway
}

// clusterStory is a cluster, a worker and a submitter, all of which watch its masters.
type clusterStory struct {
	*delivery

	cluster  *redistest.Cluster
	watching *redis.ClusterClient

	mu sync.Mutex // guards due
}

func newClusterStory(t *testing.T, fullCoverage string) *clusterStory {
	t.Helper()
	s := &clusterStory{
		cluster: redistest.RealCluster(t, append(redistest.Durable(),
			"--cluster-node-timeout", "2000", "--cluster-require-full-coverage", fullCoverage)...),
		delivery: &delivery{T: t, receiver: notifiertest.NewReceiver(time.Now), due: map[string]time.Time{}},
	}
	t.Cleanup(s.receiver.Close)
	seedDefaultPolicy(t, s.cluster.Client())
	submitter, err := submit.New(taskstest.Open(t, s.connect(), backend.Options{}), submit.Options{Batch: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, submitter.Close()) })
	s.Submitter, s.watching = submitter, s.connect()
	s.work(s.connect())
	return s
}

// connect returns a client as the programs have it.
func (s *clusterStory) connect() *redis.ClusterClient {
	s.Helper()
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: s.cluster.Addrs(), PoolSize: 128, PoolTimeout: 4 * time.Second, DialTimeout: 3 * time.Second, DialerRetries: 1,
		ReadTimeout: 3 * time.Second, WriteTimeout: 3 * time.Second, ContextTimeoutEnabled: true,
	})
	store.WatchNodes(client)
	s.Cleanup(func() { require.NoError(s, client.Close()) })
	return client
}

// users returns n users of a master, and none of theirs before.
func (s *clusterStory) users(node, n int) []string {
	s.Helper()
	keys, err := keyspace.NewKeys("")
	require.NoError(s, err)
	users := make([]string, 0, n)
	for i := 0; len(users) < n; i++ {
		user := fmt.Sprintf("user-%d-%d", node, i)
		master, err := s.watching.MasterForKey(s.Context(), keys.Near(user))
		require.NoError(s, err)
		if master.Options().Addr == s.cluster.Nodes[node].Addr {
			users = append(users, user)
		}
	}
	return users
}

// promise submits a message to each user, for a random millisecond of a span.
func (s *clusterStory) promise(users []string, in, span time.Duration) {
	s.Helper()
	start := time.Now().Add(in).UTC().Truncate(time.Millisecond)
	var submitting sync.WaitGroup
	for part := range 16 {
		submitting.Go(func() {
			for i := part; i < len(users); i += 16 {
				at := start.Add(rand.N(span).Truncate(time.Millisecond))
				o, err := s.Submit(s.Context(), message.Message{ID: "m", User: users[i], SendAt: at, Title: "a"})
				if err != nil || o.Outcome != message.Accepted {
					s.Errorf("%s: %+v %v", users[i], o, err)
				}
				s.promised(users[i], at)
			}
		})
	}
	submitting.Wait()
	require.True(s, time.Now().Before(start), "submitting took longer than %s", in)
}

func (s *clusterStory) promised(user string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due[user] = at
}

// earliest returns when the first message of users is due.
func (s *clusterStory) earliest(users []string) time.Time {
	first := time.Now().Add(time.Hour)
	for _, user := range users {
		if at, promised := s.due[user]; promised && at.Before(first) {
			first = at
		}
	}
	return first
}

// submitUntil submits one message after the other, for two seconds later, to users of whom
// every other one is of a master that is away. The others are accepted, each within a time;
// it returns how many.
func (s *clusterStory) submitUntil(end time.Time, away, there []string, within time.Duration) (accepted int) {
	s.Helper()
	for i := 0; time.Now().Before(end) && i < len(there); i++ {
		for _, user := range []string{away[i%len(away)], there[i]} {
			began := time.Now()
			at := began.Add(2 * time.Second).UTC().Truncate(time.Millisecond)
			o, err := s.Submit(s.Context(), message.Message{ID: "m", User: user, SendAt: at, Title: "a"})
			if took := time.Since(began); took > within {
				s.Errorf("the answer for %s took %s", user, took)
			}
			_, unavailable := errors.AsType[*fault.UnavailableError](err)
			switch {
			case user != there[i] && !unavailable:
				s.Errorf("%s, of the master that is away: %+v %v", user, o, err)
			case user == there[i] && (err != nil || o.Outcome != message.Accepted):
				s.Errorf("%s, of another master: %+v %v", user, o, err)
			case user == there[i]:
				accepted++
				s.promised(user, at)
			}
		}
	}
	return accepted
}

// late returns how late the message of each user arrived, once all have. It requires that
// none came early or twice, and none of others but perhaps those.
func (s *clusterStory) late(perhaps ...string) map[string]time.Duration {
	s.Helper()
	late := make(map[string]time.Duration)
	read := 0 // of the requests
	missing := func() int {
		requests := s.receiver.Requests()
		for _, r := range requests[read:] {
			p, err := r.Payload()
			require.NoError(s, err)
			due, promised := s.due[p.User]
			if !promised {
				require.Contains(s, perhaps, p.User)
				continue
			}
			_, twice := late[p.User]
			require.False(s, twice, "%s twice", p.User)
			late[p.User] = r.Arrived.Sub(due)
			require.GreaterOrEqual(s, late[p.User], time.Duration(0), "early")
		}
		read = len(requests)
		return len(s.due) - len(late)
	}
	for end := time.Now().Add(2 * time.Minute); missing() > 0; time.Sleep(100 * time.Millisecond) {
		require.True(s, time.Now().Before(end), "%d of %d messages are missing", missing(), len(s.due))
	}
	time.Sleep(3 * time.Second) // for what comes twice
	missing()
	return late
}

// One master of three is away for longer than any timeout, with more messages due than a
// worker takes at a time. Users of the others are submitted and delivered in time, as if
// nothing were. Those of the one get an error soon, and their messages when it is back.
func TestAMasterThatIsAwayHoldsUpOnlyItsUsers(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	row := []awayRow{{"no", otherNode, killed()}, {"no", lastNode, hangs()}}[drawn(t, 2)]
	s := newClusterStory(t, row.wholeOnly)
	const lasts = 25 * time.Second
	// No answer takes longer than a timeout of the client and what it takes to find
	// out that the master is away.
	const soon = 15 * time.Second // it takes less than 6 s on a machine that has nothing else to do
	there := append(s.users(queueNode, 600), s.users(otherNode+lastNode-row.node, 600)...)
	rand.Shuffle(len(there), func(i, j int) { there[i], there[j] = there[j], there[i] })
	away := s.users(row.node, 900)
	s.promise(away[:800], 15*time.Second, 8*time.Second)
	s.promise(there[:300], 10*time.Second, lasts)
	time.Sleep(time.Until(s.earliest(away).Add(-time.Second)))

	row.away(t, s.cluster.Nodes[row.node])
	back := time.Now().Add(lasts)
	accepted := make([]int, 4)
	var submitting sync.WaitGroup
	for i := range accepted {
		submitting.Go(func() {
			mine := there[300+i*200:][:200]
			accepted[i] = s.submitUntil(back.Add(-5*time.Second), away[800+i*25:][:25], mine, soon)
		})
	}
	submitting.Wait()
	t.Log("accepted meanwhile:", accepted)
	time.Sleep(time.Until(back))
	row.back(t, s.cluster.Nodes[row.node])

	late, overdue := s.late(), 0
	for _, user := range there {
		if late[user] >= soon {
			overdue++
		}
	}
	require.Less(t, 10*overdue, len(there), "messages of other masters are late")
	for _, n := range accepted {
		require.Positive(t, n)
	}
	s.settled(s.cluster.Client())
}

// What everybody needs is away: the master that has the list of queues and the policies,
// or any master of a cluster that works only as a whole. Nobody waits long for an answer.
// Nothing is lost, and all goes on when the master is back.
func TestAllWaitForAMasterThatAllNeed(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	row := []awayRow{{"no", queueNode, hangs()}, {"yes", otherNode, killed()}}[drawn(t, 2)]
	s := newClusterStory(t, row.wholeOnly)
	var all []string
	for node := range s.cluster.Nodes {
		all = append(all, s.users(node, 400)...)
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	s.promise(all[:400], 10*time.Second, 10*time.Second)
	time.Sleep(time.Until(s.earliest(all).Add(2 * time.Second)))

	row.away(t, s.cluster.Nodes[row.node])
	back := time.Now().Add(20 * time.Second)
	perhaps := s.tryUntil(back, all[400:1000], 10*time.Second)
	row.back(t, s.cluster.Nodes[row.node])
	require.NotEmpty(t, perhaps)
	later := all[1000:]
	require.Eventually(t, func() bool {
		at := time.Now().Add(2 * time.Second).UTC().Truncate(time.Millisecond)
		o, err := s.Submit(t.Context(), message.Message{ID: "m", User: later[0], SendAt: at, Title: "a"})
		if err == nil && o.Outcome == message.Accepted {
			s.promised(later[0], o.SendAt.Time)
		} else {
			perhaps = append(perhaps, later[0])
		}
		later = later[1:]
		return err == nil && o.Outcome == message.Accepted
	}, time.Minute, 200*time.Millisecond)

	s.late(perhaps...)
	s.settled(s.cluster.Client())
}

// tryUntil submits one message after the other, each answered within a time. It returns the
// users of those whose answer says that the store is unavailable: they may be accepted.
func (s *clusterStory) tryUntil(end time.Time, users []string, within time.Duration) (unavailable []string) {
	s.Helper()
	for _, user := range users {
		if time.Now().After(end) {
			break
		}
		began := time.Now()
		at := began.Add(2 * time.Second).UTC().Truncate(time.Millisecond)
		o, err := s.Submit(s.Context(), message.Message{ID: "m", User: user, SendAt: at, Title: "a"})
		if took := time.Since(began); took > within {
			s.Errorf("the answer for %s took %s", user, took)
		}
		if err == nil && o.Outcome == message.Accepted {
			s.promised(user, at)
			continue
		}
		_, away := errors.AsType[*fault.UnavailableError](err)
		require.True(s, away, "%s: %+v %v", user, o, err)
		unavailable = append(unavailable, user)
		time.Sleep(50 * time.Millisecond)
	}
	return unavailable
}
