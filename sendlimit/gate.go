package sendlimit

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/lua"
)

// Gate is what a message passes just before its delivery: Claim takes it for
// one delivery, Settle records what became of that. Both may be repeated with
// the same nonce and answer as the first time.
type Gate struct {
	client redis.Scripter
	keys   Keys
	keep   time.Duration
	kept   time.Duration
	expire time.Duration
}

// NewGate returns the gate of a Timeline that has the same Options.
func NewGate(client redis.Scripter, o Options) (*Gate, error) {
	t, err := NewTimeline(client, o)
	if err != nil {
		return nil, err
	}
	return &Gate{client: client, keys: t.keys, keep: t.rules.keep, kept: t.kept, expire: t.expire}, nil
}

// Verdict is what a Claim says of a task.
type Verdict uint8

// The verdicts, as lua/claim.lua numbers them.
const (
	Send   Verdict = iota // deliver it now, and settle
	Stale                 // not the message's present generation, or it ended: nothing to do
	Busy                  // another delivery holds it until Claim.Until
	Early                 // it is not due before Claim.Until
	Lapsed                // past its expiry: it was dropped and its place freed
)

var verdictNames = [...]string{"send", "stale", "busy", "early", "lapsed"} //nolint:gochecknoglobals // a constant table

// String returns the verdict as logs and metrics show it.
func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return "verdict(" + strconv.Itoa(int(v)) + ")"
}

// Delivery names one try to deliver one generation of a message.
type Delivery struct {
	User       string
	ID         string
	Generation string
	Nonce      string // made for this try, see NewGeneration
}

// Claim is the gate's answer.
type Claim struct {
	Verdict Verdict
	Until   time.Time // of Busy and Early
	// The message, of Send; of Lapsed only SendAt.
	SendAt      time.Time
	RequestedAt time.Time // zero where it is SendAt
	Attempt     int       // deliveries tried, this one included
	Category    string
	Content     []byte
	// Now is the server's clock, or the one given.
	Now time.Time
}

// Claim asks whether the task may deliver now, by the server's clock, or by
// now where that is not zero. On Send the message is held for the lease; a
// worker that has not settled by then has lost it to the next.
func (g *Gate) Claim(ctx context.Context, d Delivery, lease time.Duration, now time.Time) (Claim, error) {
	const doing = "claiming a message"
	if err := d.check(); err != nil {
		return Claim{}, err
	}
	if lease < time.Millisecond {
		return Claim{}, &InvalidError{Field: "lease", Value: lease.String(), Want: "at least 1 ms"}
	}
	answer, err := run(ctx, g.client, lua.Claim, doing, g.keysOf(d), []any{
		milliseconds(now), d.Generation, d.Nonce, lease.Milliseconds(),
		WatchMember(d.User, d.ID, d.Generation), d.ID, g.kept.Milliseconds(), g.expire.Milliseconds(),
	})
	if err != nil {
		return Claim{}, err
	}
	in := read(answer, doing)
	verdict := in.int(0)
	if in.err == nil && (verdict < 0 || verdict > int64(Lapsed)) {
		return Claim{}, replyError(doing, fmt.Sprintf("verdict %d", verdict))
	}
	c := Claim{Verdict: Verdict(verdict), Now: in.time(1)} //nolint:gosec // within 0 to Lapsed, see above
	switch c.Verdict {
	case Send:
		c.SendAt, c.RequestedAt = in.time(2), in.time(3)
		c.Attempt, c.Category, c.Content = int(in.int(4)), in.string(5), []byte(in.string(6))
	case Busy, Early:
		c.Until = in.time(2)
	case Lapsed:
		c.SendAt = in.time(2)
	case Stale:
	}
	return c, in.err
}

// Settlement is what became of a delivery. Exactly one of Delivered, Failed
// and Retry says so.
type Settlement struct {
	Delivered  bool
	ProviderID string // the provider's name for the delivered message, if any
	Failed     bool   // for good: the place is given back
	Retry      *Retry
	Reason     string // of Failed and Retry: why it was not delivered
}

// Retry makes the message pending again under a new generation.
type Retry struct {
	Generation string
	At         time.Time // not before
}

// Settle records what became of a delivery. It reports false if the delivery
// no longer holds the message: its lease ran out and another took over, whose
// settlement counts.
func (g *Gate) Settle(ctx context.Context, d Delivery, s Settlement, now time.Time) (bool, error) {
	const doing = "settling a delivery"
	if err := d.check(); err != nil {
		return false, err
	}
	args := []any{
		milliseconds(now), d.Generation, d.Nonce, "", WatchMember(d.User, d.ID, d.Generation), d.ID,
		g.kept.Milliseconds(), g.keep.Milliseconds(), s.Reason,
	}
	switch {
	case s.Delivered && !s.Failed && s.Retry == nil:
		args[3], args[8] = "d", s.ProviderID
	case s.Failed && !s.Delivered && s.Retry == nil:
		args[3] = "f"
	case s.Retry != nil && !s.Delivered && !s.Failed:
		if err := checkGeneration(s.Retry.Generation); err != nil {
			return false, err
		}
		args[3] = "p"
		args = append(args, s.Retry.Generation, s.Retry.At.UnixMilli(),
			WatchMember(d.User, d.ID, s.Retry.Generation), watchDelay.Milliseconds())
	default:
		return false, &InvalidError{Field: "settlement", Value: fmt.Sprintf("%+v", s), Want: "exactly one of delivered, failed and retry"}
	}
	answer, err := run(ctx, g.client, lua.Settle, doing, g.keysOf(d), args)
	if err != nil {
		return false, err
	}
	in := read(answer, doing)
	recorded := in.int(0)
	_ = in.time(1)
	if in.err == nil && recorded != 0 && recorded != 1 {
		return false, replyError(doing, fmt.Sprintf("outcome %d", recorded))
	}
	return recorded == 1, in.err
}

func (g *Gate) keysOf(d Delivery) []string {
	return []string{g.keys.Record(d.User, d.ID), g.keys.Timeline(d.User), g.keys.Watch(d.User)}
}

func (d Delivery) check() error {
	if err := checkUser(d.User); err != nil {
		return err
	}
	if err := checkID(d.ID); err != nil {
		return err
	}
	if err := checkGeneration(d.Generation); err != nil {
		return err
	}
	return checkGeneration(d.Nonce)
}
