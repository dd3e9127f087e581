package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

type redisServer struct{ server *redistest.Server }

// A blocking call of Redis that waits for a time ends with the next of so many looks a second. BullMQ
// waits for the time of a delayed job like this; with Redis's default of 10 it is 50 ms late on average.
const looks = "100"

func startRedis(ctx context.Context, durable bool) (store, error) {
	args := []string{"--hz", looks}
	if durable {
		args = append(args, "--appendonly", "yes", "--appendfsync", "everysec")
	}
	server, err := redistest.Start(ctx, redistest.Options{Args: args})
	if err != nil {
		return nil, fmt.Errorf("start redis-server: %w", err)
	}
	return redisServer{server}, nil
}

func (r redisServer) url() string { return r.server.URL() }

func (r redisServer) pid() int { return r.server.PID() }

func (r redisServer) close() error { return r.server.Close() }

func (r redisServer) restart(ctx context.Context) error {
	if err := r.server.Restart(ctx); err != nil {
		return fmt.Errorf("start redis-server again: %w", err)
	}
	return nil
}

func (redisServer) settings(durable bool) string {
	if durable {
		return "hz " + looks + ", appendfsync everysec"
	}
	return "hz " + looks + ", no persistence"
}

func (r redisServer) version(ctx context.Context) (string, error) {
	v, err := r.info(ctx, "server", "redis_version")
	return "Redis " + v, err
}

func (r redisServer) bytes(ctx context.Context) (int, error) {
	text, err := r.info(ctx, "memory", "used_memory")
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("used_memory: %w", err)
	}
	return n, nil
}

func (r redisServer) info(ctx context.Context, section, field string) (string, error) {
	text, err := r.server.Client().Info(ctx, section).Result()
	if err != nil {
		return "", fmt.Errorf("INFO %s: %w", section, err)
	}
	for line := range strings.SplitSeq(text, "\r\n") {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return value, nil
		}
	}
	return "", fmt.Errorf("INFO %s has no %s", section, field)
}
