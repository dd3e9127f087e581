package submit

import (
	"cmp"
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// freeTimes finds times at which every limit has room for a message: the rules, the quiet hours
// and the full days of its user, the quota of its account, and the throttle of its category. It
// alternates between the nearest times of user and charge until both agree. It changes nothing.
type freeTimes struct {
	opens    opener
	places   finder
	rules    *sendlimit.Rules
	category string
	charged  quota.Request // who is charged, without the throttle and the time
	share    sendlimit.Share
	shifts   *sendlimit.Request // finds the time of this shift, see NextFreeRequest.Shifts; nil for none
}

// opener knows when a quota and a throttle have messages left.
type opener interface {
	NextOpen(ctx context.Context, r quota.Request, until time.Time) (time.Time, error)
}

// finder knows the times that a user's rules leave free.
type finder interface {
	NextFree(ctx context.Context, r sendlimit.NextFreeRequest) ([]time.Time, error)
}

// next returns the next free time of a refusal, zero for none. The decision already has the next
// time that the user's rules leave free.
func (f freeTimes) next(ctx context.Context, d sendlimit.Decision) (time.Time, error) {
	reach := cmp.Or(f.rules.Of(f.charged.User).Reach, policy.DefaultReach)
	return f.nearest(ctx, d, d.NextFree, d.Now.Add(reach), false)
}

// spread returns the next time after a refused one that a shift may take by the spread of its
// policy, zero for none.
func (f freeTimes) spread(ctx context.Context, r sendlimit.Request, d sendlimit.Decision) (time.Time, error) {
	f.shifts = &r
	found, err := f.places.NextFree(ctx, f.search(d.At, false))
	if err != nil || len(found) == 0 {
		return time.Time{}, err
	}
	d.Code = fault.CodeSendLimit // the rules have been asked
	at, err := f.nearest(ctx, d, found[0], cmp.Or(r.ShiftUntil, d.Now.Add(policy.DefaultReach)), false)
	if err != nil || !r.ShiftUntil.IsZero() && at.After(r.ShiftUntil) {
		return time.Time{}, err
	}
	return at, nil
}

// search returns the request for the first time from a time on, or back, that the rules leave free.
func (f freeTimes) search(from time.Time, earlier bool) sendlimit.NextFreeRequest {
	return sendlimit.NextFreeRequest{
		User: f.charged.User, Category: f.category, ID: f.charged.ID, From: from, Count: 1, Earlier: earlier,
		Share: f.share, Shifts: f.shifts, Now: f.charged.Now,
	}
}

// previous is next for the last free time before the refused one.
func (f freeTimes) previous(ctx context.Context, d sendlimit.Decision) (time.Time, error) {
	return f.nearest(ctx, d, d.PreviousFree, d.Now, true)
}

// complete sets both free times of a refusal.
func (f freeTimes) complete(ctx context.Context, d sendlimit.Decision) (sendlimit.Decision, error) {
	var err error
	if d.NextFree, err = f.next(ctx, d); err == nil {
		d.PreviousFree, err = f.previous(ctx, d)
	}
	return d, err
}

// nearest searches from a time that the rules leave free to a last time.
func (f freeTimes) nearest(
	ctx context.Context, d sendlimit.Decision, at, last time.Time, earlier bool,
) (time.Time, error) {
	free := true
	if d.Code == fault.CodeThrottled || d.Code == fault.CodeQuotaExceeded { // the rules have not been asked
		at, free = d.At, false
	}
	unlimited := f.charged.Account.Name == "" && f.throttle().IsZero()
	if !d.Code.Shiftable() || d.WithoutFreeTimes || unlimited || at.IsZero() {
		return at, nil
	}
	for ; ; free = true {
		r := f.charged
		r.Throttle, r.At = f.throttle(), at
		open, err := f.opens.NextOpen(ctx, r, last)
		if err != nil || open.IsZero() || free && open.Equal(at) {
			return open, err
		}
		found, err := f.places.NextFree(ctx, f.search(open, earlier))
		if err != nil || len(found) == 0 {
			return time.Time{}, err
		}
		at = found[0]
		if at.Equal(open) {
			return at, nil
		}
	}
}

// throttle returns the throttle of the message. The search may find that its user has another
// policy.
func (f freeTimes) throttle() policy.NamedThrottle {
	return f.rules.Throttle(f.charged.User, f.category)
}

// chargeDecision returns the decision about a message when its quota or throttle is used up. Its
// time is now if the asked time has just passed by the store's clock.
func chargeDecision(asked time.Time, refused quota.Charge) sendlimit.Decision {
	d := sendlimit.Decision{Code: refused.Code, At: refused.At, Now: refused.Now}
	if d.At.Equal(asked) {
		d.At = targetAt(asked, refused.Now).at
	}
	if !asked.IsZero() && !d.At.Equal(asked) {
		d.RequestedAt = asked
	}
	return d
}
