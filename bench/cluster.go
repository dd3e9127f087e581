package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

const (
	// clusterMasters is how many masters are compared with one.
	clusterMasters = 3
	// clusterHorizon is shorter than the time until the messages are due: workers hand them
	// over.
	clusterHorizon = 3 * time.Second
)

// measureCluster counts the commands of a message on the busiest master of a cluster, from
// the submit over the hand-over to the settled delivery: with one master, and with three.
// The masters share the processors of one machine, so the time that it takes would show
// nothing.
func measureCluster(ctx context.Context, size sizes) ([]row, error) {
	one, err := clusterCalls(ctx, 1, size.deliveries)
	if err != nil {
		return nil, err
	}
	several, err := clusterCalls(ctx, clusterMasters, size.deliveries)
	if err != nil {
		return nil, err
	}
	messages := float64(size.deliveries)
	busiest, each := slices.Max(several), make([]string, len(several))
	for i, calls := range several {
		each[i] = fmt.Sprintf("%.1f", calls/messages)
	}
	return []row{atLeast("cluster",
		fmt.Sprintf("messages that a cluster of %d masters carries, by the commands of a message on the busiest master / %d × those of one master",
			clusterMasters, clusterMasters),
		one[0]/busiest/clusterMasters, 0.9,
		fmt.Sprintf("%.1f commands a message with one master", one[0]/messages),
		strings.Join(each, ", ")+fmt.Sprintf(" with %d", clusterMasters),
		fmt.Sprintf("%d messages, a user each", size.deliveries),
	)}, nil
}

// clusterCalls submits and delivers messages on a cluster, and returns how many commands each
// master ran, those in scripts included.
func clusterCalls(ctx context.Context, masters, messages int) (calls []float64, err error) {
	cluster, err := redistest.StartClusterOf(ctx, masters)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: cluster.Addrs(), PoolSize: callers, ContextTimeoutEnabled: true,
		ReadTimeout: time.Minute, WriteTimeout: time.Minute, PoolTimeout: time.Minute,
	})
	defer func() { err = errors.Join(err, client.Close()) }()
	for _, script := range lua.All() {
		if err := script.Load(ctx, client).Err(); err != nil {
			return nil, fmt.Errorf("load the scripts: %w", err)
		}
	}
	if err := seedPolicy(ctx, client, ""); err != nil {
		return nil, err
	}
	for _, node := range cluster.Nodes {
		if err := node.Client().ConfigResetStat(ctx).Err(); err != nil {
			return nil, fmt.Errorf("reset the command statistics: %w", err)
		}
	}
	if err := carry(ctx, client, messages); err != nil {
		return nil, err
	}
	for _, node := range cluster.Nodes {
		ran, err := commandsOf(ctx, node.Client())
		if err != nil {
			return nil, err
		}
		calls = append(calls, ran)
	}
	return calls, nil
}

// carry submits messages that are due soon, and delivers them.
func carry(ctx context.Context, client redis.UniversalClient, messages int) error {
	opened, err := backend.Open(client, backend.Options{Options: sendlimit.Options{Horizon: clusterHorizon, LookAfter: time.Second}})
	if err != nil {
		return fmt.Errorf("backend: %w", err)
	}
	submitter, err := submit.New(opened, submit.Options{Batch: true})
	if err != nil {
		return fmt.Errorf("submitter: %w", err)
	}
	// Late enough to submit them all first, with time to spare.
	due := time.Now().Add(2*clusterHorizon + time.Duration(messages)*500*time.Microsecond)
	_, err = drive(ctx, messages, func(ctx context.Context, i int) error {
		return submitted(ctx, submitter, message.Message{
			User: userName(i), SendAt: due, Title: title, Body: body,
		})
	})
	if err := errors.Join(err, submitter.Close()); err != nil {
		return err
	}
	count := newTally(messages)
	stop, err := startWorker(ctx, opened, tasks.WorkerOptions{Notifier: silent{count}, Tolerance: time.Hour, RelayOptions: tasks.RelayOptions{RelayEvery: time.Second}})
	if err != nil {
		return err
	}
	_, err = count.rate(ctx)
	return errors.Join(err, stop())
}

// commandsOf returns how many commands a server ran since its statistics were reset, but for
// those of its clients' connections and of its operator.
func commandsOf(ctx context.Context, server *redis.Client) (float64, error) {
	text, err := server.Info(ctx, "commandstats").Result()
	if err != nil {
		return 0, fmt.Errorf("INFO commandstats: %w", err)
	}
	sum := 0
	for line := range strings.Lines(text) {
		command, rest, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		name, _, _ := strings.Cut(command, "|")
		if !ok || slices.Contains([]string{"cluster", "client", "config", "command", "hello", "info", "ping", "script"}, name) {
			continue
		}
		calls, _, _ := strings.Cut(rest, ",")
		n, err := strconv.Atoi(calls)
		if err != nil {
			return 0, fmt.Errorf("calls of %s in INFO commandstats: %w", command, err)
		}
		sum += n
	}
	return float64(sum), nil
}
