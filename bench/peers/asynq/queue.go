package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/bench/peers/side"
)

const (
	task      = "push"
	queueName = "default"
	// connections are as many as sendlimit's worker has.
	connections = 128
	// concurrency, checkEvery and retryAfter are tuned: asynq's defaults are a task for each processor,
	// 5 s between checks of due tasks, 1 s between checks of an empty queue, and a retry after at least
	// 15 s. Frequent checks cost Redis little here, and a task is late by the two intervals.
	concurrency = 512
	checkEvery  = 20 * time.Millisecond
	retryAfter  = time.Second
)

// limiter decides whether a message is accepted. giveBack undoes an accept that no task follows.
type limiter interface {
	take(ctx context.Context, m side.Message) (bool, error)
	giveBack(ctx context.Context, m side.Message) error
}

func limiters() map[string]func(redis.UniversalClient) limiter {
	return map[string]func(redis.UniversalClient) limiter{"redis_rate": newRates, "zset": newSends}
}

// queue implements side.Product.
type queue struct {
	newLimiter func(redis.UniversalClient) limiter

	redis  *redis.Client
	joint  *redis.AutoPipeliner // sends the commands of concurrent callers together
	limit  limiter
	client *asynq.Client
	server *asynq.Server // nil in a submitter
}

// push is the payload of a task.
type push struct {
	User  string `json:"user"`
	Title string `json:"title"`
	Body  string `json:"body"`
}

// Open implements side.Product.
func (q *queue) Open(ctx context.Context, store string, deliver func(id string) error) (string, error) {
	options, err := redis.ParseURL(store)
	if err != nil {
		return "", fmt.Errorf("address of the store: %w", err)
	}
	options.PoolSize, options.MinIdleConns = connections, connections
	q.redis = redis.NewClient(options)
	if err := q.redis.Ping(ctx).Err(); err != nil {
		return "", fmt.Errorf("connect to the store: %w", err)
	}
	if q.joint, err = q.redis.AutoPipeline(); err != nil {
		return "", fmt.Errorf("batch commands: %w", err)
	}
	q.limit, q.client = q.newLimiter(q.joint), asynq.NewClientFromRedisClient(q.joint)
	settings := fmt.Sprintf("%s; automatic pipelines, concurrency %d, checks every %v, retry after %v", versions(), concurrency, checkEvery, retryAfter)
	if deliver == nil {
		return settings, nil
	}
	q.server = asynq.NewServerFromRedisClient(q.redis, asynq.Config{
		Concurrency: concurrency, DelayedTaskCheckInterval: checkEvery, TaskCheckInterval: checkEvery,
		RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return retryAfter },
		LogLevel:       asynq.FatalLevel,
	})
	err = q.server.Start(asynq.HandlerFunc(func(ctx context.Context, _ *asynq.Task) error {
		id, _ := asynq.GetTaskID(ctx)
		return deliver(id)
	}))
	if err != nil {
		return "", fmt.Errorf("start the server: %w", err)
	}
	return settings, nil
}

// Submit implements side.Product.
func (q *queue) Submit(ctx context.Context, m side.Message) (bool, error) {
	ok, err := q.limit.take(ctx, m)
	if !ok || err != nil {
		return false, err
	}
	payload, err := json.Marshal(push{User: m.User, Title: side.Title, Body: side.Body})
	if err != nil {
		return false, fmt.Errorf("payload: %w", err)
	}
	_, err = q.client.EnqueueContext(ctx, asynq.NewTask(task, payload), asynq.TaskID(m.ID), asynq.ProcessAt(m.At))
	if err != nil {
		return false, errors.Join(fmt.Errorf("enqueue: %w", err), q.limit.giveBack(ctx, m))
	}
	return true, nil
}

// Pending implements side.Product.
func (q *queue) Pending(context.Context) (int, error) {
	inspector := asynq.NewInspectorFromRedisClient(q.redis)
	// A queue exists from its first task on.
	names, err := inspector.Queues()
	if err != nil {
		return 0, fmt.Errorf("list the queues: %w", err)
	}
	if len(names) == 0 {
		return 0, nil
	}
	info, err := inspector.GetQueueInfo(queueName)
	if err != nil {
		return 0, fmt.Errorf("count the tasks: %w", err)
	}
	return info.Size, nil
}

// Close implements side.Product.
func (q *queue) Close() error {
	if q.server != nil {
		q.server.Shutdown()
	}
	if err := errors.Join(q.joint.Close(), q.redis.Close()); err != nil {
		return fmt.Errorf("close the store: %w", err)
	}
	return nil
}
