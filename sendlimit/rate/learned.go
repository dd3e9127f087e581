package rate

import (
	"context"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
)

// Learned is how fast a target accepts calls, as its refusals show: "429 Too Many Requests" does not
// say which rate is allowed. The zero Learned is that of a target which was never refused.
//
// The rate follows CUBIC (RFC 9438), as the adaptive retry mode of the AWS SDKs does (botocore's
// throttling.py). A refusal lowers it to 90 %, or to 70 % if the rate was refused within two seconds. Then it
// grows, fast at first and slowly just below the refused rate, which it reaches after 20 seconds, or 20 times
// the pause that the target asks for, so that refusals cost little. After 1.5 times that it doubles
// every 5 seconds, to find a limit that was raised. The first rate is a guess, half the calls of the
// last second: as in TCP's slow start it doubles each second until the next refusal, which halves it.
//
// Two things differ from botocore. All processes share the rate, and one decision causes many
// refusals, so only the first one of a Generation counts. And the rate grows only with its use, see
// Used: an idle target proves nothing. An hour after the last refusal or use it is forgotten.
type Learned struct {
	Generation int64   // counts the refusals that lowered the rate; zero if there is none
	Rate       float64 // calls in a second
	Refused    float64 // the rate that was refused last
}

// thousand is for how many seconds a stored rate is.
const thousand = 1000

// parseLearned reads a rate as lua/rate/learn.lua stores it. An unreadable one is none: it is learned
// again.
func parseLearned(text string) Learned {
	var generation, rate, refused int64
	if _, err := fmt.Sscan(text, &generation, &rate, &refused); err != nil || rate <= 0 {
		return Learned{}
	}
	return Learned{Generation: generation, Rate: float64(rate) / thousand, Refused: float64(refused) / thousand}
}

// Bucket returns the bucket that keeps calls to the learned rate, without bursts: at most the
// calls of 20 ms at once.
func (l Learned) Bucket(s *Paces) *TokenBucket {
	r := Rate{Interval: 10 * time.Second}
	if l.Rate > MaxCount/10 {
		r.Interval = time.Second
	}
	r.Count = min(max(int64(l.Rate*r.Interval.Seconds()), 1), MaxCount)
	return &TokenBucket{client: s.client, keys: s.keys, rate: r, capacity: max(1, int64(l.Rate/50))}
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
	f := script.Call(ctx, s.client, lua.Learn, doing, []string{s.keys.Learned(s.target)},
		[]any{"", generation, calls, pause})
	learned := parseLearned(f.String(1))
	return learned, f.Err
}
