package sendlimit

import (
	"context"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/lua"
)

// NoticeClaim is the answer to a Claim of a notice. Its Verdict is Send, Stale,
// Busy, Early or Dropped.
type NoticeClaim struct {
	Verdict Verdict
	Until   time.Time // of Busy and Early
	Notice  Notice    // of Send
	Attempt int       // of Send: deliveries tried, this one included
	First   time.Time // of Send: when it was first claimed
	// TakenOver says that another delivery was left in the middle: what became of
	// it is uncertain.
	TakenOver bool
	Reason    string    // of Dropped: ReasonExpired or ReasonUncertain
	Failed    bool      // of Dropped: it is among the failed notices
	Now       time.Time // the server's clock, or the one given
}

// Claim takes a notice for one delivery, which has a nonce of its own (see
// NewGeneration) and the notice for the lease. Who got no answer asks again with
// the same nonce, and has a whole lease from the answer on. A zero now is the
// server's clock.
//
// A notice is dropped where nobody has looked after it for Options.KeepRecords:
// nothing could announce it. One that deliveries were left in the middle of fails
// after Options.Attempts of them.
func (n *Notices) Claim(ctx context.Context, id, nonce string, lease time.Duration, now time.Time) (NoticeClaim, error) {
	const doing = "claiming a notice"
	notice, err := parseNotice(id)
	if err != nil {
		return NoticeClaim{}, err
	}
	if err := checkGeneration(nonce); err != nil {
		return NoticeClaim{}, err
	}
	if lease < time.Millisecond {
		return NoticeClaim{}, &InvalidError{Field: "lease", Value: lease.String(), Want: "at least 1 ms"}
	}
	answer, err := run(ctx, n.client, lua.NoticeClaim, doing, n.keysOf(notice), []any{
		milliseconds(now), id, nonce, lease.Milliseconds(), n.fixed.Attempts, n.fixed.KeepRecords.Milliseconds(),
	})
	if err != nil {
		return NoticeClaim{}, err
	}
	in := read(answer, doing)
	verdict := in.int(0)
	c := NoticeClaim{Now: in.time(1)}
	switch {
	case in.err != nil:
	case verdict == int64(Send):
		c.Verdict, c.Attempt, c.TakenOver = Send, int(in.int(2)), in.int(3) == 1
		c.Notice, c.First = notice, in.time(7)
		c.Notice.Used, c.Notice.Limit, c.Notice.Details = in.int(4), in.int(5), []byte(in.string(6))
	case verdict == int64(Stale):
		c.Verdict = Stale
	case verdict == int64(Busy):
		c.Verdict, c.Until = Busy, in.time(2)
	case verdict == int64(Early):
		c.Verdict, c.Until = Early, in.time(2)
	case verdict == int64(Dropped):
		c.Verdict, c.Reason, c.Failed = Dropped, in.string(2), in.int(3) == 1
	default:
		return NoticeClaim{}, replyError(doing, fmt.Sprintf("verdict %d", verdict))
	}
	return c, in.err
}

// NoticeSettlement is what became of the delivery of a notice. Exactly one of
// Delivered, Failed, Dropped and RetryAt says so.
type NoticeSettlement struct {
	Delivered  bool
	ProviderID string    // of Delivered: what the provider calls it, if anything
	Failed     bool      // for good: it is among the failed notices
	Dropped    bool      // it is not to be announced: nobody is there to be told, say
	RetryAt    time.Time // not before; hand it to the queue
	Unsent     bool      // of RetryAt: nothing was tried, and it counts as no try
	Reason     string    // of all but Delivered
}

// Settle records what became of a delivery, and reports false where the delivery
// no longer has the notice: another took it over, whose settlement counts. What a
// notice says is erased when it ends, unless it failed. One to be tried again is
// looked after Options.OverdueAfter past its time.
func (n *Notices) Settle(ctx context.Context, id, nonce string, s NoticeSettlement, now time.Time) (bool, error) {
	const doing = "settling a notice"
	notice, err := parseNotice(id)
	if err != nil {
		return false, err
	}
	if err := checkGeneration(nonce); err != nil {
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
	unsent, look := 0, s.RetryAt
	if s.Unsent {
		unsent = 1
	}
	if !look.IsZero() {
		look = look.Add(n.fixed.OverdueAfter)
	}
	answer, err := run(ctx, n.client, lua.NoticeSettle, doing, n.keysOf(notice), []any{
		milliseconds(now), id, nonce, outcome, n.fixed.KeepRecords.Milliseconds(), reason,
		milliseconds(s.RetryAt), milliseconds(look), unsent,
	})
	if err != nil {
		return false, err
	}
	return yes(read(answer, doing))
}

// outcome is the settlement as lua/notice_settle.lua spells it.
func (s NoticeSettlement) outcome() (string, error) {
	said, outcome := 0, ""
	for _, possible := range []struct {
		name string
		is   bool
	}{{"d", s.Delivered}, {"f", s.Failed}, {"x", s.Dropped}, {"p", !s.RetryAt.IsZero()}} {
		if possible.is {
			said++
			outcome = possible.name
		}
	}
	if said != 1 || s.Unsent && outcome != "p" {
		return "", &InvalidError{
			Field: "settlement", Value: fmt.Sprintf("%+v", s),
			Want: "exactly one of delivered, failed, dropped and a time to retry, and unsent only with the last",
		}
	}
	return outcome, nil
}
