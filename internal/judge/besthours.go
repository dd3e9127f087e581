package judge

import (
	"errors"
	"math/bits"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// BestHours are the weights of a user's hours, and the time zone of these hours.
type BestHours struct {
	Weights policy.BestHours
	Zone    *time.Location
}

// ErrOtherHours is in the chain of the error for a user whose best hours are not Call.Best.
var ErrOtherHours = errors.New("the best hours of a user have changed")

func otherHours() error {
	return &fault.UnavailableError{Detail: "the user's best hours have changed meanwhile: try again", Err: ErrOtherHours}
}

// Best returns the user's best hours.
func (u UserRules) Best() BestHours { return BestHours{u.best, u.Rules.quietZone} }

func (h BestHours) equal(other BestHours) bool {
	return slices.Equal(h.Weights, other.Weights) && h.Zone.String() == other.Zone.String()
}

// Draw returns a time from from on and before until, Unix ms: each with a probability in the ratio
// of the weight of its hour. The key of a message, see Shift.Key, decides. Without weights in that
// time, all are alike.
func (h BestHours) Draw(from, until, key int64) int64 {
	total := int64(0)
	h.pieces(from, until, func(_, length, weight int64) bool {
		total += length * weight
		return true
	})
	if total == 0 {
		return from + key%(until-from)
	}
	// This is key * total / 2^keyBits. A remainder would not be even: total may be nearly as large as
	// the keys.
	drawn, _ := bits.Mul64(uint64(key)<<(64-keyBits), uint64(total))
	left, at := int64(drawn), from
	h.pieces(from, until, func(start, length, weight int64) bool {
		if left < length*weight {
			at = start + left/weight
			return false
		}
		left -= length * weight
		return true
	})
	return at
}

// pieces calls yield for each part of a time that is in one hour of the clocks, until it returns
// false.
func (h BestHours) pieces(from, until int64, yield func(start, length, weight int64) bool) {
	if len(h.Weights) == 0 {
		return
	}
	const hour = int64(time.Hour / time.Millisecond)
	const thursday = 3 * 24 // 1 January 1970
	for start := from; start < until; {
		local := time.UnixMilli(start).In(h.Zone)
		_, offset := local.Zone()
		same := until // until when the clocks have this offset
		if _, end := local.ZoneBounds(); !end.IsZero() {
			same = min(same, end.UnixMilli())
		}
		for start < same {
			clock := start + int64(offset)*1000
			number := clock / hour
			if clock < number*hour {
				number-- // before 1970
			}
			end := min(same, start+(number+1)*hour-clock)
			weekHour := ((number+thursday)%policy.HoursOfWeek + policy.HoursOfWeek) % policy.HoursOfWeek
			if !yield(start, end-start, int64(h.Weights[weekHour])) {
				return
			}
			start = end
		}
	}
}
