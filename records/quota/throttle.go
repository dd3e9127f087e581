package quota

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// An attempt has up to three holds: of the account in the call with the token, of the throttle, and
// of the throttle of the earlier charge. They may be in one partition, and each has a separate
// call.
const (
	ofThrottle = "+in"
	ofFormer   = "+out"
)

// subjectOf returns the name of a throttle in charges. No account has it.
func subjectOf(throttle string) string { return "~" + throttle }

// throttleHolding returns the hold of a request's throttle, and takes over an earlier charge of the
// same throttle.
func (r *Request) throttleHolding(former charged) holdPart {
	of := *r
	of.Account = accounts.Account{Name: subjectOf(r.Throttle.Name)}
	of.Tier = accounts.Tier{MessagesPerHour: int64(r.Throttle.Limit)}
	h := holdPart{
		Request: &of, of: ofThrottle, hour: r.Throttle.Around(r.At), chargeHour: true, made: throttleHolds(r.Info),
	}
	if former.throttle == r.Throttle.Name {
		if h.chargeHour = !former.period.Equal(h.hour.From); h.chargeHour {
			h.backHour = former.period
		}
	}
	return h
}

// formerHolding returns the hold that gives back an earlier charge of a throttle.
func formerHolding(s *messages.Info, former charged, now time.Time) holdPart {
	return holdPart{
		Request: &Request{Account: accounts.Account{Name: subjectOf(former.throttle)}, User: s.User, ID: s.ID, Now: now},
		of:      ofFormer, backHour: former.period, made: throttleHolds(s),
	}
}

// throttleHolds lists the holds of throttles whose changes were made.
func throttleHolds(s *messages.Info) []string {
	if s == nil {
		return nil
	}
	var holds []string
	for _, attempt := range append([]string{s.Hold}, s.FormerHolds...) {
		if strings.Contains(attempt, "~") {
			holds = append(holds, holdName(attempt, ofThrottle), holdName(attempt, ofFormer))
		}
	}
	return holds
}

// refusedBy copies the refusal of one hold.
func (c *Charge) refusedBy(one Charge, t policy.NamedThrottle, throttled bool) {
	c.Allowed, c.Code, c.UsedUp, c.RetryAfter = false, one.Code, one.UsedUp, one.RetryAfter
	if throttled && one.Code == fault.CodeQuotaExceeded {
		c.full(usageOf(t, one.UsedUp.Used, c.At))
	}
}

// full makes the charge a refusal for an exhausted period of a throttle.
func (c *Charge) full(u counters.Usage) {
	c.Allowed, c.Code, c.UsedUp, c.RetryAfter = false, fault.CodeThrottled, u, 0
	if !c.Now.Before(u.From) {
		c.RetryAfter = max(u.Until.Sub(c.Now), time.Millisecond)
	}
}

// usageOf returns the usage of a throttle's period around a time.
func usageOf(t policy.NamedThrottle, used int64, at time.Time) counters.Usage {
	around := t.Around(at)
	return counters.Usage{
		Counter: counters.Counter{Name: t.Period.String(), Period: t.Period, Limit: int64(t.Limit)},
		Used:    used, From: around.From, Until: around.Until,
	}
}

// throttleKey returns the key of a throttle's counter around a time.
func (c *Charges) throttleKey(t policy.NamedThrottle, at time.Time) string {
	return c.keys.Charged(subjectOf(t.Name), "h", t.Around(at).From)
}

// used reads counters of one partition.
func (c *Charges) used(ctx context.Context, keys []string) ([]int64, error) {
	const doing = "reading what is charged"
	counts, err := c.client.MGet(ctx, keys...).Result()
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	used := make([]int64, len(keys))
	for i, count := range counts {
		text, ok := count.(string)
		if !ok {
			continue // nothing is charged
		}
		if used[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, script.ReplyError(doing, "a counter is no integer")
		}
	}
	return used, nil
}
