package activity

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

const (
	// MinutesOver is the longest time that Minutes reads.
	MinutesOver = 25 * time.Hour
	// HoursOver is the longest time that Hours reads.
	HoursOver = 32 * 24 * time.Hour
	// spansAtOnce is how many hashes are read in a round trip: it takes the store less than a
	// millisecond.
	spansAtOnce = 100
)

// Minutes returns the counts of each minute that begins in [from, to), from the beginning of
// the minute of from on, as far as processes have flushed them. Minutes in which nothing
// happened are there too. The error is a *fault.InvalidError for more than MinutesOver.
func (l *Log) Minutes(ctx context.Context, from, to time.Time) ([]Span, error) {
	return l.read(ctx, from, to, time.Minute, MinutesOver, "at most 25 hours after from", (*Log).minuteKey)
}

// Hours is Minutes for the hours of UTC, over at most HoursOver.
func (l *Log) Hours(ctx context.Context, from, to time.Time) ([]Span, error) {
	return l.read(ctx, from, to, time.Hour, HoursOver, "at most 32 days after from", (*Log).hourKey)
}

func (l *Log) minuteKey(start time.Time) string { return l.keys.ActivityMinute(start) }

func (l *Log) hourKey(start time.Time) string { return l.keys.ActivityHour(start) }

func (l *Log) read(
	ctx context.Context, from, to time.Time, each, most time.Duration, want string, key func(*Log, time.Time) string,
) ([]Span, error) {
	if to.Sub(from) > most {
		return nil, &fault.InvalidError{Field: "to", Value: to.UTC().Format(time.RFC3339), Want: want}
	}
	var spans []Span
	for start := from.UTC().Truncate(each); start.Before(to); start = start.Add(each) {
		spans = append(spans, Span{Start: start})
	}
	if l == nil {
		return spans, nil
	}
	for some := range slices.Chunk(spans, spansAtOnce) {
		if err := l.readSpans(ctx, some, key); err != nil {
			return nil, err
		}
	}
	return spans, nil
}

// readSpans reads the counts of spans in one round trip.
func (l *Log) readSpans(ctx context.Context, spans []Span, key func(*Log, time.Time) string) error {
	const doing = "reading what became of messages"
	found := make([]*redis.MapStringStringCmd, len(spans))
	_, err := l.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, span := range spans {
			found[i] = pipe.HGetAll(ctx, key(l, span.Start))
		}
		return nil
	})
	if err != nil {
		return store.Explain(err, doing)
	}
	var wrong error
	for i := range spans {
		for field, value := range found[i].Val() {
			if !spans[i].read(field, value) {
				wrong = errors.Join(wrong, script.ReplyError(doing, fault.Clip(field)+" is no number"))
			}
		}
	}
	return wrong
}
