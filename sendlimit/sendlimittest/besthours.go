package sendlimittest

import (
	"math/big"
	"math/rand/v2"
	"time"

	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// quarter is a time in which no clock of historyZones changes its hour.
const quarter = 15 * time.Minute

// BestTime returns the time in [from, until), Unix ms, that a message with a key of 48 bits is drawn
// by the weights of the hours of a zone: it looks at the clock every quarter of an hour.
func BestTime(best policy.BestHours, zone *time.Location, from, until, key int64) int64 {
	weights, weighed := make([]int64, 0), int64(0)
	next := func(t int64) int64 { return min(until, moment(t).Truncate(quarter).Add(quarter).UnixMilli()) }
	for t := from; t < until; t = next(t) {
		weight := int64(0)
		if local := moment(t).In(zone); len(best) > 0 {
			weight = int64(best[(int(local.Weekday())+6)%7*24+local.Hour()])
		}
		weights = append(weights, weight)
		weighed += weight * (next(t) - t)
	}
	if weighed == 0 {
		return from + key%(until-from)
	}
	part := new(big.Int).Mul(big.NewInt(key), big.NewInt(weighed))
	left := part.Rsh(part, 48).Int64()
	for t := from; ; t = next(t) {
		all := weights[0] * (next(t) - t)
		if left < all {
			return t + left/weights[0]
		}
		left, weights = left-all, weights[1:]
	}
}

// DrawBestHours draws best hours: none, even ones, a few, or any.
func DrawBestHours(t *rapid.T) policy.BestHours {
	of := rapid.SampledFrom([]int{0, 1, 40, 4, 2}).Draw(t, "best hours of")
	if of == 0 {
		return nil
	}
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "best hours"), 0))
	best := make(policy.BestHours, policy.HoursOfWeek)
	for i := range best {
		if random.IntN(of) == 0 && of != 2 {
			best[i] = uint16(random.IntN(policy.MaxWeight + 1))
		}
	}
	return best
}
