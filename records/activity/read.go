package activity

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

const (
	// MinutesOver is the longest time that Minutes reads.
	MinutesOver = 25 * time.Hour
	// HoursOver is the longest time that Hours reads.
	HoursOver = 32 * 24 * time.Hour
	// spansAtOnce is how many hashes a round trip reads, which takes the store less than a
	// millisecond.
	spansAtOnce = 100
)

// Minutes returns the flushed counts of each minute that begins in [from, to), from the beginning
// of the minute of from on. It includes minutes without counts. The error is a *fault.InvalidError
// for more than MinutesOver.
func (l *Log) Minutes(ctx context.Context, from, to time.Time) ([]Span, error) {
	return l.between(ctx, from, to, time.Minute, MinutesOver, "at most 25 hours after from", keyspace.Keys.ActivityMinute)
}

// Hours is Minutes for the hours of UTC, over at most HoursOver.
func (l *Log) Hours(ctx context.Context, from, to time.Time) ([]Span, error) {
	return l.between(ctx, from, to, time.Hour, HoursOver, "at most 32 days after from", keyspace.Keys.ActivityHour)
}

// Days returns the flushed counts of an account for the natural days with these starts.
func (l *Log) Days(ctx context.Context, account string, starts ...time.Time) ([]Span, error) {
	if !keyspace.ValidName(account) {
		return nil, &fault.InvalidError{Field: "account", Value: account, Want: keyspace.WantName}
	}
	days := make([]Span, len(starts))
	for i, start := range starts {
		days[i].Start = start
	}
	return days, l.read(ctx, days, func(k keyspace.Keys, start time.Time) string { return k.ActivityDay(account, start) })
}

func (l *Log) between(
	ctx context.Context, from, to time.Time, each, most time.Duration, want string, key func(keyspace.Keys, time.Time) string,
) ([]Span, error) {
	if to.Sub(from) > most {
		return nil, &fault.InvalidError{Field: "to", Value: to.UTC().Format(time.RFC3339), Want: want}
	}
	var spans []Span
	for start := from.UTC().Truncate(each); start.Before(to); start = start.Add(each) {
		spans = append(spans, Span{Start: start})
	}
	return spans, l.read(ctx, spans, key)
}

func (l *Log) read(ctx context.Context, spans []Span, key func(keyspace.Keys, time.Time) string) error {
	const doing = "reading what became of messages"
	if l == nil {
		return nil
	}
	var wrong error
	for some := range slices.Chunk(spans, spansAtOnce) {
		found := make([]*redis.MapStringStringCmd, len(some))
		_, err := l.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i, span := range some {
				found[i] = pipe.HGetAll(ctx, key(l.keys, span.Start))
			}
			return nil
		})
		if err != nil {
			return store.Explain(err, doing)
		}
		for i := range some {
			for field, value := range found[i].Val() {
				if count, err := strconv.ParseInt(value, 10, 64); err == nil {
					some[i].add(field, count)
				} else {
					wrong = errors.Join(wrong, script.ReplyError(doing, fault.Clip(field)+" is no number"))
				}
			}
		}
	}
	return wrong
}
