package forecast

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

const (
	leastRest = 5 * time.Second
	mostRest  = 5 * time.Minute
	// restFactor is how much longer the rest is than what the calls took: counting takes at
	// most 0.4 % of the store's time.
	restFactor = 250
	// keptFor is how long the last forecast can be read if no worker makes another one.
	keptFor = time.Hour
)

// Rest returns how long nobody counts after a count whose calls took so long.
func Rest(took time.Duration) time.Duration {
	return min(max(restFactor*took, leastRest), mostRest)
}

// Keep counts, and stores the result for Latest, if it is the caller's turn: no other caller
// counts, and the rest after the last count is over. It reports whether it did so. Call it
// every few seconds. A zero now means the store's clock.
func (f *Forecasts) Keep(ctx context.Context, now time.Time) (kept bool, failed error) {
	// A caller that dies during its turn is replaced after the longest rest.
	mine, err := f.client.SetNX(ctx, f.keys.ForecastTurn(), 1, mostRest).Result()
	if err != nil || !mine {
		return false, store.Explain(err, "taking the turn to count what is due when")
	}
	counted, failed := f.Count(ctx, now)
	rest := Rest(counted.Took)
	_, err = f.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		if failed == nil {
			pipe.Set(ctx, f.keys.Forecast(), encode(counted), keptFor)
		}
		pipe.PExpire(ctx, f.keys.ForecastTurn(), rest)
		return nil
	})
	if failed == nil && err != nil {
		failed = store.Explain(err, "storing what is due when")
	}
	return failed == nil, failed
}

// Latest returns what Keep stored last; ok is false if there is nothing, or only something
// older than an hour.
func (f *Forecasts) Latest(ctx context.Context) (_ Forecast, ok bool, err error) {
	const doing = "reading what is due when"
	text, err := f.client.Get(ctx, f.keys.Forecast()).Bytes()
	if errors.Is(err, redis.Nil) {
		return Forecast{}, false, nil
	}
	if err != nil {
		return Forecast{}, false, store.Explain(err, doing)
	}
	latest, err := decode(text)
	if err != nil {
		return Forecast{}, false, script.ReplyError(doing, "it is not in the form of this program")
	}
	return latest, true, nil
}

// stored is a Forecast as JSON in the store, where there may be thousands of hours.
type stored struct {
	At      int64      `json:"at"`   // Unix ms
	Took    int64      `json:"took"` // µs
	Overdue int        `json:"o"`
	Pending int        `json:"p"`
	Minutes []int      `json:"m"`
	Hours   []int      `json:"h"`
	Heat    [][2]int64 `json:"heat"` // number of the hour since 1970, messages
}

func encode(f Forecast) []byte {
	s := stored{
		At: f.At.UnixMilli(), Took: f.Took.Microseconds(), Overdue: f.Overdue, Pending: f.Pending,
		Minutes: f.Minutes, Hours: f.Hours, Heat: make([][2]int64, len(f.Heat)),
	}
	for i, h := range f.Heat {
		s.Heat[i] = [2]int64{h.Start.UnixMilli() / time.Hour.Milliseconds(), int64(h.Count)}
	}
	text, _ := json.Marshal(s) // never fails: they are numbers
	return text
}

func decode(text []byte) (Forecast, error) {
	var s stored
	if err := json.Unmarshal(text, &s); err != nil {
		return Forecast{}, err //nolint:wrapcheck // the caller says what it is
	}
	f := Forecast{
		At: time.UnixMilli(s.At).UTC(), Took: time.Duration(s.Took) * time.Microsecond, Overdue: s.Overdue, Pending: s.Pending,
		Minutes: s.Minutes, Hours: s.Hours,
	}
	for _, h := range s.Heat {
		f.Heat = append(f.Heat, HourCount{time.UnixMilli(h[0] * time.Hour.Milliseconds()).UTC(), int(h[1])})
	}
	return f, nil
}
