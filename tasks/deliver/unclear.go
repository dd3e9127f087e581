package deliver

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/tasks/channels"
)

// unclearFor is for how long an unclear refusal counts.
const unclearFor = 10 * time.Second

// unclear has refusals whose provider did not say whether it limits one device or all calls. Just
// below its limit a provider refuses few calls, so that those of three devices in a row, for which
// notifiers look, are rare. But a device's own limit must slow down no other. So these refusals count
// only while the target is known to limit all calls, and those of three users, of two accounts if
// several send, count as one.
type unclear struct {
	since    time.Time
	users    map[string]struct{}
	accounts map[string]struct{}
}

// refusedUnclearly notes an unclear refusal of a message of a channel. If such refusals concern all, it
// returns a function that has the workers learn a lower rate; otherwise nil.
func (p *Pacer) refusedUnclearly(of *channels.Channel, m channels.Sent, refused permit) (learn func(context.Context)) {
	now := p.clock.Local()
	p.mu.Lock()
	defer p.mu.Unlock()
	if refused.generation == 0 || refused.generation != p.learned.Generation {
		return nil
	}
	u := &p.unclear
	if now.Sub(u.since) >= unclearFor {
		*u = unclear{since: now, users: make(map[string]struct{}), accounts: make(map[string]struct{})}
	}
	u.users[m.User], u.accounts[m.Account] = struct{}{}, struct{}{}
	if !of.ConcernsAll(len(u.users), len(u.accounts), p.clock.Now()) {
		return nil
	}
	*u = unclear{}
	return func(ctx context.Context) { p.learn(ctx, refused, 0) }
}
