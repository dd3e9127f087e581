package store

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// RewriteLogs asks the server, or every master of a cluster, to rewrite its append-only file if it
// has one and did not do so since it started. It returns how many it asked.
//
// A log may end within what a script wrote, as after a power cut. Redis then leaves out the whole
// script, but not from the file: at the next start it would apply the first of these writes,
// long after others were made without them. What it has rewritten has none of it.
//
// A server that does not say, such as the embedded store, is left out. The error is ErrNoRewrite if a
// server refuses.
func RewriteLogs(ctx context.Context, client redis.UniversalClient) (asked int, failed error) {
	const doing = "asking Redis to rewrite its append-only file"
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		yes, err := rewriteLog(ctx, client)
		if yes {
			asked = 1
		}
		return asked, Explain(err, doing)
	}
	var count atomic.Int64
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		yes, err := rewriteLog(ctx, master)
		if yes {
			count.Add(1)
		}
		return err
	})
	return int(count.Load()), Explain(err, doing)
}

// ErrNoRewrite is returned when a server does not let this program rewrite its append-only file.
var ErrNoRewrite = errors.New("this program may not ask Redis to rewrite its append-only file, see docs/redis.md")

// rewriteLog asks one server, and reports whether it did.
func rewriteLog(ctx context.Context, client redis.Cmdable) (bool, error) {
	text, err := client.Info(ctx, "persistence").Result()
	if isRefusal(err) {
		return false, nil // INFO is forbidden, or has no such section
	}
	if err != nil {
		return false, err //nolint:wrapcheck // the caller says what was being done
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
	err = client.BgRewriteAOF(ctx).Err()
	if isRefusal(err) {
		return false, ErrNoRewrite
	}
	return err == nil, err //nolint:wrapcheck // the caller says what was being done
}

// isRefusal reports whether a server answered that it does not do something, and works.
func isRefusal(err error) bool {
	_, replied := errors.AsType[redis.Error](err)
	return replied && describeReply(err) == ""
}
