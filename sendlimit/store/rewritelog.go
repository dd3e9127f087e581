package store

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// RewriteLogs makes the server, or every master of a cluster, rewrite its append-only file if it
// has one and has not rewritten it since its start. It returns the number of these servers.
//
// A log may end within the writes of a script, as after a power cut. Redis then ignores the whole
// script, but leaves it in the file: at the next start it would apply the first of these writes,
// long after others were made without them. A rewritten file does not have them. Until then the
// file must not end within a transaction, or a Redis that starts meanwhile would refuse it. So
// another transaction comes first, on a key under the prefix.
//
// It leaves out servers that do not tell, such as the embedded store. The error is ErrNoRewrite if
// a server refuses.
func RewriteLogs(ctx context.Context, client redis.UniversalClient, keys keyspace.Keys) (asked int, failed error) {
	const doing = "asking Redis to rewrite its append-only file"
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		yes, err := rewriteLog(ctx, client, keys.Mark(0))
		if yes {
			asked = 1
		}
		return asked, Explain(err, doing)
	}
	var count atomic.Int64
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		partition := 0
		for ; partition < keyspace.Partitions; partition++ {
			of, err := cluster.MasterForKey(ctx, keys.Mark(partition))
			if err != nil {
				return err
			}
			if of.Options().Addr == master.Options().Addr {
				break
			}
		}
		if partition == keyspace.Partitions {
			return nil // it has no key of this store
		}
		yes, err := rewriteLog(ctx, master, keys.Mark(partition))
		if yes {
			count.Add(1)
		}
		return err
	})
	return int(count.Load()), Explain(err, doing)
}

// ErrNoRewrite is returned when a server does not allow this program to rewrite its append-only
// file.
var ErrNoRewrite = errors.New("this program may not ask Redis to rewrite its append-only file, see docs/redis.md")

// rewriteLog makes one server rewrite its file, and reports whether it did. The key is on that
// server.
func rewriteLog(ctx context.Context, client redis.Cmdable, key string) (bool, error) {
	told, err := readInfo(ctx, client, "persistence")
	if err != nil {
		return false, err
	}
	if told["aof_enabled"] != "1" || told["aof_last_rewrite_time_sec"] != "-1" ||
		told["aof_rewrite_in_progress"] != "0" || told["aof_rewrite_scheduled"] != "0" {
		return false, nil
	}
	err = Transaction(ctx, client, func(pipe redis.Pipeliner) error { // two writes, or Redis logs no transaction
		pipe.Set(ctx, key, 1, time.Minute)
		pipe.Del(ctx, key)
		return nil
	})
	if err != nil {
		return false, err
	}
	err = client.BgRewriteAOF(ctx).Err()
	if isRefusal(err) {
		return false, ErrNoRewrite
	}
	return err == nil, err
}

// isRefusal reports whether a working server refused a command.
func isRefusal(err error) bool {
	_, replied := errors.AsType[redis.Error](err)
	return replied && describeReply(err) == ""
}
