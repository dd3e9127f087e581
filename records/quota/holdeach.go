package quota

import (
	"context"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// sameClock is how far apart the clocks of the users' servers may be for holds in one call.
const sameClock = 100 * time.Millisecond

// holdTogether is how many holds a call makes at most, since other calls wait for it. There are as
// many letters.
const holdTogether = 64

// Answer is the answer to one of several requests.
type Answer struct {
	Charge Charge
	Err    error // as of Hold; Charge is zero
}

// HoldEach is Hold for each of several requests, in their order. Consecutive ones of the same
// account share a call of the store, which judges each with those before it. A move and a message
// with a throttle have separate calls.
func (c *Charges) HoldEach(ctx context.Context, requests ...Request) []Answer {
	answers, asked := make([]Answer, len(requests)), make([]holdRequest, len(requests))
	for i := range requests {
		asked[i], answers[i].Err = requests[i].holdRequest()
	}
	for first := 0; first < len(requests); {
		after := first + 1
		if answers[first].Err == nil && asked[first].mayShare() {
			for after < len(requests) && after-first < holdTogether &&
				answers[after].Err == nil && c.share(asked[first], asked[after]) {
				after++
			}
			c.holdShared(ctx, asked[first:after], answers[first:after])
		} else if answers[first].Err == nil {
			answers[first].Charge, answers[first].Err = c.holdAll(ctx, asked[first])
		}
		first = after
	}
	return answers
}

// mayShare reports whether a request can share its call.
func (a holdRequest) mayShare() bool {
	return len(a.parts) == 1 && a.request.Account.Name != "" && a.request.Info == nil
}

// share reports whether two requests that may share a call have the same account, limits, alerts
// and time.
func (c *Charges) share(a, b holdRequest) bool {
	r, other := a.request, b.request
	return b.mayShare() && r.Now.Equal(other.Now) &&
		(c.aheadOf(r, r.Account.Name)-c.aheadOf(other, r.Account.Name)).Abs() < sameClock &&
		r.Account.Name == other.Account.Name && r.Account.Contact == other.Account.Contact &&
		r.Tier.MessagesPerHour == other.Tier.MessagesPerHour && r.Tier.MessagesPerDay == other.Tier.MessagesPerDay &&
		(r.Tier.AlertAt == nil) == (other.Tier.AlertAt == nil) && slices.Equal(r.Tier.AlertAt, other.Tier.AlertAt) &&
		a.parts[0].alertZone() == b.parts[0].alertZone()
}

// holdShared makes holds in one call.
func (c *Charges) holdShared(ctx context.Context, asked []holdRequest, answers []Answer) {
	parts := make([]holdPart, len(asked))
	for i := range asked {
		parts[i] = asked[i].parts[0]
	}
	token := keyspace.NewToken()
	held, err := c.hold(ctx, token, parts)
	for i, a := range asked {
		if err != nil {
			answers[i].Err = err
			continue
		}
		answers[i].Charge = a.begin(token, i)
		a.add(&answers[i].Charge, parts[i], held[i])
	}
}
