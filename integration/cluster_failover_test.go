package integration_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// failoverStory is a cluster in which each master has a replica, and what submits to it.
type failoverStory struct {
	*clusterStory

	replicas []*redistest.Server
	waiting  *submit.Submitter // for a replica; the story's Submitter waits for none
	unknown  map[string]bool   // users whose message may have been accepted
}

// failoverArgs make a replica take over within a few seconds.
func failoverArgs() []string {
	return []string{
		"--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no",
		"--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0",
	}
}

func newFailoverStory(t *testing.T) *failoverStory {
	t.Helper()
	s := &failoverStory{
		clusterStory: &clusterStory{
			cluster:  redistest.RealCluster(t, failoverArgs()...),
			delivery: &delivery{T: t, receiver: notifiertest.NewReceiver(time.Now), due: map[string]time.Time{}},
		},
		unknown: map[string]bool{},
	}
	t.Cleanup(s.receiver.Close)
	for node := range s.cluster.Nodes {
		s.replicas = append(s.replicas, replicaOf(t, s.cluster, node, failoverArgs()...))
	}
	seedDefaultPolicy(t, s.cluster.Client())
	open := func(o submit.Options) *submit.Submitter {
		submitter, err := submit.New(taskstest.Open(t, s.connect(), backend.Options{}), o)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, submitter.Close()) })
		return submitter
	}
	s.Submitter = open(submit.Options{})
	s.waiting = open(submit.Options{Batch: true, WaitReplicas: 1, WaitReplicasTimeout: 2 * time.Second})
	s.relay(s.connect())
	return s
}

// A master is killed for good while messages are submitted and delivered, and its replica
// takes over. Nothing is lost whose accept a replica had: neither a message nor the place of
// one, so no rule is broken. Nothing is sent twice, but what was being delivered as the
// master died: Redis may have lost who had claimed it. The users of the other masters notice
// nothing.
func TestAFailoverLosesNothingThatAReplicaHas(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	s := newFailoverStory(t)
	victim := rand.IntN(len(s.cluster.Nodes))
	t.Logf("node %d is killed", victim)
	for node, replica := range s.replicas { // a master that a busy machine holds up is not to be replaced
		if node != victim {
			require.NoError(t, replica.Client().ConfigSet(t.Context(), "cluster-replica-no-failover", "yes").Err())
		}
	}
	// Messages of tomorrow, whose places have to survive.
	far := s.users(victim, 60)
	for _, user := range far {
		o := s.answered(s.waiting, message.Message{ID: "m", User: user, SendAt: noon(), Title: "a"})
		require.Equal(t, message.Accepted, o.Outcome, "%+v", o)
	}
	var lanes sync.WaitGroup
	end := time.Now().Add(14 * time.Second)
	of := make(map[string]int) // by user: the node
	for node := range s.cluster.Nodes {
		users := s.users(node, 460)[60:]
		for _, user := range users {
			of[user] = node
		}
		for lane := range 2 {
			lanes.Go(func() { s.submitUntilEnd(end, users[lane*200:][:200]) })
		}
	}
	time.Sleep(5 * time.Second)
	killed := time.Now()
	s.cluster.Nodes[victim].Kill()
	require.Eventually(t, func() bool {
		role, err := s.replicas[victim].Client().Do(t.Context(), "role").Slice()
		return err == nil && role[0] == "master"
	}, 60*time.Second, 50*time.Millisecond, "the replica takes over")
	tookOver := time.Now()
	t.Logf("the replica took over after %s", tookOver.Sub(killed).Round(time.Millisecond))
	lanes.Wait()

	// The new master accepts, and delivers soon.
	user := far[0]
	require.Eventually(t, func() bool {
		o, err := s.Submit(t.Context(), message.Message{ID: "soon", User: user, SendAt: time.Now().Add(time.Second), Title: "a"})
		return err == nil && o.Outcome == message.Accepted
	}, time.Minute, 100*time.Millisecond)
	for _, user := range far {
		o := s.answered(s.Submitter, message.Message{ID: "again", User: user, SendAt: noon().Add(30 * time.Second), Title: "a"})
		require.Equal(t, fault.CodeSendLimit, o.Code, "the place of %s is lost: %+v", user, o)
	}

	arrivals := s.arrivals()
	require.Eventually(t, func() bool {
		arrivals = s.arrivals()
		for user := range s.due {
			if len(arrivals[user]) == 0 {
				return false
			}
		}
		return len(arrivals[far[0]]) > 0
	}, 90*time.Second, 200*time.Millisecond, "what was accepted is delivered")
	twice, overdue := 0, 0
	for user, at := range arrivals {
		due, promised := s.due[user]
		require.True(t, promised || s.unknown[user] || user == far[0], "%s: never submitted", user)
		if promised {
			require.False(t, at[0].Before(due), "%s: early", user)
			if of[user] != victim && at[0].Sub(due) > 5*time.Second {
				overdue++
				t.Logf("%s of node %d, due %s after the kill, is late by %s", user, of[user], due.Sub(killed), at[0].Sub(due))
			}
		}
		if len(at) > 1 {
			twice++
			require.Equal(t, victim, of[user], "%s: twice", user)
			require.Len(t, at, 2)
			require.WithinRange(t, at[0], killed.Add(-time.Second), tookOver.Add(time.Second), "%s: twice", user)
		}
	}
	t.Logf("%d delivered, %d of them twice; %d in doubt", len(arrivals), twice, len(s.unknown))
	require.Greater(t, len(s.due), 300)
	// All that is due meanwhile would be late, and on a busy machine some is.
	require.Less(t, 20*overdue, len(s.due), "messages of other masters are late")
}

// answered submits a message until there is an answer: on a busy machine a node may seem to be away
// for a moment.
func (s *failoverStory) answered(by *submit.Submitter, m message.Message) (o message.Outcome) {
	s.Helper()
	require.Eventually(s, func() bool {
		var err error
		o, err = by.Submit(s.Context(), m)
		return err == nil
	}, time.Minute, 100*time.Millisecond)
	return o
}

// submitUntilEnd submits a message to each user, for soon, until the end. One without an
// answer is repeated for as long as it may be accepted.
func (s *failoverStory) submitUntilEnd(end time.Time, users []string) {
	for _, user := range users {
		if time.Now().After(end) {
			return
		}
		m := message.Message{ID: "m", User: user, Title: "a"}
		m.SendAt = time.Now().Add(time.Second + rand.N(3*time.Second)).UTC().Truncate(time.Millisecond)
		answered := false
		for began := time.Now(); !answered && time.Since(began) < 5*time.Second; time.Sleep(rand.N(40 * time.Millisecond)) {
			o, err := s.waiting.Submit(s.Context(), m)
			_, away := errors.AsType[*fault.UnavailableError](err)
			switch {
			case err == nil && o.Outcome == message.Accepted:
				s.promised(user, m.SendAt)
				answered = true
			case err == nil && o.Code == fault.CodeInPast:
				answered = true
			case !away:
				s.Errorf("%s: %+v %v", user, o, err)
				return
			}
			s.mu.Lock()
			if _, promised := s.due[user]; promised {
				delete(s.unknown, user)
			} else {
				s.unknown[user] = true
			}
			s.mu.Unlock()
		}
	}
}

// arrivals are when each user's messages arrived.
func (s *failoverStory) arrivals() map[string][]time.Time {
	s.Helper()
	found := make(map[string][]time.Time)
	for _, r := range s.receiver.Requests() {
		p, err := r.Payload()
		require.NoError(s, err)
		found[p.User] = append(found[p.User], r.Arrived)
	}
	return found
}

// Programs follow Sentinels: the master is killed between submits, and a replica takes its place.
// What was accepted before, and so was on the replica, is delivered, and so is what is accepted
// then. Worlds under Sentinel try what may happen beside it.
func TestProgramsFollowSentinels(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	servers := redistest.RealSentinels(t, 2, "--appendonly", "yes") // one is left to wait for
	receiver := notifiertest.NewReceiver(time.Now)
	t.Cleanup(receiver.Close)
	worker := buildPrograms(t).worker(t, []string{
		"REDIS_URL=redis-sentinel://" + strings.Join(servers.Addrs(), ",") + "/" + redistest.MasterName,
		"SENDLIMIT_PUSH_URL=" + receiver.URL(), "SENDLIMIT_WAIT_REPLICAS=1",
	})
	worker.delivers(t)
	url := worker.logged(t, "API endpoint", "url") + "messages"
	due := make(map[string]time.Time)
	refused := 0
	submit := func(user string) (status int) {
		at := time.Now().Add(3 * time.Second).UTC().Truncate(time.Millisecond)
		line := fmt.Sprintf(`{"id":"m","user":%q,"send_at":%q,"title":"t"}`, user, at.Format(time.RFC3339Nano))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(line))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		switch response.StatusCode {
		case http.StatusCreated:
			due[user] = at
		case http.StatusServiceUnavailable:
			refused++
		default:
			t.Fatalf("%s: %s %s", user, response.Status, body)
		}
		return response.StatusCode
	}
	for i := 0; len(due) < 100; i++ {
		submit(fmt.Sprint("before-", i))
	}
	servers.Master.Kill()
	refused = 0
	for i, end := 0, time.Now().Add(2*time.Minute); len(due) < 110; i++ {
		require.True(t, time.Now().Before(end), "the replica takes no submits")
		if submit(fmt.Sprint("after-", i)) != http.StatusCreated {
			time.Sleep(100 * time.Millisecond)
		}
	}
	require.Positive(t, refused, "nobody noticed")
	require.Eventually(t, func() bool {
		arrived := make(map[string]bool)
		for _, r := range receiver.Requests() {
			payload, err := r.Payload()
			require.NoError(t, err)
			at, accepted := due[payload.User]
			require.False(t, accepted && r.Arrived.Before(at), "%s came early", payload.User)
			arrived[payload.User] = arrived[payload.User] || accepted
		}
		for user := range due {
			if !arrived[user] {
				return false
			}
		}
		return true
	}, 2*time.Minute, 50*time.Millisecond, "accepted messages are lost")
}
