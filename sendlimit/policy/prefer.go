package policy

import "github.com/sendlimit/sendlimiter/sendlimit/fault"

// Prefer says which free time of a window a message gets.
type Prefer string

// The values of Prefer. The zero value means PreferEarliest.
const (
	PreferEarliest Prefer = "earliest" // the first one
	PreferLatest   Prefer = "latest"   // the last one
	PreferNearest  Prefer = "nearest"  // the one nearest to a given time; of two, the earlier
	// PreferSpread is the first one from a time on that is drawn over the whole window by a hash of
	// account, user and id; if there is none, the first one. Many messages fill a window evenly.
	PreferSpread Prefer = "spread"
	// PreferBest is as PreferSpread, but the time is drawn by the user's BestHours.
	PreferBest Prefer = "best"
)

// Check returns an *InvalidError for an unknown value.
func (p Prefer) Check() error {
	switch p {
	case "", PreferEarliest, PreferLatest, PreferNearest, PreferSpread, PreferBest:
		return nil
	}
	return &fault.InvalidError{Field: "prefer", Value: string(p), Want: "earliest, latest, nearest, spread or best"}
}
