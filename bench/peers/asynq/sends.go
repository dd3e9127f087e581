package main

import (
	"context"
	_ "embed" // of the script
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/bench/peers/side"
)

//go:embed take.lua
var takeSource string

// sends limits with a sorted set of send times for each user, and one script that judges and adds.
type sends struct {
	client redis.UniversalClient
	script *redis.Script
}

func newSends(client redis.UniversalClient) limiter {
	return sends{client, redis.NewScript(takeSource)}
}

func (s sends) key(m side.Message) string { return "sends:" + m.User }

func (s sends) take(ctx context.Context, m side.Message) (bool, error) {
	taken, err := s.script.Run(ctx, s.client, []string{s.key(m)}, m.ID, m.At.UnixMilli()).Bool()
	if err != nil {
		return false, fmt.Errorf("take a send time: %w", err)
	}
	return taken, nil
}

func (s sends) giveBack(ctx context.Context, m side.Message) error {
	if err := s.client.ZRem(ctx, s.key(m), m.ID).Err(); err != nil {
		return fmt.Errorf("give a send time back: %w", err)
	}
	return nil
}
