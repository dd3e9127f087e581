package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
)

// measureHeard compares deliveries while somebody listens to all events with deliveries while
// nobody does: from the schedule to the settled message, and to its event among those of the
// account. The rounds alternate.
func measureHeard(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	const each = 250 * time.Microsecond
	rounds := 2 * size.deliveryRounds
	due := time.Now().Add(shortHorizon + 2*time.Second + time.Duration(size.deliveries*rounds)*each)
	for round := range rounds {
		if err := s.fillSchedule(ctx, round, size.deliveries, due, shortHorizon); err != nil {
			return nil, err
		}
	}
	if time.Now().After(due.Add(-shortHorizon)) {
		return nil, errors.New("the messages were due before all were submitted: the machine is too slow for these sizes")
	}
	pause(ctx, time.Until(due)+time.Second)

	var spent, took [2][]float64 // while nobody listens, and while somebody does
	for round := range rounds {
		heard := round % 2
		before, err := s.mainThread(ctx)
		if err != nil {
			return nil, err
		}
		lasted, err := s.drainHeard(ctx, round, size.deliveries, heard == 1)
		if err != nil {
			return nil, err
		}
		after, err := s.mainThread(ctx)
		if err != nil {
			return nil, err
		}
		spent[heard] = append(spent[heard], float64((after-before).Nanoseconds())/1000/float64(size.deliveries))
		took[heard] = append(took[heard], float64(size.deliveries)/lasted.Seconds())
	}
	return []row{
		atMost("delivery-heard", "processor time of Redis for a delivery, from the schedule to the settled message and its gathered event, "+
			"while somebody listens / while nobody does", median(ratios(spent[1], spent[0])), 1.2,
			fmt.Sprintf("%.0f µs", median(spent[1])), fmt.Sprintf("%.0f µs", median(spent[0])),
			fmt.Sprintf("%.0f and %.0f deliveries a second, %.2f ×", median(took[1]), median(took[0]), median(ratios(took[1], took[0]))),
			fmt.Sprintf("%d rounds of %d messages each, a user each", size.deliveryRounds, size.deliveries)),
	}, nil
}

// drainHeard is drainSchedule, with somebody who listens or nobody. Then it returns only when
// all events are gathered.
func (s *store) drainHeard(ctx context.Context, round, n int, heard bool) (took time.Duration, err error) {
	prefix := deliveryPrefix(round)
	listeners := events.NewListeners(s.client, keyspace.KeysUnder(prefix))
	keys, err := keyspace.NewKeys(prefix)
	if err != nil {
		return 0, fmt.Errorf("keys: %w", err)
	}
	if heard {
		if err := listeners.Listen(ctx, keyspace.Everyone, time.Now().Add(time.Hour)); err != nil {
			return 0, fmt.Errorf("listen: %w", err)
		}
	}
	opened, err := backend.Open(s.client, backend.Options{Options: sendlimit.Options{Prefix: prefix, Horizon: shortHorizon}})
	if err != nil {
		return 0, fmt.Errorf("backend: %w", err)
	}
	if err := opened.Listen.Load(ctx); err != nil {
		return 0, fmt.Errorf("who listens: %w", err)
	}
	count, since := newTally(n), time.Now()
	stop, err := startWorker(ctx, opened, tasks.WorkerOptions{Notifier: silent{count}, Tolerance: time.Hour, RelayOptions: tasks.RelayOptions{RelayEvery: time.Second}})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if _, err = count.rate(ctx); err != nil {
		return 0, err
	}
	if err = untilNone(ctx, opened.Watch.Pending); err != nil || !heard {
		return time.Since(since), err
	}
	err = untilNone(ctx, func(ctx context.Context) (int, error) {
		gathered, err := s.client.XLen(ctx, keys.AccountEvents(keyspace.Everyone)).Result()
		if err != nil {
			return 0, fmt.Errorf("count the gathered events: %w", err)
		}
		return n - int(gathered), nil
	})
	return time.Since(since), err
}
