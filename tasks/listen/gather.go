package listen

import (
	"context"
	"log/slog"
	"time"

	"github.com/sendlimit/sendlimiter/internal/turn"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/metrics"
)

const (
	// gatherAfter is the time from a change of this process until its events are gathered,
	// together with those of further changes.
	gatherAfter = 200 * time.Millisecond
	// lastWithin bounds the last gathering of a worker that stops.
	lastWithin = time.Second
)

// Gathering gathers events in the background of a worker.
type Gathering struct {
	Gatherer    *events.Gatherer
	Turns       *turn.Turns
	Subscribers *sendlimit.Subscribers
	Metrics     *metrics.Metrics
	Logger      *slog.Logger
}

// Start gathers the events of this process soon after they were written, and those of all partitions
// about so often, until the returned function is called. That function
// gathers the last events of this process.
func (g *Gathering) Start(ctx context.Context, every time.Duration) (stop func()) {
	var left []int // partitions that were not gathered to their end
	stopOwn := job.Background(ctx, func(own context.Context) {
		for {
			if len(left) == 0 {
				select {
				case <-own.Done():
					return
				case <-g.Subscribers.Noted():
				}
			}
			if !storeclock.Sleep(own, nil, gatherAfter) {
				return
			}
			left = g.gatherOwn(own, left)
		}
	})
	stopRounds := job.Start(ctx, g.Logger, job.Periodic{
		Every: every, Soon: true, Failed: "could not gather all events: the next round does",
		Run: func(ctx context.Context) error { return g.round(ctx, every) },
	})
	return func() {
		stopRounds()
		stopOwn()
		last, done := context.WithTimeout(context.WithoutCancel(ctx), lastWithin)
		defer done()
		for left = g.gatherOwn(last, left); len(left) > 0 && last.Err() == nil; {
			left = g.gatherOwn(last, left)
		}
	}
}

// gatherOwn gathers once from the partitions that this process changed, and from others. It
// returns the unfinished ones.
func (g *Gathering) gatherOwn(ctx context.Context, others []int) (left []int) {
	partitions := append(g.Subscribers.Take(), others...)
	if len(partitions) == 0 {
		return nil
	}
	found, err := g.Gatherer.Gather(ctx, partitions)
	g.tell(ctx, found)
	if err != nil {
		if ctx.Err() == nil {
			g.Logger.DebugContext(ctx, "could not gather all events: trying again", "error", err)
		}
		return partitions
	}
	return found.More
}

// round gathers from all partitions, if an account listens and no other worker did so lately.
func (g *Gathering) round(ctx context.Context, every time.Duration) error {
	if g.Subscribers.Argument() == "" {
		g.Metrics.EventsWaited(0)
		return nil
	}
	if g.Turns.Taken(ctx, keyspace.WorkEvents, every) {
		return nil
	}
	partitions := make([]int, keyspace.Partitions)
	for i := range partitions {
		partitions[i] = i
	}
	waited := time.Duration(0)
	for len(partitions) > 0 {
		found, err := g.Gatherer.Gather(ctx, partitions)
		g.tell(ctx, found)
		if err != nil {
			return err
		}
		waited, partitions = max(waited, found.Waited), found.More
	}
	g.Metrics.EventsWaited(waited)
	return nil
}

// tell counts gathered events.
func (g *Gathering) tell(ctx context.Context, found events.Gathered) {
	g.Metrics.EventsGathered(found.Appended)
	if found.Unreadable > 0 {
		g.Logger.WarnContext(ctx, "left out events that this program can't read", "events", found.Unreadable)
	}
}
