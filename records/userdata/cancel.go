package userdata

import (
	"context"
	"errors"
	"time"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Cancellation is what Cancel did.
type Cancellation struct {
	Cancelled bool      // the message was still to come
	Sending   bool      // it is being sent: left alone, as one that has ended
	Account   string    // that was charged for a cancelled message, and stays so; "" for none
	At        time.Time // when it was cancelled, by the store's clock
}

// Cancel releases a message that is still to come. The error is a *fault.InvalidError for a
// user or an id that can't be, and a *fault.UnavailableError if the store is away or the
// message keeps being changed.
func (u *Users) Cancel(ctx context.Context, user, id string) (c Cancellation, err error) {
	const tries = 5
	r := sendlimit.ReleaseRequest{User: user, ID: id}
	for range tries {
		d, err := u.timeline.Release(ctx, r)
		if err != nil || d.Code != fault.CodeChanged && d.Code != fault.CodeTooLate {
			c.Cancelled, c.At = d.Allowed && !d.Replayed, d.Now
			return c, err
		}
		found, err := u.records.Look(ctx, user, id)
		if err != nil {
			return Cancellation{}, err
		}
		if d.Code == fault.CodeTooLate {
			if found[0].State == messages.StatePending && !found[0].Progress.Delivered() {
				continue // its delivery has failed since
			}
			return Cancellation{Sending: found[0].State == messages.StateSending}, nil
		}
		c.Account = found[0].Account
		// Nothing is held under this attempt, so that nothing is given back.
		r.Hold, r.From = nil, found[0].SendAt
		if found[0].Hold != "" {
			r.Hold = &sendlimit.Hold{
				Account: found[0].Account, Attempt: keyspace.NewToken(), NotAfter: d.Now.Add(time.Minute), Former: found[0].Hold,
			}
		}
	}
	return Cancellation{}, store.Explain(errors.New("it keeps being changed"), "cancelling a message")
}
