package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Gatherer moves events from the partitions to the logs with listeners. Any number of workers may
// gather at the same time: a log gets each event once, and those of a message in the order of its
// changes.
type Gatherer struct {
	client    redis.Cmdable
	log       *Log
	listeners *Listeners
}

// NewGatherer returns a gatherer for the Log with these options. The error is an *InvalidError.
func NewGatherer(client redis.Cmdable, o Options) (*Gatherer, error) {
	log, err := NewLog(client, o)
	if err != nil {
		return nil, err
	}
	return &Gatherer{client: client, log: log, listeners: &Listeners{client: client, keys: log.keys}}, nil
}

// Gathered is the result of a call of Gather.
type Gathered struct {
	Appended   int           // events appended to logs
	Waited     time.Duration // of the oldest event
	More       []int         // partitions that may have more
	Unreadable int           // events without a type, a user or an id, which were removed
}

const (
	gathering = "gathering events"
	// gatheredAtOnce is how many events of a partition a call gathers.
	gatheredAtOnce = 200
	// partitionsAtOnce is how many partitions a round trip reads.
	partitionsAtOnce = 128
)

// Gather gathers the first events of partitions. If some can't be read or appended, it continues
// with others, and returns the errors; the events stay.
func (g *Gatherer) Gather(ctx context.Context, partitions []int) (found Gathered, failed error) {
	for some := range slices.Chunk(partitions, partitionsAtOnce) {
		failed = errors.Join(failed, g.gather(ctx, some, &found))
	}
	return found, failed
}

// gather gathers from a few partitions.
func (g *Gatherer) gather(ctx context.Context, partitions []int, into *Gathered) error {
	found, unread := g.read(ctx, partitions)
	if len(found) == 0 {
		return unread
	}
	// Loaded after the events were read: an account that is not listed was not when they were
	// written, or has stopped listening.
	listening, now, err := g.listeners.load(ctx)
	if err != nil || len(listening.Accounts()) == 0 {
		return errors.Join(unread, err)
	}
	logs := g.sort(found, listening, now, into)
	var failed error
	for _, account := range slices.Sorted(maps.Keys(logs)) {
		n, err := g.log.append(ctx, account, logs[account])
		into.Appended += n
		failed = errors.Join(failed, err)
	}
	if failed == nil { // otherwise everything is gathered again
		failed = g.remove(ctx, found)
	}
	return errors.Join(unread, failed)
}

// sort returns the events of each log.
func (g *Gatherer) sort(found []partitionEvents, listening Listening, now time.Time, into *Gathered) map[string][]source {
	logs := make(map[string][]source)
	for _, of := range found {
		for _, entry := range of.entries {
			event, err := eventOf(entry.ID, entry.Values, gathering)
			if err != nil {
				into.Unreadable++
				continue
			}
			ms, _, _ := ParseID(entry.ID)
			waited := now.Sub(time.UnixMilli(int64(ms)))
			into.Waited = max(into.Waited, waited)
			if waited > g.log.options.Keep {
				continue
			}
			for _, account := range listening.Logs(event.Account) {
				logs[account] = append(logs[account], source{of.partition, entry.ID, entry.Values})
			}
		}
		if len(of.entries) == gatheredAtOnce {
			into.More = append(into.More, of.partition)
		}
	}
	return logs
}

// partitionEvents are the first events of a partition.
type partitionEvents struct {
	partition int
	entries   []redis.XMessage
}

// read reads the first events of partitions. It omits partitions without events.
func (g *Gatherer) read(ctx context.Context, partitions []int) (found []partitionEvents, failed error) {
	answers := make([]*redis.XMessageSliceCmd, len(partitions))
	_, err := g.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, partition := range partitions {
			answers[i] = pipe.XRangeN(ctx, g.log.keys.PartitionEvents(partition), "-", "+", gatheredAtOnce)
		}
		return nil
	})
	for i, answer := range answers {
		if entries := answer.Val(); len(entries) > 0 {
			found = append(found, partitionEvents{partitions[i], entries})
		}
	}
	return found, store.Explain(err, gathering)
}

// remove removes gathered events from their partitions.
func (g *Gatherer) remove(ctx context.Context, found []partitionEvents) error {
	_, err := g.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, of := range found {
			ms, number, _ := ParseID(of.entries[len(of.entries)-1].ID)
			pipe.XTrimMinID(ctx, g.log.keys.PartitionEvents(of.partition), fmt.Sprintf("%d-%d", ms, number+1))
		}
		return nil
	})
	return store.Explain(err, "removing gathered events")
}

// source is an event in a partition.
type source struct {
	partition int
	id        string
	fields    map[string]any
}

// arguments returns the event's arguments of lua/event/append.lua.
func (s source) arguments() ([]any, error) {
	others := ""
	if len(s.fields) > 1 {
		list := make([]any, 0, 2*len(s.fields))
		for _, name := range slices.Sorted(maps.Keys(s.fields)) { // Redis needs less memory for consecutive entries with the same names
			if name != keyspace.EventLines {
				list = append(list, name, s.fields[name])
			}
		}
		text, err := json.Marshal(list)
		if err != nil {
			return nil, fmt.Errorf("writing the fields of an event: %w", err)
		}
		others = string(text)
	}
	return []any{s.id + " " + strconv.Itoa(s.partition), s.fields[keyspace.EventLines], others}, nil
}
