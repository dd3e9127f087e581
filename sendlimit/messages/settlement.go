package messages

import (
	"context"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Settlement is what became of a delivery. Exactly one of Delivered, Failed,
// Uncertain and Retry says so.
type Settlement struct {
	Delivered  bool
	ProviderID string // the provider's name for the delivered message, if any
	Failed     bool   // for good: the place is given back
	Uncertain  bool   // nobody knows, and it is not to be sent again: the place is kept
	Retry      *Retry
	Reason     string    // of all but Delivered: why it was not delivered
	Began      time.Time // of Delivered: when the delivery began, Claim.Now; zero for now
}

// Retry makes the message pending again under a new generation.
type Retry struct {
	Generation string
	At         time.Time // not before
	// Uncertain says that the message may have arrived. It then keeps its place and
	// its id, however it ends.
	Uncertain bool
	// Unsent says that nothing was sent: the attempt does not count.
	Unsent bool
}

// Settle records the outcome of a delivery. It reports false if another delivery
// has claimed the message since, after the lease ended: the settlement of that one
// counts.
func (g *Gate) Settle(ctx context.Context, d Delivery, s Settlement, now time.Time) (bool, error) {
	const doing = "settling a delivery"
	if err := d.check(); err != nil {
		return false, err
	}
	outcome, err := s.outcome()
	if err != nil {
		return false, err
	}
	reason := s.Reason
	if s.Delivered {
		reason = s.ProviderID
	}
	args := []any{
		script.Milliseconds(now), d.Nonce, outcome, keyspace.WatchSuffix(d.User, d.ID), d.ID,
		g.fixed.KeepRecords.Milliseconds(), g.rules.Book().Keep.Milliseconds(), reason, script.Milliseconds(s.Began),
	}
	if s.Retry != nil {
		arrived := 0
		switch {
		case s.Retry.Unsent:
			arrived = -1
		case s.Retry.Uncertain:
			arrived = 1
		}
		args = append(args, s.Retry.Generation, s.Retry.At.UnixMilli(), g.fixed.LookAfter.Milliseconds(), arrived)
	}
	answer, err := script.Run(ctx, g.client, lua.Settle, doing, []string{
		g.keys.Record(d.User, d.ID), g.keys.Timeline(d.User), g.keys.Watch(d.User), g.keys.DeadLettersOf(d.User),
		g.keys.Ended(d.User),
	}, args)
	if err != nil {
		return false, err
	}
	in := script.Read(answer, doing)
	recorded := in.Int(0)
	_ = in.Time(1)
	if in.Err == nil && recorded != 0 && recorded != 1 {
		return false, script.ReplyError(doing, fmt.Sprintf("outcome %d", recorded))
	}
	return recorded == 1, in.Err
}

// outcome returns the letter of the settlement for lua/message/settle.lua.
func (s Settlement) outcome() (string, error) {
	said, outcome := 0, ""
	for _, possible := range []struct {
		name string
		is   bool
	}{{"d", s.Delivered}, {"f", s.Failed}, {"u", s.Uncertain}, {"p", s.Retry != nil}} {
		if possible.is {
			said++
			outcome = possible.name
		}
	}
	if said != 1 {
		return "", &fault.InvalidError{
			Field: "settlement", Value: fmt.Sprintf("%+v", s), Want: "exactly one of delivered, failed, uncertain and retry",
		}
	}
	if s.Retry != nil {
		return outcome, keyspace.CheckToken(s.Retry.Generation)
	}
	return outcome, nil
}
