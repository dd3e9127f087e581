package integration_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// replicated is a primary with a replica, and submitters that wait for it.
type replicated struct {
	*testing.T
	*submit.Submitter

	primary, replica *redistest.Server
	hasty            *submit.Submitter // does not wait long for replicas
}

// A running replica gets all the time that a busy machine needs. A stopped one is not
// waited for.
const patience, haste = 30 * time.Second, 300 * time.Millisecond

func newReplicated(t *testing.T, o submit.Options) *replicated {
	t.Helper()
	r := &replicated{T: t, primary: redistest.Real(t)}
	host, port, err := net.SplitHostPort(r.primary.Addr)
	require.NoError(t, err)
	r.replica = redistest.Real(t, "--replicaof", host+" "+port)
	require.Eventually(t, func() bool { return online(t, r.primary) }, 60*time.Second, 50*time.Millisecond)
	seedDefaultPolicy(t, r.primary.Client())
	r.Submitter = r.submitter(r.primary.Client(), o, patience)
	r.hasty = r.submitter(r.primary.Client(), o, haste)
	return r
}

// online reports whether a server has a replica that follows it.
func online(t *testing.T, primary *redistest.Server) bool {
	t.Helper()
	info, err := primary.Client().Info(t.Context(), "replication").Result()
	require.NoError(t, err)
	return strings.Contains(info, "state=online")
}

func (r *replicated) submitter(client redis.UniversalClient, o submit.Options, wait time.Duration) *submit.Submitter {
	r.Helper()
	o.WaitReplicas, o.WaitReplicasTimeout = 1, wait
	s, err := submit.New(taskstest.Open(r, client, backend.Options{}), o)
	require.NoError(r, err)
	r.Cleanup(func() { require.NoError(r, s.Close()) })
	return s
}

// pause suspends the replica, and resume continues it.
func (r *replicated) pause()  { require.NoError(r, syscall.Kill(r.replica.PID(), syscall.SIGSTOP)) }
func (r *replicated) resume() { require.NoError(r, syscall.Kill(r.replica.PID(), syscall.SIGCONT)) }

func messageAt(id string, in time.Duration) message.Message {
	return message.Message{ID: id, User: "alice", SendAt: time.Now().Add(in).Truncate(time.Second), Title: "t"}
}

// unsecured requires the error for too few replicas.
func (r *replicated) unsecured(_ message.Outcome, err error) {
	r.Helper()
	var away *fault.UnavailableError
	require.ErrorAs(r, err, &away)
	require.Equal(r, fault.CodeUnavailable, away.Code())
	require.Equal(r, "Redis has it on 0 of 1 replicas after 300ms (wait_replicas):"+
		" the request may have been carried out, and it is safe to send it again with the same id", away.Detail)
}

// What was answered is on the replica. What is not there is not answered, however often
// it is requested.
func TestReplicasHaveWhatWasAnswered(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]submit.Options{"one by one": {}, "in batches": {Batch: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReplicated(t, o)
			keys := defaultKeys(t)
			state := func(id string) string {
				return r.replica.Client().HGet(t.Context(), keys.Record("alice", id), "g").Val()
			}
			for i := range 50 {
				m := messageAt(fmt.Sprint("m", i), time.Duration(i+1)*3*time.Hour)
				o, err := r.Submit(t.Context(), m)
				require.NoError(t, err)
				require.Equal(t, message.Accepted, o.Outcome, "%+v", o)
				require.NotEmpty(t, state(m.ID), "the replica has it by now")
			}

			r.pause()
			m := messageAt("paused", time.Hour)
			r.unsecured(r.hasty.Submit(t.Context(), m))
			r.unsecured(r.hasty.Submit(t.Context(), m))
			// The same on a connection that has not seen it before.
			fresh := redis.NewClient(&redis.Options{Addr: r.primary.Addr})
			defer fresh.Close()
			again := r.submitter(fresh, o, haste)
			r.unsecured(again.Submit(t.Context(), m))
			r.unsecured(r.hasty.Move(t.Context(), "alice", "m0", time.Now().Add(100*time.Hour)))
			r.unsecured(r.hasty.Cancel(t.Context(), "alice", "m1"))
			refused, err := r.hasty.Submit(t.Context(), messageAt("refused", time.Hour))
			require.NoError(t, err, "a refusal writes nothing, and waits for nobody")
			require.Equal(t, fault.CodeSendLimit, refused.Code)

			r.resume()
			outcome, err := r.submitter(fresh, o, patience).Submit(t.Context(), m)
			require.NoError(t, err)
			require.True(t, outcome.Replayed)
			require.NotEmpty(t, state("paused"))
			outcome, err = r.Cancel(t.Context(), "alice", "m1")
			require.NoError(t, err)
			require.True(t, outcome.Replayed)
		})
	}
}

// In a cluster the replicas of the user's own master count, and a user whose slot has
// moved is found.
func TestReplicasOfACluster(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	cluster := redistest.RealCluster(t)
	replica := replicaOf(t, cluster, 0)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	seedDefaultPolicy(t, client)
	within := func(wait time.Duration) *submit.Submitter {
		s, err := submit.New(taskstest.Open(t, client, backend.Options{}), submit.Options{WaitReplicas: 1, WaitReplicasTimeout: wait})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	patient, hasty := within(patience), within(haste)

	keys := defaultKeys(t)
	masterOf := func(user string) string {
		master, err := client.MasterForKey(t.Context(), keys.Timeline(user))
		require.NoError(t, err)
		return master.Options().Addr
	}
	submit := func(submitter *submit.Submitter, user string) error {
		m := messageAt("m", time.Hour)
		m.User = user
		o, err := submitter.Submit(t.Context(), m)
		if err == nil {
			require.Equal(t, message.Accepted, o.Outcome, "%+v", o)
		}
		return err
	}
	var on []string // users on the master with a replica
	others := 0
	for i := 0; len(on) < 3 || others < 3; i++ {
		user := fmt.Sprint("user-", i)
		if masterOf(user) == cluster.Nodes[0].Addr {
			on = append(on, user)
			require.NoError(t, submit(patient, user))
		} else {
			others++
			require.ErrorContains(t, submit(hasty, user), "Redis has it on 0 of 1 replicas")
		}
	}
	size, err := replica.Client().DBSize(t.Context()).Result()
	require.NoError(t, err)
	require.GreaterOrEqual(t, size, int64(len(on)))

	// The client still uses the old master.
	moved := ""
	for i := 1000; moved == ""; i++ {
		if user := fmt.Sprint("user-", i); masterOf(user) == cluster.Nodes[1].Addr {
			moved = user
		}
	}
	giveSlot(t, cluster, keys.Timeline(moved), 0)
	require.Equal(t, cluster.Nodes[1].Addr, masterOf(moved))
	require.NoError(t, submit(patient, moved))
}

// replicaOf starts a replica of a node of a cluster, with arguments for redis-server, and waits
// until it follows.
func replicaOf(t *testing.T, cluster *redistest.Cluster, node int, args ...string) *redistest.Server {
	t.Helper()
	bus, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	_, busPort, err := net.SplitHostPort(bus.Addr().String())
	require.NoError(t, err)
	require.NoError(t, bus.Close())
	replica := redistest.Real(t, append([]string{"--cluster-enabled", "yes", "--cluster-port", busPort}, args...)...)
	host, port, err := net.SplitHostPort(replica.Addr)
	require.NoError(t, err)
	require.NoError(t, cluster.Nodes[node].Client().Do(t.Context(), "cluster", "meet", host, port, busPort).Err())
	id := nodeID(t, cluster.Nodes[node])
	require.Eventually(t, func() bool {
		return replica.Client().Do(t.Context(), "cluster", "replicate", id).Err() == nil // it knows the node by then
	}, 60*time.Second, 50*time.Millisecond)
	require.Eventually(t, func() bool { return online(t, cluster.Nodes[node]) }, 60*time.Second, 50*time.Millisecond)
	return replica
}

func nodeID(t *testing.T, node *redistest.Server) string {
	t.Helper()
	id, err := node.Client().Do(t.Context(), "cluster", "myid").Text()
	require.NoError(t, err)
	return id
}

// giveSlot gives a key's slot, which must be empty, to a node.
func giveSlot(t *testing.T, cluster *redistest.Cluster, key string, node int) {
	t.Helper()
	slot, err := cluster.Nodes[node].Client().ClusterKeySlot(t.Context(), key).Result()
	require.NoError(t, err)
	id := nodeID(t, cluster.Nodes[node])
	give := func(ctx context.Context, to *redistest.Server) {
		require.NoError(t, to.Client().Do(ctx, "cluster", "setslot", slot, "node", id).Err())
	}
	give(t.Context(), cluster.Nodes[node]) // the receiver must be told first
	for i, other := range cluster.Nodes {
		if i != node {
			give(t.Context(), other)
		}
	}
}
