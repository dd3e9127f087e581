package traffic

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// realLines is the number of lines of the real traffic.
const realLines = 81_959

// quantile is a point of a distribution: share is the share of values that are
// at most value.
type quantile struct{ share, value float64 }

// distribution is a list of quantiles. Between two of them values are spread
// evenly on a logarithmic scale, because all distributions here have long
// tails.
type distribution []quantile

// The shape of the real traffic, as measured.
//
//nolint:globals // constant tables
var (
	sendsPerUser = distribution{
		{0, 1},
		{0.43, 1.5},
		{0.5, 2.5},
		{0.6, 3.5},
		{0.7, 5.5},
		{0.8, 9.5},
		{0.9, 24},
		{0.95, 52},
		{0.97, 89},
		{0.98, 133},
		{0.99, 245},
		{0.995, 758},
		{0.998, 1287},
		{1, 2108},
	}
	// A session is a sequence of sends with less than four hours between one
	// and the next. Busy users have longer sessions.
	sendsPerSession = distribution{
		{0, 1}, {0.7, 1.5}, {0.8, 2.5}, {0.9, 3.5}, {0.95, 5}, {0.98, 8}, {0.99, 10}, {0.995, 14}, {0.999, 23}, {1, 54},
	}
	sendsPerBusySession = distribution{
		{0, 1},
		{0.45, 1.5},
		{0.6, 2.5},
		{0.65, 3.5},
		{0.7, 4.5},
		{0.8, 6.5},
		{0.9, 10},
		{0.95, 15},
		{0.98, 22},
		{0.99, 28},
		{0.995, 35},
		{0.999, 50},
		{1, 79},
	}
	// The seconds between two sends of a session: within a burst and between
	// bursts.
	shortGap = distribution{{0, 0.25}, {0.15, 0.5}, {0.7, 1.5}, {0.8, 4}, {0.9, 16}, {0.95, 32}, {1, 59}}
	longGap  = distribution{
		{0, 60},
		{0.1, 94},
		{0.2, 153},
		{0.3, 273},
		{0.4, 496},
		{0.5, 874},
		{0.6, 1525},
		{0.7, 2649},
		{0.8, 4594},
		{0.9, 8003},
		{1, 14_399},
	}
)

const (
	busy        = 64   // a busy user has at least this many sends
	alike       = 0.4  // share of gaps that are as short or long as the one before
	late        = 0.09 // share of sends that are submitted later than their order
	quick       = 0.25 // share of sessions whose long gaps are all from the lower half
	linesAYear  = 4000 // users of one year are submitted in parallel, years in sequence
	yearSeconds = 365 * 24 * 60 * 60
)

// draw returns a value of the distribution.
func (d distribution) draw(r *rand.Rand) float64 { return d.at(r.Float64()) }

// at returns the value that a share of the values does not exceed.
func (d distribution) at(share float64) float64 {
	i := 1
	for d[i].share < share {
		i++
	}
	low, high := d[i-1], d[i]
	between := (share - low.share) / (high.share - low.share)
	return low.value * math.Pow(high.value/low.value, between)
}

// Generate returns sends of the same shape as the real traffic: as many per
// user, as bursty, and as far out of order. The rules refuse about as many of
// them, for the same reasons. The same seed and lines give the same sends.
func Generate(seed uint64, lines int) []Send {
	r := rand.New(rand.NewPCG(seed, uint64(lines)))
	years := lines/linesAYear + 1
	var drafts []draft
	for user := 1; len(drafts) < lines; user++ {
		n := min(int(math.Round(sendsPerUser.draw(r))), lines-len(drafts))
		drafts = append(drafts, draftUser(r, fmt.Sprintf("u%05d", user), r.IntN(years), n)...)
	}
	slices.SortStableFunc(drafts, func(a, b draft) int {
		return cmp.Or(cmp.Compare(a.year, b.year), cmp.Compare(a.submitted, b.submitted))
	})
	sends := make([]Send, len(drafts))
	for i, d := range drafts {
		sends[i] = d.Send
	}
	return sends
}

// draft is a send and the time of its submission.
type draft struct {
	Send

	year      int
	submitted float64 // seconds from the start of the year
}

func draftUser(r *rand.Rand, user string, year, sends int) []draft {
	// Users with few sends are active in a part of the year only.
	begin, end := r.Float64(), r.Float64()
	if begin > end {
		begin, end = end, begin
	}
	sizes := sendsPerSession
	if sends >= busy {
		begin, end, sizes = begin*0.1, 1-(1-end)*0.1, sendsPerBusySession
	}
	drafts := make([]draft, 0, sends)
	for len(drafts) < sends {
		at := yearSeconds * (begin + (end-begin)*r.Float64())
		n := min(int(math.Round(sizes.draw(r))), sends-len(drafts))
		drafts = append(drafts, draftSession(r, user, year, at, n)...)
	}
	return drafts
}

// draftSession returns the sends of a session that begins at a second of the
// year. It ends with the year.
func draftSession(r *rand.Rand, user string, year int, at float64, sends int) []draft {
	// The more sends, the larger the share of them in bursts.
	shortShare := 1 - 0.52*math.Pow(2/float64(sends), 0.6)
	short := r.Float64() < shortShare
	longest := 1.0
	if r.Float64() < quick {
		longest = 0.5
	}
	var drafts []draft
	for range sends {
		if at >= yearSeconds {
			break
		}
		offset := time.Duration(at) * time.Second
		drafts = append(drafts, draft{Send{user, offset}, year, at + drawDelay(r)})
		if short {
			at += math.Round(shortGap.draw(r))
		} else {
			at += math.Round(longGap.at(longest * r.Float64()))
		}
		if r.Float64() >= alike {
			short = r.Float64() < shortShare
		}
	}
	return drafts
}

// drawDelay returns the seconds by which a send is submitted too late: mostly
// 0, otherwise minutes to weeks.
func drawDelay(r *rand.Rand) float64 {
	if r.Float64() >= late {
		return 0
	}
	return math.Exp(10 + 3*r.NormFloat64())
}
