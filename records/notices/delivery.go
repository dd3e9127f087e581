package notices

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Verdict is the result of a Claim.
type Verdict uint8

// The verdicts, as lua/notice/claim.lua numbers them.
const (
	Send    Verdict = iota // deliver it now, and settle
	Stale                  // there is no such notice, or it ended: nothing to do
	Busy                   // another delivery has it until Claim.Until
	Early                  // it is not due before Claim.Until
	Dropped                // it ended and was not delivered, see Claim.Reason
)

// String returns the verdict for logs.
func (v Verdict) String() string {
	names := [...]string{"send", "stale", "busy", "early", "dropped"}
	if int(v) < len(names) {
		return names[v]
	}
	return "verdict(" + strconv.Itoa(int(v)) + ")"
}

// Reasons of a notice that ended and was not delivered, in addition to those of its settlements.
const (
	ReasonExpired   = "expired"   // it could not be delivered for Options.Keep
	ReasonUncertain = "uncertain" // its last delivery did not settle it
	// ReasonSuperseded is for a waiting alert when the alert of a higher threshold of the same day
	// was delivered.
	ReasonSuperseded = "superseded"
)

// Claim is the result of Outbox.Claim.
type Claim struct {
	Verdict Verdict
	Until   time.Time // of Busy and Early
	// InGrace is set with Busy during Options.SettleWithin after another delivery's lease: claim
	// again at Until.
	InGrace bool
	Notice  Notice    // of Send
	Attempt int       // of Send: the number of deliveries, including this one
	First   time.Time // of Send: when it was first claimed
	// FirstFailed, of Send, is the first failure after which it was retried; zero for none.
	FirstFailed time.Time
	// TakenOver reports that another delivery was not settled: its notice may or may not have
	// arrived.
	TakenOver bool
	Reason    string    // of Dropped: ReasonExpired, ReasonUncertain or ReasonSuperseded
	Failed    bool      // of Dropped: it is a failed notice
	Now       time.Time // the server's clock, or the given time
}

// Claim leases a notice to one delivery. The nonce is the delivery's token, see keyspace.NewToken.
// A claim without an answer is repeated with the same nonce, and gets a whole new lease. A zero now
// means the server's clock.
//
// A notice is dropped if it could not be delivered for Options.Keep, and an alert if a higher
// threshold of the same day was reached meanwhile. A notice fails after Options.Attempts deliveries
// without a settlement. A delivery may still settle for Options.SettleWithin after its lease.
func (n *Outbox) Claim(ctx context.Context, id, nonce string, lease time.Duration, now time.Time) (Claim, error) {
	const doing = "claiming a notice"
	notice, err := checkClaim(id, nonce, lease)
	if err != nil {
		return Claim{}, err
	}
	in := script.Call(ctx, n.client, lua.NoticeClaim, doing, n.keysOf(notice), []any{
		script.Milliseconds(now), id, nonce, lease.Milliseconds(), n.options.Attempts, n.options.Keep.Milliseconds(),
		n.options.SettleWithin.Milliseconds(),
	})
	verdict, at := in.Int(0), in.Time(1)
	switch {
	case in.Err != nil:
		return Claim{}, in.Err
	case verdict < 0 || verdict > int64(Dropped):
		return Claim{}, script.ReplyError(doing, fmt.Sprintf("verdict %d", verdict))
	}
	c := Claim{Verdict: Verdict(verdict), Now: at}
	switch c.Verdict {
	case Send:
		c.Attempt, c.TakenOver = int(in.Int(2)), in.Int(3) == 1
		c.Notice, c.First = notice, in.Time(7)
		if in.Int(8) != 0 {
			c.FirstFailed = in.Time(8)
		}
		c.Notice.Used, c.Notice.Limit, c.Notice.Details = in.Int(4), in.Int(5), []byte(in.String(6))
	case Busy:
		c.Until, c.InGrace = in.Time(2), in.Int(3) == 1
	case Early:
		c.Until = in.Time(2)
	case Dropped:
		c.Reason, c.Failed = in.String(2), in.Int(3) == 1
	case Stale:
	}
	return c, in.Err
}

// Renew gives the delivery that claimed a notice a whole new lease. It reports false if the
// delivery no longer has the notice: another one took it over, or it ended. A zero now means the
// server's clock.
func (n *Outbox) Renew(ctx context.Context, id, nonce string, lease time.Duration, now time.Time) (bool, error) {
	const doing = "renewing the lease of a notice"
	notice, err := checkClaim(id, nonce, lease)
	if err != nil {
		return false, err
	}
	return script.Yes(script.Call(ctx, n.client, lua.NoticeRenew, doing, n.keysOf(notice)[:2], []any{
		script.Milliseconds(now), id, nonce, lease.Milliseconds(),
	}))
}

// checkClaim checks the arguments of a claim and returns the notice.
func checkClaim(id, nonce string, lease time.Duration) (Notice, error) {
	notice, err := parseNotice(id)
	if err != nil {
		return Notice{}, err
	}
	if err := keyspace.CheckToken("nonce", nonce); err != nil {
		return Notice{}, err
	}
	if lease < time.Millisecond {
		return Notice{}, &fault.InvalidError{Field: "lease", Value: lease.String(), Want: "at least 1 ms"}
	}
	return notice, nil
}

// Outcome is the outcome of a delivery.
type Outcome uint8

// The outcomes of a delivery.
const (
	Delivered Outcome = iota + 1
	Failed            // for good: it becomes a failed notice
	Discarded         // it is not announced, because there is no contact, for example
	Retried           // to be retried
)

// Settlement is the end of a delivery.
type Settlement struct {
	Outcome    Outcome
	ProviderID string    // of Delivered: the provider's id, if there is one
	RetryAt    time.Time // of Retried: not before; pass it to the queue
	Unsent     bool      // of Retried: nothing was sent, and the attempt does not count
	Reason     string    // of all but Delivered
}

// Settle records the end of a delivery. It reports false if another delivery has taken the notice
// over, whose settlement counts. The details of a notice are erased when it ends, unless it failed.
// A notice to be retried is due Options.OverdueAfter past its time.
func (n *Outbox) Settle(ctx context.Context, id, nonce string, s Settlement, now time.Time) (bool, error) {
	const doing = "settling a notice"
	notice, err := parseNotice(id)
	if err != nil {
		return false, err
	}
	if err := keyspace.CheckToken("nonce", nonce); err != nil {
		return false, err
	}
	outcome, err := s.letter()
	if err != nil {
		return false, err
	}
	reason := s.Reason
	if s.Outcome == Delivered {
		reason = s.ProviderID
	}
	unsent, look := 0, s.RetryAt
	if s.Unsent {
		unsent = 1
	}
	if !look.IsZero() {
		look = look.Add(n.options.OverdueAfter)
	}
	return script.Yes(script.Call(ctx, n.client, lua.NoticeSettle, doing, n.keysOf(notice), []any{
		script.Milliseconds(now), id, nonce, outcome, n.options.Keep.Milliseconds(), reason,
		script.Milliseconds(s.RetryAt), script.Milliseconds(look), unsent,
	}))
}

// letter returns the outcome for lua/notice/settle.lua.
func (s Settlement) letter() (string, error) {
	letters := [...]string{Delivered: "d", Failed: "f", Discarded: "x", Retried: "p"}
	letter := ""
	if int(s.Outcome) < len(letters) {
		letter = letters[s.Outcome]
	}
	retried := s.Outcome == Retried
	if letter == "" || retried == s.RetryAt.IsZero() || s.Unsent && !retried {
		return "", &fault.InvalidError{
			Field: "settlement", Value: fmt.Sprintf("%+v", s),
			Want: "exactly one of delivered, failed, dropped and a time to retry, and unsent only with the last",
		}
	}
	return letter, nil
}
