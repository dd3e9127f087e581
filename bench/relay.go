package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit"
)

// measureRelay measures the Redis time of a look over all partitions of the watch list
// when no message in it needs anything, and over those of notices and charges when
// there are none.
func measureRelay(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.fill(ctx, newSchedule(size.users, 1), size.users, true); err != nil {
		return nil, err
	}
	watch, err := messages.NewWatchList(s.client, sendlimit.Options{Prefix: "sr"})
	if err != nil {
		return nil, fmt.Errorf("watch list: %w", err)
	}
	notices, err := notices.New(s.client, notices.Options{Prefix: "sr"})
	if err != nil {
		return nil, fmt.Errorf("notices: %w", err)
	}
	charges, err := quota.New(s.client, quota.Options{Prefix: "sr"})
	if err != nil {
		return nil, fmt.Errorf("charges: %w", err)
	}
	const passes, perPartition = 50, 100
	longAgo := time.Now().Add(-time.Hour) // before any entry is due
	var spent []float64
	began := time.Now()
	for range passes {
		if err := s.resetCommandTime(ctx); err != nil {
			return nil, err
		}
		messages, _, err := watch.Due(ctx, longAgo, perPartition)
		waiting, _, errNotices := notices.Due(ctx, longAgo, perPartition)
		open, errCharges := charges.Due(ctx, longAgo, perPartition)
		if err = errors.Join(err, errNotices, errCharges); err != nil {
			return nil, fmt.Errorf("relay: %w", err)
		}
		if due := len(messages) + len(waiting) + len(open); due > 0 {
			return nil, fmt.Errorf("relay: %d entries are due, where none is", due)
		}
		took, err := s.timeOf(ctx, "exists", "zrange")
		if err != nil {
			return nil, err
		}
		spent = append(spent, took.Seconds()*1000)
	}
	each := time.Since(began) / passes
	low, high := quartiles(spent)
	return []row{{
		Name: "relay", What: "Redis time of a look over all 1,024 partitions, at messages, notices and charges, with nothing due", Goal: "≤ 5 ms",
		Measured: fmt.Sprintf("%.2f ms", median(spent)), Verdict: judge(median(spent) <= 5),
		Figures: []string{
			fmt.Sprintf("%.2f ms (%.2f to %.2f) of Redis time", median(spent), low, high),
			fmt.Sprintf("%.1f ms in all, %d entries in the list", each.Seconds()*1000, size.users),
		},
	}}, nil
}
