package submit

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/tasks/internal/payers"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// count counts the outcome of a submit in the numbers of its account; rule is its
// rules.Policies.Label.
func (c *charger) count(p payers.Payer, o message.Outcome, rule string, now time.Time) {
	switch {
	case o.Outcome == message.Accepted && !o.Replayed:
		c.stats.Accepted(p.Account.Name, p.Zone, now)
	case o.Outcome == message.Refused && rule != "":
		c.stats.Refused(p.Account.Name, p.Zone, now, rule)
	case o.Outcome == message.Refused:
		c.stats.Refused(p.Account.Name, p.Zone, now, string(o.Code))
	default:
		return
	}
	c.settler.writeCounted()
}

// countCancelled counts a cancelled message in the numbers of its account. If the account
// can't be read, it is not counted.
func (c *charger) countCancelled(ctx context.Context, account string, now time.Time) {
	p, err := c.payers.Charged(ctx, account)
	if err != nil {
		c.logger.DebugContext(ctx, "could not count a cancelled message for the daily report", "error", err)
		return
	}
	c.stats.Cancelled(account, p.Zone, now)
	c.settler.writeCounted()
}
