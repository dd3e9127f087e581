package queue

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// spread has the queues over which the messages of a prefix are spread. All copies of a Queue
// share it.
type spread struct {
	first   string // Name of the prefix
	prefix  string
	cluster *redis.ClusterClient   // whose masters are counted at the first use; else nil
	chosen  atomic.Pointer[shares] // nil until then
	others  atomic.Pointer[[]string]
	herds   herds
}

// shares has the queue of each partition.
type shares struct {
	names []string
	of    [keyspace.Partitions]uint8 // by partition: index of names
}

// newSpread returns the spread over n queues; 0 means one for each master of a cluster.
func newSpread(client redis.UniversalClient, prefix string, n int) (*spread, error) {
	if n < 0 || n > MaxQueues {
		return nil, message.NotAllowed("queues", strconv.Itoa(n), "0 to %d", MaxQueues)
	}
	s := &spread{first: Name(prefix), prefix: prefix, herds: newHerds()}
	s.others.Store(new([]string))
	cluster, clustered := client.(*redis.ClusterClient)
	if n == 0 && clustered {
		s.cluster = cluster
		return s, nil
	}
	s.chosen.Store(newShares(prefix, max(n, 1)))
	return s, nil
}

// newShares gives each partition the queue with its share of the slots. If the masters of a
// cluster have equal shares, a partition and its queue are on the same master.
func newShares(prefix string, n int) *shares {
	s := &shares{names: Names(prefix, n)}
	if n == 1 {
		return s
	}
	for p := range s.of {
		s.of[p] = uint8(share(slot(keyspace.Tag(p)), n))
	}
	return s
}

// shares returns the queue of each partition. The error is a *fault.UnavailableError if the
// masters could not be counted yet.
func (s *spread) shares(ctx context.Context) (*shares, error) {
	if chosen := s.chosen.Load(); chosen != nil {
		return chosen, nil
	}
	var masters atomic.Int64
	err := s.cluster.ForEachMaster(ctx, func(context.Context, *redis.Client) error {
		masters.Add(1)
		return nil
	})
	if err != nil {
		return nil, store.Explain(err, "counting the masters of the cluster")
	}
	// Other goroutines may have counted at the same time: all use the first count.
	s.chosen.CompareAndSwap(nil, newShares(s.prefix, int(min(max(masters.Load(), 1), MaxQueues))))
	return s.chosen.Load(), nil
}

// queueOf returns the queue of a partition.
func (s *shares) queueOf(partition int) string { return s.names[s.of[partition]] }

// perQueue splits messages by their queue or lane.
func (s *spread) perQueue(chosen *shares, queued []sendlimit.Timer, now time.Time) map[string][]sendlimit.Timer {
	parts := make(map[string][]sendlimit.Timer)
	for _, m := range queued {
		name := s.queueFor(chosen, m, now)
		parts[name] = append(parts[name], m)
	}
	return parts
}

// queueFor returns the queue, or the lane of one, that a message goes into.
func (s *spread) queueFor(chosen *shares, m sendlimit.Timer, now time.Time) string {
	i := chosen.of[keyspace.Partition(m.User)]
	if s.herds.add(m.Origin.Account, m.Due, now) {
		if lane := laneOf(s.first, m.Origin, int(i), len(chosen.names)); s.herds.mayUse(lane, now) {
			return lane
		}
	}
	return chosen.names[i]
}

// ofUser returns the queue of a user's messages.
func (q *Queue) ofUser(ctx context.Context, user string) (string, error) {
	s, err := q.spread.shares(ctx)
	if err != nil {
		return "", err
	}
	return s.queueOf(keyspace.Partition(user)), nil
}

// has reports whether a queue is one of the shares.
func (s *shares) has(name string) bool { return slices.Contains(s.names, name) }

// queueFor returns the queue, or the lane of one, that a message goes into.
func (q *Queue) queueFor(ctx context.Context, m sendlimit.Timer) (string, error) {
	chosen, err := q.spread.shares(ctx)
	if err != nil {
		return "", err
	}
	return q.spread.queueFor(chosen, m, q.answering.local()), nil
}
