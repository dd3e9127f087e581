package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/traffic"
)

// changesASecond is how often a policy changes while a bulk runs.
const changesASecond = 10

// measurePolicies compares a bulk on a store with many policies that change all the time
// with the same bulk on a store with one policy.
func measurePolicies(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	folder, err := os.MkdirTemp("", "sendlimit-bench-")
	if err != nil {
		return nil, fmt.Errorf("folder for the messages: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	trace, err := traffic.Load(size.bulkLines)
	if err != nil {
		return nil, fmt.Errorf("traffic: %w", err)
	}
	b := newBulkRun(folder, trace)
	if err := b.prepare(ctx); err != nil {
		return nil, err
	}
	var still, changing []float64 // seconds
	changes := 0
	for range size.bulkRounds {
		var summary bulkSummary
		took, err := b.submit(ctx, s, &summary)
		if err != nil {
			return nil, err
		}
		still = append(still, took.Seconds())
		took, n, err := b.submitUnderChanges(ctx, s, size.policies)
		if err != nil {
			return nil, err
		}
		changing = append(changing, took.Seconds())
		changes += n
	}
	lines := float64(len(trace.Sends))
	return []row{
		atLeast("policies", "lines a second of sendlimit bulk while many policies change / with one policy", median(still)/median(changing), 0.7,
			fmt.Sprintf("%d policies, %d changes a second: %.0f/s; %d changes in all", size.policies, changesASecond, lines/median(changing), changes),
			fmt.Sprintf("one policy: %.0f/s", lines/median(still)), trace.Source),
	}, nil
}

// submitUnderChanges runs the program on a store with many policies, of which others are
// changed meanwhile. It returns how many changes there were.
func (b bulkRun) submitUnderChanges(ctx context.Context, s *store, many int) (time.Duration, int, error) {
	if err := s.empty(ctx); err != nil {
		return 0, 0, err
	}
	if err := s.seedPolicy(ctx, ""); err != nil {
		return 0, 0, err
	}
	policies := settings.NewPolicies(s.client, keyspace.KeysUnder(""))
	apply := func(i, limit int) error {
		p := policy.Default()
		p.Name = "p" + strconv.Itoa(i)
		p.Rules[2].Limit = limit
		if err := policies.Apply(ctx, p); err != nil {
			return fmt.Errorf("apply a policy: %w", err)
		}
		return nil
	}
	for i := range many {
		if err := apply(i, 10); err != nil {
			return 0, 0, err
		}
	}
	stop := make(chan struct{})
	var changer sync.WaitGroup
	var failed error
	changes := 0
	changer.Go(func() {
		tick := time.NewTicker(time.Second / changesASecond)
		defer tick.Stop()
		for failed == nil {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			changes++
			failed = apply(changes%many, 11+changes%100)
		}
	})
	var summary bulkSummary
	took, err := b.run(ctx, s, &summary)
	close(stop)
	changer.Wait()
	return took, changes, errors.Join(err, failed)
}
