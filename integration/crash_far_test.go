package integration_test

import (
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// crashFar has an entry in a far list, and no message.
const crashFar = "afar"

// nextWorker starts a worker after the last one has died or ended.
func (r *crashRound) nextWorker(point crashPoint) *crashProcess {
	r.Helper()
	r.sendFar()
	return r.worker(workerName, point)
}

// sendFar puts what is near in the watch list into the far lists, as if it had been accepted
// long ago, and lets the next worker look at them. An entry of a message that is no more is
// among them.
func (r *crashRound) sendFar() {
	r.Helper()
	keys := r.store.keys
	for user := range r.ids {
		require.NotEqual(r, keyspace.Partition(crashFar), keyspace.Partition(user))
		members, err := r.store.client.ZRange(r.Context(), keys.Near(user), 0, -1).Result()
		require.NoError(r, err)
		for _, member := range members {
			of, id, _, ok := keyspace.ParseWatchMember(member)
			require.True(r, ok, member)
			require.NoError(r, moveMember().Run(r.Context(), r.store.client, []string{keys.Near(of), keys.Far(of, id)}, member).Err())
		}
	}
	require.NoError(r, r.store.client.ZAdd(r.Context(), keys.Far(crashFar, "lost"), redis.Z{
		Score: float64(time.Now().UnixMilli()), Member: keyspace.WatchMember(crashFar, "lost", "g"),
	}).Err())
	require.NoError(r, r.store.client.Del(r.Context(), keys.Brought()).Err())
}

// moveMember moves a member between sorted sets, unless it was removed.
func moveMember() *redis.Script {
	return redis.NewScript(`
		local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
		if score and redis.call('ZREM', KEYS[1], ARGV[1]) == 1 then redis.call('ZADD', KEYS[2], score, ARGV[1]) end
		return 1`)
}
