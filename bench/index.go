package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// measureIndex compares pending messages and their accepts with and without the index of
// messages. Users and ids are UUIDs, which take the most room in it. A user has one message
// with 150 bytes of content, due later than the horizon. The largest ratio of memory counts.
func measureIndex(ctx context.Context, size sizes) ([]row, error) {
	var worst, worstBoth float64
	var figures []string
	for _, users := range size.indexUsers {
		var bytes [4]float64
		for i, kept := range []indexing{unindexed, byID, labelled, byIDAndCampaign} {
			each, err := pendingEach(ctx, size.warmUp, users, kept.fill)
			if err != nil {
				return nil, err
			}
			bytes[i] = each
		}
		worst, worstBoth = max(worst, bytes[1]/bytes[0]), max(worstBoth, bytes[3]/bytes[2])
		figures = append(figures, fmt.Sprintf("%d users: without %.1f bytes, with %.1f bytes: %.3f ×; campaign without %.1f bytes, with %.1f bytes: %.3f ×",
			users, bytes[0], bytes[1], bytes[1]/bytes[0], bytes[2], bytes[3], bytes[3]/bytes[2]))
	}
	accepts, err := measureIndexing(ctx, size)
	return append([]row{
		atMost("memory-index", "Redis memory of a pending message of UUIDs with the index / without", worst, 1.2, figures...),
		atMost("memory-campaign", "the same with a campaign, by which it is found too / without index and with as many bytes of metadata", worstBoth, 1.2, figures...),
	}, accepts...), err
}

// measureIndexing compares the Redis time of accepts, alternating.
func measureIndexing(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var sides []*side
	for i, kept := range []indexing{unindexed, byID, byIDAndCampaign} {
		timeline, err := kept.timeline(s.client, fmt.Sprintf("s%d", i))
		if err != nil {
			return nil, err
		}
		times, taken := newSchedule(size.slices*size.reserves, 1), 0
		sides = append(sides, just(func(n int) operation {
			requests := make([]sendlimit.Request, n)
			for i := range requests {
				requests[i] = kept.request(times, taken)
				taken++
			}
			return func(ctx context.Context, i int) error { return reserve(ctx, timeline, requests[i]) }
		}))
	}
	if err := s.interleave(ctx, size.slices, size.reserves, sides...); err != nil {
		return nil, err
	}
	return []row{
		state("redis-index", "Redis time of an accept with the index / without",
			fmt.Sprintf("%.2f ×, with a campaign %.2f ×", sides[1].timeOver(sides[0]), sides[2].timeOver(sides[0])),
			"without "+sides[0].timing(), "with "+sides[1].timing(), "with a campaign "+sides[2].timing()),
	}, nil
}

// indexing is what the index has of a message.
type indexing int

const (
	unindexed indexing = iota
	byID
	byIDAndCampaign
	labelled // unindexed, with metadata of the campaign's size
)

func (k indexing) timeline(client redis.Scripter, prefix string) (*sendlimit.Timeline, error) {
	timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{Prefix: prefix, Records: true, WithoutIndex: k == unindexed || k == labelled})
	if err != nil {
		return nil, fmt.Errorf("timeline: %w", err)
	}
	return timeline, nil
}

// request returns the i-th request of a schedule.
func (k indexing) request(times *schedule, i int) sendlimit.Request {
	request := withRecords([]sendlimit.Request{times.request(i)})[0]
	digest := sha256.Sum256([]byte(request.User))
	request.User = uuid.Must(uuid.FromBytes(digest[:16])).String()
	request.Record.Content = randomContent()
	switch k {
	case byIDAndCampaign:
		request.Record.Campaign = "spring"
	case labelled:
		request.Record.Metadata = []byte("spring")
	case unindexed, byID:
	}
	return request
}

// fill accepts a message for each of n users.
func (k indexing) fill(s *store, ctx context.Context, times *schedule, n int) (err error) {
	batched, err := s.filling()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, batched.Close()) }()
	timeline, err := k.timeline(batched, "sr")
	if err != nil {
		return err
	}
	_, err = drive(ctx, n, func(ctx context.Context, i int) error { return reserve(ctx, timeline, k.request(times, i)) })
	return err
}
