package sendlimittest

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// Placed is a message and its place in the timeline of its user.
type Placed struct {
	ID, Category, Account string
	At                    time.Time
}

// Fits judges a place of a user among others, as Reserve would at a time, but forgets none of
// them. Its account has a share of the places. It takes no place.
func (m *Model) Fits(user string, others []Placed, p Placed, share sendlimit.Share, now time.Time) sendlimit.Decision {
	g := m.regime(user).sharing(share)
	var tl timeline
	for _, o := range others {
		tl = tl.add(g.at(cut(o.At)).newEntry(cut(o.At), o.ID, o.Category, o.Account))
	}
	return g.judge(tl, p.Category, cut(p.At), cut(now))
}
