package store

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// RewriteLogs asks the server, or every master of a cluster, to rewrite its append-only file if it
// has one and did not do so since it started. It returns how many it asked.
//
// A log may end within what a script wrote, as after a power cut. Redis then leaves out the whole
// script, but not from the file: at the next start it would apply the first of these writes,
// long after others were made without them. What it has rewritten has none of it. Until then the
// file must not end within a transaction: a Redis that starts meanwhile would refuse it. So another
// transaction comes first, on a key under the prefix.
//
// A server that does not say, such as the embedded store, is left out. The error is ErrNoRewrite if a
// server refuses.
func RewriteLogs(ctx context.Context, client redis.UniversalClient, prefix string) (asked int, failed error) {
	const doing = "asking Redis to rewrite its append-only file"
	keys, err := keyspace.NewKeys(prefix)
	if err != nil {
		return 0, err
	}
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		yes, err := rewriteLog(ctx, client, keys.Mark(0))
		if yes {
			asked = 1
		}
		return asked, Explain(err, doing)
	}
	var count atomic.Int64
	err = cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
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
			return nil // it has nothing of this store
		}
		yes, err := rewriteLog(ctx, master, keys.Mark(partition))
		if yes {
			count.Add(1)
		}
		return err
	})
	return int(count.Load()), Explain(err, doing)
}

// ErrNoRewrite is returned when a server does not let this program rewrite its append-only file.
var ErrNoRewrite = errors.New("this program may not ask Redis to rewrite its append-only file, see docs/redis.md")

// rewriteLog asks one server, and reports whether it did. The key is one that it has.
func rewriteLog(ctx context.Context, client redis.Cmdable, key string) (bool, error) {
	text, err := client.Info(ctx, "persistence").Result()
	if isRefusal(err) {
		return false, nil // INFO is forbidden, or has no such section
	}
	if err != nil {
		return false, err
	}
	told := make(map[string]string)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		told[name] = value
	}
	if told["aof_enabled"] != "1" || told["aof_last_rewrite_time_sec"] != "-1" ||
		told["aof_rewrite_in_progress"] != "0" || told["aof_rewrite_scheduled"] != "0" {
		return false, nil
	}
	_, err = client.TxPipelined(ctx, func(pipe redis.Pipeliner) error { // two writes, or Redis logs no transaction
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

// isRefusal reports whether a server answered that it does not do something, and works.
func isRefusal(err error) bool {
	_, replied := errors.AsType[redis.Error](err)
	return replied && describeReply(err) == ""
}
