package overview

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/activity"
	"github.com/sendlimit/sendlimiter/records/forecast"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// How often the parts are read at most.
const (
	freshFor  = time.Second     // the counts of the present minute, and the overview as a whole
	stateFor  = 3 * time.Second // workers, channels, paces, the queue
	forecasts = 4 * time.Second
	listsFor  = 15 * time.Second // dead letters and the watch list, in each partition
)

// Reader reads the overview. It is safe for concurrent use.
type Reader struct {
	client   redis.UniversalClient
	prefix   string
	activity *activity.Log
	forecast *forecast.Forecasts
	watch    *messages.WatchList
	Stats    *Stats
	channels *channels.Store

	keys keyspace.Keys

	mu      sync.Mutex
	history []activity.Span
	past    part
	last    *Overview
	lastAt  time.Time // local
	closed  []activity.Span
	states  part
	lists   part
	dues    part
}

// part is when a part was last read, by the local clock.
type part struct{ at time.Time }

// due reports whether to read the part again. If so, the part counts as read.
func (p *part) due(now time.Time, every time.Duration) bool {
	if age := now.Sub(p.at); age >= 0 && age < every {
		return false
	}
	p.at = now
	return true
}

// New returns the reader of a backend. The error is a *fault.InvalidError.
func New(b *backend.Backend) (*Reader, error) {
	stats, err := NewStats(b.Client, b.Timeline.Prefix)
	if err != nil {
		return nil, err
	}
	return &Reader{
		client: b.Client, keys: b.Keys, activity: b.Activity, forecast: b.Forecasts, watch: b.Watch, Stats: stats,
		channels: channels.NewStore(b.Client, b.Keys),
	}, nil
}

// Read returns the overview, at most a second old. now is the local clock. The error is a
// *fault.UnavailableError if nothing could be read yet.
func (r *Reader) Read(ctx context.Context, now time.Time) (*Overview, error) {
	r.mu.Lock() // callers that wait get the same overview
	defer r.mu.Unlock()
	if age := now.Sub(r.lastAt); r.last != nil && age >= 0 && age < freshFor {
		return r.last, nil
	}
	at, err := r.client.Time(ctx).Result()
	if err != nil {
		return nil, store.Explain(err, "asking the store for the time")
	}
	next := Overview{Horizon: r.watch.Horizon()}
	if r.last != nil {
		next = *r.last
	}
	next.At, next.Failed = at.UTC(), nil
	if err := r.readMinutes(ctx, &next); err != nil {
		return nil, err
	}
	set(&next.Sending, &next.Failed)(r.Sending(ctx))
	if r.dues.due(now, forecasts) {
		latest, ok, err := r.forecast.Look(ctx, next.At)
		if next.Failed = errors.Join(next.Failed, err); ok {
			next.Forecast = latest
		}
	}
	if r.states.due(now, stateFor) {
		next.Failed = errors.Join(next.Failed, r.readStates(ctx, &next))
	}
	if r.lists.due(now, listsFor) {
		next.Failed = errors.Join(next.Failed, r.readLists(ctx, &next))
	}
	r.last, r.lastAt = &next, now
	return r.last, nil
}

// Sending returns the stop of all sending as it is now; nil for none.
func (r *Reader) Sending(ctx context.Context) (*channels.SendingStop, error) {
	return r.channels.Sending(ctx)
}

// minutesShown is how many minutes an overview has.
const minutesShown = 60

// settled is how long after its end the counts of a minute may still grow: processes write
// them within a second or two.
const settled = 90 * time.Second

// readMinutes reads the counts of the last hour, without those that no longer change.
func (r *Reader) readMinutes(ctx context.Context, o *Overview) error {
	first := o.At.Truncate(time.Minute).Add(-(minutesShown - 1) * time.Minute)
	for len(r.closed) > 0 && r.closed[0].Start.Before(first) {
		r.closed = r.closed[1:]
	}
	from := first
	if n := len(r.closed); n > 0 {
		if r.closed[0].Start.Equal(first) {
			from = r.closed[n-1].Start.Add(time.Minute)
		} else {
			r.closed = nil
		}
	}
	read, err := r.activity.Minutes(ctx, from, o.At.Add(time.Millisecond))
	if err != nil {
		return err
	}
	o.Minutes = append(append(make([]activity.Span, 0, minutesShown), r.closed...), read...)
	o.LastHour = activity.Sum(o.Minutes...)
	for _, span := range read {
		if o.At.Sub(span.Start) > time.Minute+settled {
			r.closed = append(r.closed, span)
		}
	}
	return nil
}

// set returns a function that sets a value, or joins its error to failed.
func set[T any](to *T, failed *error) func(T, error) {
	return func(value T, err error) {
		if *failed = errors.Join(*failed, err); err == nil {
			*to = value
		}
	}
}

// readStates reads the states that have a key of their own.
func (r *Reader) readStates(ctx context.Context, o *Overview) (failed error) {
	set(&o.Workers, &failed)(queue.Servers(r.client, r.prefix))
	set(&o.Queue, &failed)(queue.Sizes(ctx, r.client, r.prefix))
	set(&o.Memory, &failed)(storeMemory(ctx, r.client))
	set(&o.Pace, &failed)(r.pace(ctx, deliver.PaceTarget))
	states, err := r.channels.Load(ctx)
	if failed = errors.Join(failed, err); err != nil {
		return failed
	}
	list := make([]Channel, 0, len(states))
	for _, s := range states {
		c := Channel{Name: s.Name, Stopped: s.Stopped, Since: s.Since}
		if s.Stopped {
			c.Reason, c.Detail = string(s.Reason), s.Detail
		}
		c.Pace, err = r.pace(ctx, deliver.ChannelPace(s.Name))
		failed = errors.Join(failed, err)
		list = append(list, c)
	}
	o.Channels = list
	return failed
}

func (r *Reader) pace(ctx context.Context, target string) (Pace, error) {
	paces, err := rate.NewPaces(r.client, r.keys, target)
	if err != nil {
		return Pace{}, err
	}
	state, err := paces.Load(ctx)
	if err != nil {
		return Pace{}, err
	}
	p := Pace{Burst: state.Burst, PausedUntil: state.PausedUntil, Learned: LearnedPace(state.Learned)}
	if state.Rate != (rate.Rate{}) {
		p.Rate = state.Rate.String()
	}
	return p, nil
}

// LearnedPace returns what is shown of a learned rate; nil for none.
func LearnedPace(l rate.Learned) *message.LearnedPace {
	if l.Generation == 0 {
		return nil
	}
	return &message.LearnedPace{PerSecond: l.Rate, RefusedPerSecond: l.Refused}
}

// readLists reads the lists of all partitions.
func (r *Reader) readLists(ctx context.Context, o *Overview) (failed error) {
	set(&o.DeadLetters, &failed)(r.Stats.letters.Count(ctx))
	set(&o.FailedAlerts, &failed)(r.Stats.notices.CountDead(ctx))
	behind, err := OldestOverdue(ctx, r.client, r.watch)
	if failed = errors.Join(failed, err); err == nil {
		o.Behind = time.Duration(behind * float64(time.Second))
	}
	return failed
}

// Renew makes the next Read read everything. Call it after a change.
func (r *Reader) Renew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastAt, r.states, r.lists, r.dues = time.Time{}, part{}, part{}, part{}
}
