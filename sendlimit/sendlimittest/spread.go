package sendlimittest

import (
	"crypto/sha256"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// spreadKey returns the number of a message by which its delays are chosen: the first 48 bits of a
// hash.
func spreadKey(r sendlimit.Request) int64 {
	var key int64
	sum := sha256.Sum256([]byte(r.Share.Account + "\x00" + r.User + "\x00" + r.ID))
	for _, b := range sum[:6] {
		key = key<<8 | int64(b)
	}
	return key
}

// nextSpread returns the time in [asked, last] that a shift takes: the first free one that is not
// within a delay, otherwise the first free one.
func (g *regime) nextSpread(category string, tl timeline, key, asked, last int64) (int64, bool) {
	for from := asked; ; {
		t, ok := g.nextFree(category, tl, from, last)
		if !ok {
			return g.nextFree(category, tl, asked, last)
		}
		if from = g.delayed(category, key, asked, t, last); from == t {
			return t, true
		}
	}
}

// delayed returns when the delay ends that a shift has at t, or t.
func (g *regime) delayed(category string, key, asked, t, last int64) int64 {
	ts, part := g.at(t).termsOf(category), g.stretch(t)
	ended := t // of the last quiet stretch
	earliest := max(asked, part.from, t-ts.spread)
	for ended > earliest && !ts.quiet.covers(ended-1) {
		ended = ts.quiet.previousEdge(ended - 1)
	}
	if ended <= earliest {
		return t
	}
	length := min(ts.spread, part.until-ended, last+1-ended)
	for edge := ended; edge < ended+length; edge = ts.quiet.nextEdge(edge) {
		if ts.quiet.covers(edge) {
			length = edge - ended
		}
	}
	return max(t, ended+key%length)
}
