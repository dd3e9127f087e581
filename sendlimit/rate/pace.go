package rate

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Pace is how fast calls to a target may come. The zero Pace means no limit.
type Pace struct {
	Rate  Rate  // of all processes together; zero means no limit
	Burst int64 // calls at once, at most Rate.Count; zero means as many as the rate allows
}

// Validate checks the pace's bounds. The error is an *InvalidError for the field "rate" or "burst".
func (p Pace) Validate() error {
	if p == (Pace{}) {
		return nil
	}
	if err := p.Rate.Validate(); err != nil {
		return err
	}
	if p.Burst < 0 || p.Burst > p.Rate.Count {
		return &fault.InvalidError{
			Field: "burst", Value: strconv.FormatInt(p.Burst, 10),
			Want: fmt.Sprintf("1 to %d, which is all that the rate allows in %s", p.Rate.Count, p.Rate.Interval),
		}
	}
	return nil
}

// String describes the pace: "100/second, at most 20 at once".
func (p Pace) String() string {
	if p.Burst == 0 {
		return p.Rate.String()
	}
	return fmt.Sprintf("%s, at most %d at once", p.Rate, p.Burst)
}

// PaceState is the pace of a target, and whether the target is paused.
type PaceState struct {
	Pace

	PausedUntil time.Time // by the server's clock; zero if it is not paused
	Learned     Learned   // zero if it has refused no call for an hour
}

// Paces keeps the pace of a target in the store. Its rate is that of the Permits with the target's
// name.
type Paces struct {
	client redis.Cmdable
	keys   keyspace.Keys
	target string
}

// NewPaces returns the pace of a target, 1 to 64 of a-z 0-9 _ -, in the store behind client. The
// error is an *InvalidError.
func NewPaces(client redis.Cmdable, keys keyspace.Keys, target string) (*Paces, error) {
	return (&Paces{client: client, keys: keys}).Of(target)
}

// Of returns the paces of another target.
func (s *Paces) Of(target string) (*Paces, error) {
	if !keyspace.ValidName(target) {
		return nil, &fault.InvalidError{Field: "target", Value: target, Want: "1 to 64 of a-z 0-9 _ -"}
	}
	return &Paces{client: s.client, keys: s.keys, target: target}, nil
}

// burstWord begins the word of a pace's burst, after its rate.
const burstWord = " b"

// text returns the pace in the form that Permits read too. Rate is not zero.
func (p Pace) text() string {
	text := PermitRate{Rate: p.Rate}.text()
	if p.Burst > 0 {
		text += burstWord + strconv.FormatInt(p.Burst, 10)
	}
	return text
}

// Target returns the name of the target.
func (s *Paces) Target() string { return s.target }

// Load returns the pace; the zero Pace if there is none. The error is an *UnavailableError.
func (s *Paces) Load(ctx context.Context) (PaceState, error) { return s.Ask(ctx, s.client)() }

// Ask makes the reads of Load in a client or a pipeline, and returns the function that loads the replies.
func (s *Paces) Ask(ctx context.Context, client redis.Cmdable) (load func() (PaceState, error)) {
	values := client.MGet(ctx, s.keys.PermitRate(s.target), s.keys.Pause(s.target), s.keys.Learned(s.target))
	return func() (PaceState, error) { return readPace(values) }
}

func readPace(reply *redis.SliceCmd) (PaceState, error) {
	const doing = "looking at the pace"
	values, err := reply.Result()
	if err != nil {
		return PaceState{}, store.Explain(err, doing)
	}
	const rateOf, pausedUntil, learned = "rate", "paused until", "learned rate"
	f := script.ReadFields([]string{rateOf, pausedUntil, learned}, values)
	state := PaceState{PausedUntil: f.Time(pausedUntil), Learned: parseLearned(f.Text(learned))}
	if text := f.Text(rateOf); text != "" {
		rate, err := parsePermitRate(text)
		if err != nil {
			return PaceState{}, fmt.Errorf("%s: %w", doing, err)
		}
		_, word, _ := strings.Cut(text, burstWord)
		burst, _ := strconv.ParseInt(word, 10, 64) // zero if there is none
		state.Rate, state.Burst = rate.Rate, min(max(0, burst), rate.Count)
	}
	return state, f.Err(doing)
}

// Apply replaces the pace; the zero Pace removes it. It takes effect with the next call. Permits
// that were taken stay taken.
func (s *Paces) Apply(ctx context.Context, p Pace) error {
	if err := p.Validate(); err != nil {
		return err
	}
	const doing = "storing the pace"
	key := s.keys.PermitRate(s.target)
	if p == (Pace{}) {
		return store.Explain(s.client.Del(ctx, key).Err(), doing)
	}
	return store.Explain(s.client.Set(ctx, key, p.text(), 0).Err(), doing)
}

// Seed stores a pace if the store has none, and returns the stored one.
func (s *Paces) Seed(ctx context.Context, p Pace) (Pace, error) {
	if err := p.Validate(); err != nil {
		return Pace{}, err
	}
	if p != (Pace{}) {
		if err := s.client.SetNX(ctx, s.keys.PermitRate(s.target), p.text(), 0).Err(); err != nil {
			return Pace{}, store.Explain(err, "storing the pace")
		}
	}
	state, err := s.Load(ctx)
	return state.Pace, err
}

// MaxPause is the longest pause. A pause that ends later was set while the server's clock was
// ahead, and is ignored.
const MaxPause = 24 * time.Hour

// Pause stops all calls to the target for 1 ms to MaxPause. A longer pause that is in force stays.
// It returns the end of the pause.
func (s *Paces) Pause(ctx context.Context, d time.Duration) (time.Time, error) {
	const doing = "pausing a target"
	if d < time.Millisecond || d > MaxPause {
		return time.Time{}, &fault.InvalidError{Field: "pause", Value: d.String(), Want: "1ms to " + MaxPause.String()}
	}
	f := script.Call(ctx, s.client, lua.Pause, doing, []string{s.keys.Pause(s.target)},
		[]any{"", d.Milliseconds(), MaxPause.Milliseconds()})
	until := f.Time(1)
	return until, f.Err
}

// Resume ends a pause early, and forgets the learned rate.
func (s *Paces) Resume(ctx context.Context) error {
	return store.Explain(s.client.Del(ctx, s.keys.Pause(s.target), s.keys.Learned(s.target)).Err(), "ending a pause")
}
