package main

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// lateEach is how many late messages a user of the backlog has.
const lateEach = 20

// measureBacklog drains a backlog: messages of users with full timelines under the
// default policy, all of which became due while no worker ran. The time is an argument
// of the gate, so nothing waits for the days that a backlog takes.
func measureBacklog(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	o := sendlimit.Options{Records: true, ExpireAfter: 30 * 24 * time.Hour}
	timeline, err := sendlimit.NewTimeline(s.client, o)
	if err != nil {
		return nil, fmt.Errorf("timeline: %w", err)
	}
	gate, err := messages.NewGate(s.client, o)
	if err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	start := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	backlogs := make([]backlog, size.backlogUsers)
	_, err = drive(ctx, len(backlogs), func(ctx context.Context, i int) error {
		return backlogs[i].fill(ctx, timeline, userName(i), start)
	})
	if err != nil {
		return nil, err
	}

	const slowerThan = 500 * time.Microsecond
	if err := s.logSlow(ctx, slowerThan); err != nil {
		return nil, err
	}
	var claims atomic.Int64
	recovery := start.Add(3 * 24 * time.Hour)
	began := time.Now()
	_, err = drive(ctx, len(backlogs), func(ctx context.Context, i int) error {
		return backlogs[i].drain(ctx, gate, recovery, &claims)
	})
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	slowest, slow, err := s.slowest(ctx)
	if err != nil {
		return nil, err
	}
	lates := size.backlogUsers * lateEach
	measured := fmt.Sprintf("%.1f ms", slowest.Seconds()*1000)
	if slow == 0 {
		measured = fmt.Sprintf("< %.1f ms", slowerThan.Seconds()*1000)
	}
	return []row{{
		Name: "backlog", Goal: "≤ 5 ms", Measured: measured, Verdict: judge(slowest <= 5*time.Millisecond),
		What: fmt.Sprintf("the slowest script call while %d late messages of %d users drain", lates, size.backlogUsers),
		Figures: []string{
			fmt.Sprintf("%d claims in %.1f s, %d calls above %s", claims.Load(), took.Seconds(), slow, slowerThan),
		},
	}}, nil
}

// backlog has a user's messages and their tasks. It is a queue whose clock is an
// argument.
type backlog struct {
	user  string
	tasks taskHeap
}

// fill reserves a user's messages, so that the rules of an hour and a day are full.
func (b *backlog) fill(ctx context.Context, timeline *sendlimit.Timeline, user string, start time.Time) error {
	b.user = user
	for range lateEach {
		request := withRecords([]sendlimit.Request{{User: user, ID: newID(), At: start, Shift: true}})[0]
		decision, err := timeline.Reserve(ctx, request)
		if err != nil {
			return fmt.Errorf("reserve: %w", err)
		}
		if !decision.Allowed {
			return fmt.Errorf("reserve: refused with %s, where a shift finds a time", decision.Code)
		}
		heap.Push(&b.tasks, task{request.ID, request.Record.Generation, decision.At})
	}
	return nil
}

// drain claims and settles, beginning at now, until nothing is left.
func (b *backlog) drain(ctx context.Context, gate *messages.Gate, now time.Time, claims *atomic.Int64) error {
	for sent := 0; b.tasks.Len() > 0; {
		next, _ := heap.Pop(&b.tasks).(task)
		if next.due.After(now) {
			now = next.due
		}
		d := messages.Delivery{User: b.user, ID: next.id, Generation: next.generation, Nonce: keyspace.NewToken()}
		claims.Add(1)
		c, err := gate.Claim(ctx, d, time.Minute, now)
		if err != nil {
			return fmt.Errorf("claim: %w", err)
		}
		for _, placed := range c.Placed {
			heap.Push(&b.tasks, task{placed.ID, placed.Generation, placed.Due})
		}
		if c.Verdict == messages.Send {
			sent++
			if _, err := gate.Settle(ctx, d, messages.Settlement{Outcome: messages.Delivered, Began: c.Now}, now); err != nil {
				return fmt.Errorf("settle: %w", err)
			}
		}
		if b.tasks.Len() == 0 && sent != lateEach {
			return fmt.Errorf("claim: %d of %d late messages were sent", sent, lateEach)
		}
	}
	return nil
}

type task struct {
	id, generation string
	due            time.Time
}

// taskHeap implements heap.Interface, with the earliest task first.
type taskHeap []task

func (h taskHeap) Len() int           { return len(h) }
func (h taskHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h taskHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *taskHeap) Push(x any)        { *h = append(*h, x.(task)) } //nolint:forcetypeassert // only tasks are pushed
func (h *taskHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	*h = (*h)[:last]
	return t
}

// logSlow makes the server log commands slower than this.
func (s *store) logSlow(ctx context.Context, slower time.Duration) error {
	err := errors.Join(
		s.client.ConfigSet(ctx, "slowlog-max-len", "10000").Err(),
		s.client.ConfigSet(ctx, "slowlog-log-slower-than", strconv.FormatInt(slower.Microseconds(), 10)).Err(),
		s.client.Do(ctx, "slowlog", "reset").Err())
	if err != nil {
		return fmt.Errorf("set up the slow log: %w", err)
	}
	return nil
}

// slowest returns the longest duration of the scripts logged since logSlow, and their
// number.
func (s *store) slowest(ctx context.Context) (longest time.Duration, count int, err error) {
	noted, err := s.client.SlowLogGet(ctx, -1).Result()
	if err != nil {
		return 0, 0, fmt.Errorf("read the slow log: %w", err)
	}
	for _, entry := range noted {
		if len(entry.Args) > 0 && strings.EqualFold(entry.Args[0], "evalsha") {
			count++
			longest = max(longest, entry.Duration)
		}
	}
	return longest, count, nil
}
