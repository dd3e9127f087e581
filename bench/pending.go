package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/hibiken/asynq"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// pendingContent is the content of a pending message, bytes.
const pendingContent = 150

// measurePending compares the memory of a pending message, everything in Redis counted, with
// that of a bare asynq task with the same content. A user has one message. All are due later
// than the horizon, so that asynq has none of ours. The larger ratio counts.
func measurePending(ctx context.Context, size sizes) ([]row, error) {
	var worst float64
	var figures []string
	for _, users := range size.pendingUsers {
		ours, err := pendingEach(ctx, size.warmUp, users, (*store).fillPending)
		if err != nil {
			return nil, err
		}
		bare, err := pendingEach(ctx, size.warmUp, users, (*store).fillBare)
		if err != nil {
			return nil, err
		}
		worst = max(worst, ours/bare)
		figures = append(figures, fmt.Sprintf("%d users: message %.1f bytes, task %.1f bytes: %.2f ×", users, ours, bare, ours/bare))
	}
	return []row{
		atMost("memory-pending", "Redis memory of a pending message with 150 bytes of content, one a user (place, record, watch entry)"+
			" / a bare asynq task with ProcessAt", worst, 1.15, figures...),
	}, nil
}

// pendingEach returns how many bytes of an empty Redis one of so many messages takes, after a
// warm-up with others.
func pendingEach(ctx context.Context, warmUp, users int, fill func(*store, context.Context, *schedule, int) error) (float64, error) {
	bytes, err := memoryOf(ctx,
		func(s *store) error { return fill(s, ctx, newSchedule(warmUp, 1), warmUp) },
		func(s *store) error { return fill(s, ctx, newSchedule(users, 1), users) })
	return bytes / float64(users), err
}

// fillPending accepts a message for each of n users.
func (s *store) fillPending(ctx context.Context, times *schedule, n int) (err error) {
	timelines, done, err := s.fillingTimelines()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	_, err = drive(ctx, n, func(ctx context.Context, i int) error {
		request := withRecords([]sendlimit.Request{times.request(i)})[0]
		request.Record.Content = randomContent()
		return reserve(ctx, timelines.records, request)
	})
	return err
}

// fillBare puts n bare tasks into a queue, for the same times.
func (s *store) fillBare(ctx context.Context, times *schedule, n int) error {
	client := asynq.NewClientFromRedisClient(s.client)
	_, err := drive(ctx, n, func(ctx context.Context, i int) error {
		task := asynq.NewTask("push", randomContent())
		if _, err := client.EnqueueContext(ctx, task, asynq.Queue("bare"), asynq.ProcessAt(times.request(i).At)); err != nil {
			return fmt.Errorf("enqueue: %w", err)
		}
		return nil
	})
	return err
}

func randomContent() []byte {
	content := make([]byte, pendingContent)
	for i := range content {
		content[i] = byte('a' + rand.IntN(26))
	}
	return content
}
