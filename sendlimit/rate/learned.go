package rate

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
)

// Learned is how fast a target accepts calls, as its refusals show: "429 Too Many Requests" does not
// say which rate is allowed. The zero Learned is that of a target which was never refused.
//
// The rate is that of CUBIC (RFC 9438), as in the adaptive retry mode of the AWS SDKs (botocore's
// throttling.py). A refusal lowers it: to 90 %, and to half if that was too fast within two seconds.
// Then it grows, fast at first and slowly near the refused rate, which it reaches after 20 seconds,
// or after 20 times the pause that the target asks for: the probes must cost little. After that it
// grows faster and faster, to find a raised limit.
//
// Two things differ from botocore. All processes share the rate, so a refusal counts only if its
// call began under the present Generation: one decision causes many refusals. And the rate grows
// only with its use, see Used: an idle target proves nothing. An hour after the last refusal or use
// it is forgotten.
type Learned struct {
	Generation int64   // counts the refusals that lowered the rate; zero if there is none
	Rate       float64 // calls in a second
	Refused    float64 // the rate that was refused last
}

// thousand converts a stored rate, which is for so many seconds.
const thousand = 1000

// parseLearned reads a stored rate as lua/rate/learn.lua does. An unreadable one is none: it is
// learned again.
func parseLearned(text string) Learned {
	var generation, at int64
	var refused, from, used, span float64
	if n, err := fmt.Sscan(text, &generation, &at, &refused, &from, &used, &span); n < 6 || err != nil || span <= 0 {
		return Learned{}
	}
	now := refused - (refused-from)*math.Pow(1-used/span, 3)
	return Learned{Generation: generation, Rate: min(max(now, slowest), fastest) / thousand, Refused: refused / thousand}
}

// slowest and fastest bound a learned rate, calls in 1000 seconds.
const slowest, fastest = 100, 100_000 * thousand

// Bucket returns the bucket that keeps calls to the learned rate, without bursts: at most the
// calls of 50 ms at once.
func (l Learned) Bucket(s *Paces) *TokenBucket {
	r := Rate{Interval: 10 * time.Second}
	if l.Rate > MaxCount/10 {
		r.Interval = time.Second
	}
	r.Count = min(max(int64(l.Rate*r.Interval.Seconds()), 1), MaxCount)
	return &TokenBucket{client: s.client, keys: s.keys, rate: r, capacity: max(1, int64(l.Rate/20))}
}

// Refusal is a call that the target refused because there were too many.
type Refusal struct {
	Generation int64         // of the Learned under which it began; zero for none
	Calls      int64         // of this process in the second before; counts while no rate is known
	Pause      time.Duration // that the target asked for
}

// Refused lowers the learned rate after a refusal, and returns it. It may be repeated: a refusal of
// another generation lowers nothing.
func (s *Paces) Refused(ctx context.Context, r Refusal) (Learned, error) {
	return s.learn(ctx, r.Generation, max(r.Calls, 1), r.Pause.Milliseconds())
}

// Used raises the learned rate after about a second in which calls waited for it, and returns it:
// the zero Learned if it was forgotten.
func (s *Paces) Used(ctx context.Context) (Learned, error) { return s.learn(ctx, "", 0, 0) }

func (s *Paces) learn(ctx context.Context, generation any, calls, pause int64) (Learned, error) {
	const doing = "learning the rate of a target"
	answer, err := script.Run(ctx, s.client, lua.Learn, doing, []string{s.keys.Learned(s.target)},
		[]any{"", generation, calls, pause})
	if err != nil {
		return Learned{}, err
	}
	f := script.Read(answer, doing)
	learned := parseLearned(f.String(1))
	return learned, f.Err
}
