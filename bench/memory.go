package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// measureMemory measures how many bytes of Redis a reservation takes, for users with 10
// each: only its place, and with record and watch entry but without content, before and
// after its delivery. Few users keep a partition's watch list in Redis's compact
// encoding, many do not. So both are measured and the larger one counts.
func measureMemory(ctx context.Context, size sizes) ([]row, error) {
	var most [3]float64
	var figures [3][]string
	for _, users := range size.memoryUsers {
		for i, kept := range []kept{places, records, delivered} {
			bytes, err := memoryEach(ctx, size.warmUp, users, kept)
			if err != nil {
				return nil, err
			}
			most[i] = max(most[i], bytes)
			figures[i] = append(figures[i], fmt.Sprintf("%d users: %.1f bytes", users, bytes))
		}
	}
	return []row{
		memoryRow("memory-place", "Redis memory per reservation, 10 a user, place only", most[0], 80, figures[0]),
		memoryRow("memory-record", "the same with record and watch entry, without content and index", most[1], 360, figures[1]),
		state("memory-ended", "the same once it has been delivered, for as long as its record and its place are kept",
			strings.Join(figures[2], ", "), figures[2]...),
	}, nil
}

// kept is what Redis keeps for a reservation.
type kept int

const (
	places    kept = iota // its place
	records               // with record and watch entry
	delivered             // with the record of a message that has been delivered
)

func memoryRow(name, what string, bytes, limit float64, figures []string) row {
	return row{
		Name: name, What: what, Goal: fmt.Sprintf("≤ %g bytes", limit),
		Measured: strings.Join(figures, ", "), Verdict: judge(bytes <= limit),
		Figures: append([]string{"difference of used_memory less the clients' buffers"}, figures...),
	}
}

// memoryEach fills an empty Redis, and returns how many bytes a reservation took, without
// the index of messages, which has rows of its own. It fills and empties Redis once before,
// so that what scripts and connections allocate once does not count.
func memoryEach(ctx context.Context, warmUp, users int, kept kept) (float64, error) {
	const each = 10
	fill := func(s *store, users int) error {
		if kept >= records {
			return s.fillUnindexed(ctx, newSchedule(users, each), users*each)
		}
		return s.fill(ctx, newSchedule(users, each), users*each, false)
	}
	bytes, err := memoryOf(ctx, func(s *store) error { return fill(s, warmUp/each) }, func(s *store) error {
		err := fill(s, users)
		if err == nil && kept == delivered {
			err = s.deliverAll(ctx)
		}
		return err
	})
	return bytes / float64(users*each), err
}

// memoryOf returns how many bytes of Redis a filling takes, after a warm-up that is removed.
func memoryOf(ctx context.Context, warmUp, fill func(*store) error) (bytes float64, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := warmUp(s); err != nil {
		return 0, err
	}
	if err := s.empty(ctx); err != nil {
		return 0, err
	}
	before, err := s.memory(ctx)
	if err != nil {
		return 0, err
	}
	if err := fill(s); err != nil {
		return 0, err
	}
	after, err := s.memory(ctx)
	return float64(after - before), err
}

// fill takes the first n places of a schedule.
func (s *store) fill(ctx context.Context, times *schedule, n int, records bool) (err error) {
	timelines, done, err := s.fillingTimelines()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	_, err = drive(ctx, n, func(ctx context.Context, i int) error {
		if !records {
			return reserve(ctx, timelines.places, times.request(i))
		}
		return reserve(ctx, timelines.records, withRecords([]sendlimit.Request{times.request(i)})[0])
	})
	return err
}

// fillUnindexed is fill with records that are not in the index of messages.
func (s *store) fillUnindexed(ctx context.Context, times *schedule, n int) (err error) {
	batched, err := s.filling()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, batched.Close()) }()
	timeline, err := unindexed.timeline(batched, "sr")
	if err != nil {
		return err
	}
	_, err = drive(ctx, n, func(ctx context.Context, i int) error {
		return reserve(ctx, timeline, withRecords([]sendlimit.Request{times.request(i)})[0])
	})
	return err
}

// deliverAll claims and settles everything on the watch lists.
func (s *store) deliverAll(ctx context.Context) error {
	o := sendlimit.Options{Prefix: "sr", Records: true}
	gate, err := messages.NewGate(s.client, o)
	if err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	watch, err := messages.NewWatchList(s.client, o)
	if err != nil {
		return fmt.Errorf("watch list: %w", err)
	}
	const all = 1 << 20
	due, _, err := watch.Due(ctx, time.Now().Add(time.Hour), all)
	if err != nil {
		return fmt.Errorf("deliver everything: %w", err)
	}
	_, err = drive(ctx, len(due), func(ctx context.Context, i int) error {
		d := messages.Delivery{User: due[i].User, ID: due[i].ID, Generation: due[i].Generation, Nonce: keyspace.NewToken()}
		c, err := gate.Claim(ctx, d, time.Minute, time.Time{})
		if err == nil && c.Verdict == messages.Early {
			at := c.Until
			if _, err = gate.Claim(ctx, d, time.Minute, at); err == nil {
				_, err = gate.Settle(ctx, d, messages.Settlement{Outcome: messages.Delivered, ProviderID: newID(), Began: at}, time.Time{})
			}
		}
		if err != nil {
			return fmt.Errorf("deliver everything: %w", err)
		}
		return nil
	})
	return err
}

// memory returns how many bytes Redis has allocated for data and its management. It
// leaves out the buffers of connections, which would hide a small data set. It waits
// until the server has finished its background work, such as moving its keys to a
// larger table.
func (s *store) memory(ctx context.Context) (int, error) {
	const settled = 3 // times in a row
	last, same := 0, 0
	for ; same < settled; pause(ctx, 100*time.Millisecond) {
		used, err := s.infoInt(ctx, "memory", "used_memory")
		if err != nil {
			return 0, err
		}
		clients, err := s.infoInt(ctx, "memory", "mem_clients_normal")
		if err != nil {
			return 0, err
		}
		// The temporary use of INFO itself differs by less than a page.
		if max(used-clients, last)-min(used-clients, last) < 4096 {
			same++
		} else {
			same = 0
		}
		last = used - clients
	}
	return last, nil
}
