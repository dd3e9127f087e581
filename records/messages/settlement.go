package messages

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Outcome is the outcome of a delivery.
type Outcome uint8

// The outcomes of a delivery.
const (
	Delivered Outcome = iota + 1
	Failed            // for good: the place is given back
	Uncertain         // it may have arrived, and is not sent again: the place is kept
	NoDevice          // the user has no device for it: it is dropped, and its place is given back
	Retried           // sent again, under a new generation
)

// String returns the outcome for traces.
func (o Outcome) String() string {
	names := [...]string{Delivered: "delivered", Failed: "failed", Uncertain: "uncertain", NoDevice: "no_device", Retried: "retried"}
	if o == 0 || int(o) >= len(names) {
		return fmt.Sprintf("outcome(%d)", uint8(o))
	}
	return names[o]
}

// Settlement is the end of a delivery.
type Settlement struct {
	Outcome    Outcome
	ProviderID string    // of Delivered: the provider's id of the message, if there is one
	Began      time.Time // of Delivered: when the delivery began, Claim.Now; zero for now
	Retry      Retry     // of Retried
	Reason     string    // of all but Delivered and NoDevice: why it was not delivered, one word
	Words      string    // of Failed and Uncertain: the provider's answer, cut to MaxWords; "" for none
	// Progress has all devices for which the message has ended, including those of earlier
	// attempts; nil for no change. If the message was delivered to one, it ends as delivered unless
	// Outcome is Retried.
	Progress Progress
}

// Retry makes a message pending again under a new generation.
type Retry struct {
	Generation string
	At         time.Time // not before, but no later than the expiry; with Unsent now, or zero
	// Uncertain reports that the message may have arrived. It then keeps its place and its id,
	// however it ends.
	Uncertain bool
	// Unsent reports that nothing was sent: the attempt does not count, and the message is pending
	// at its place, as before its claim.
	Unsent bool
	// Uncounted reports that the target asked to wait: the attempt does not count, and the message
	// waits until At. It excludes Uncertain and Unsent.
	Uncounted bool
}

// MaxWords is how much of a provider's answer is kept, in bytes.
const MaxWords = 200

// Settle records the outcome of a delivery. It reports false if another delivery has claimed the
// message since, after the lease ended: then that settlement counts.
func (g *Gate) Settle(ctx context.Context, d Delivery, s Settlement, now time.Time) (bool, error) {
	const doing = "settling a delivery"
	if err := d.check(); err != nil {
		return false, err
	}
	outcome, err := s.letter()
	if err != nil {
		return false, err
	}
	reason := s.Reason
	switch s.Outcome {
	case Delivered:
		reason = s.ProviderID
	case NoDevice:
		reason = ReasonNoDevice
	case Failed, Uncertain:
		if s.Words != "" {
			reason += " " + strings.ToValidUTF8(s.Words[:min(len(s.Words), MaxWords)], "")
		}
	case Retried:
	}
	if g.fixed.KeepContent {
		outcome = strings.ToUpper(outcome)
	}
	args := []any{
		script.Milliseconds(now), d.Nonce, outcome, keyspace.WatchSuffix(d.User, d.ID), d.ID,
		g.fixed.KeepRecords.Milliseconds(), g.rules.Book().Keep.Milliseconds(), reason, script.Milliseconds(s.Began),
		g.fixed.Subscribers.Argument(), s.Progress.Encode(),
	}
	if s.Outcome == Retried {
		arrived := 0
		switch {
		case s.Retry.Unsent:
			arrived = -1
		case s.Retry.Uncertain:
			arrived = 1
		case s.Retry.Uncounted:
			arrived = -2
		}
		args = append(args, s.Retry.Generation, script.Milliseconds(s.Retry.At), g.fixed.LookAfter.Milliseconds(), arrived,
			g.fixed.ExpireAfter.Milliseconds(), g.fixed.Horizon.Milliseconds())
	}
	in := script.Call(ctx, g.client, lua.Settle, doing, []string{
		g.keys.Record(d.User, d.ID), g.keys.Timeline(d.User), g.keys.Near(d.User), g.keys.DeadLettersOf(d.User),
		g.keys.Ended(d.User), g.keys.Waiting(d.User),
	}, args)
	g.fixed.Subscribers.Note(d.User)
	_ = in.Time(1)
	return script.Yes(in)
}

// letter returns the outcome for lua/message/settle.lua.
func (s Settlement) letter() (string, error) {
	letters := [...]string{Delivered: "d", Failed: "f", Uncertain: "u", NoDevice: "n", Retried: "p"}
	letter := ""
	if int(s.Outcome) < len(letters) {
		letter = letters[s.Outcome]
	}
	if letter == "" || s.Outcome != Retried && s.Retry != (Retry{}) {
		return "", &fault.InvalidError{
			Field: "settlement", Value: fmt.Sprintf("%+v", s), Want: "exactly one of delivered, failed, uncertain and retry",
		}
	}
	if err := s.Progress.check(); err != nil {
		return "", err
	}
	if s.Outcome == Retried {
		return letter, keyspace.CheckToken("generation", s.Retry.Generation)
	}
	return letter, nil
}
