package submit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// DefaultWaitReplicasTimeout is how long an answer waits for replicas.
const DefaultWaitReplicasTimeout = time.Second

// MaxWaitReplicas is the most replicas that an answer can wait for.
const MaxWaitReplicas = 10

// replicas delays an answer until enough replicas of the store have the change. A failover then
// loses less, but may still lose changes: another replica may take over.
type replicas struct {
	client redis.UniversalClient
	keys   keyspace.Keys
	wanted int // zero waits for none
	within time.Duration
}

// connections is a client that lends out a single connection.
type connections interface{ Conn() *redis.Conn }

func newReplicas(client redis.UniversalClient, keys keyspace.Keys, wanted int, within time.Duration) (*replicas, error) {
	if within == 0 {
		within = DefaultWaitReplicasTimeout
	}
	switch {
	case wanted < 0 || wanted > MaxWaitReplicas:
		return nil, message.NotAllowed("wait_replicas", strconv.Itoa(wanted), "0 to %d", MaxWaitReplicas)
	case within < time.Millisecond:
		return nil, message.NotAllowed("wait_replicas_timeout", within.String(), "at least 1 ms")
	}
	if wanted > 0 {
		_, one := client.(connections)
		_, cluster := client.(*redis.ClusterClient)
		if !one && !cluster {
			return nil, message.NotAllowed("wait_replicas", strconv.Itoa(wanted), "0 with a %T, which lends out no connection", client)
		}
	}
	return &replicas{client: client, keys: keys, wanted: wanted, within: within}, nil
}

// connectionTries is on how many connections a change is tried. The client library does
// not retry on another connection if the connection is ours.
const connectionTries = 3

// secure makes a change in a user's timeline, and waits until the replicas have it. The change
// reports whether it was made now or before. There is no wait for a refused change.
//
// WAIT covers everything done in the store before the last write of its connection. It must
// use the same connection: on another one, another server may have answered the command before.
func (r *replicas) secure(
	ctx context.Context, t *sendlimit.Timeline, user string, change func(*sendlimit.Timeline) (holds bool, err error),
) error {
	if r.wanted == 0 {
		_, err := change(t)
		return err
	}
	moved := ""
	for try := 1; ; try++ {
		conn, err := r.connect(ctx, user, moved)
		if err != nil {
			return err
		}
		answered, err := r.on(ctx, conn, t, user, change)
		var again bool
		moved, again = redis.IsMovedError(err)
		if answered || !again && !broken(err) || try == connectionTries {
			return err
		}
	}
}

// on makes a change and waits for the replicas on one connection, which it closes. It reports
// whether the change got an answer.
func (r *replicas) on(
	ctx context.Context, conn *redis.Conn, t *sendlimit.Timeline, user string, change func(*sendlimit.Timeline) (bool, error),
) (answered bool, err error) {
	defer conn.Close() // returns it to the client
	holds, err := change(t.WithClient(conn))
	if err != nil {
		return false, err
	}
	if holds {
		err = r.await(ctx, conn, user)
	}
	return true, err
}

// connect returns a connection to the user's master, or to the address moved if the
// cluster has named one.
func (r *replicas) connect(ctx context.Context, user, moved string) (*redis.Conn, error) {
	const doing = "looking for the master of a user"
	cluster, ok := r.client.(*redis.ClusterClient)
	if !ok {
		one, _ := r.client.(connections) // newReplicas has checked it
		return one.Conn(), nil
	}
	if moved != "" {
		// This reloads the cluster's state.
		found := make(chan *redis.Client, 1)
		err := cluster.ForEachMaster(ctx, func(_ context.Context, master *redis.Client) error {
			if master.Options().Addr == moved {
				found <- master
			}
			return nil
		})
		if err != nil {
			return nil, store.Explain(err, doing)
		}
		select {
		case master := <-found:
			return master.Conn(), nil
		default:
		}
	}
	master, err := cluster.MasterForKey(ctx, r.keys.Timeline(user))
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	return master.Conn(), nil
}

// broken reports whether an open connection has turned out to be closed.
func broken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// markKept is how long the mark of await is kept.
const markKept = time.Minute

// await returns a *fault.UnavailableError unless enough replicas have all earlier changes of the
// store. It writes a mark first: if an earlier call made the change, this one wrote nothing, and
// WAIT would cover nothing (since Redis 8, and in Valkey).
func (r *replicas) await(ctx context.Context, conn *redis.Conn, user string) error {
	const doing = "waiting for replicas"
	if err := conn.Set(ctx, r.keys.Mark(keyspace.Partition(user)), "", markKept).Err(); err != nil && !redis.IsOOMError(err) {
		return store.Explain(err, doing)
	}
	have, err := conn.Wait(ctx, r.wanted, r.within).Result()
	if redis.IsPermissionError(err) {
		return fmt.Errorf("%s: %w", doing, &fault.UnavailableError{
			Detail: "Redis does not let this user run WAIT, which wait_replicas needs: allow it, or set wait_replicas to 0" +
				store.MayBeDone,
			Err: err,
		})
	}
	if err != nil {
		return store.Explain(err, doing)
	}
	if have < int64(r.wanted) {
		return fmt.Errorf("%s: %w", doing, &fault.UnavailableError{
			Detail: fmt.Sprintf("Redis has it on %d of %d replicas after %s (wait_replicas)%s", have, r.wanted, r.within, store.MayBeDone),
		})
	}
	return nil
}
