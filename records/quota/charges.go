package quota

import (
	"cmp"
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Charges counts each account's messages in the natural hour and day of their send times, in the
// account's time zone, against its tier. The package describes how a charge and a change of a
// timeline stay together. Any number of processes may use it concurrently.
//
// It counts the messages of throttles in the same way, in the natural minute or hour of their send
// times in UTC. See policy.Throttle.
//
// A refusal is a Charge with CodeQuotaExceeded or CodeThrottled. A changed limit takes effect with
// the next Hold; existing charges stay. A new throttle counts messages accepted from then on.
//
// A message that is postponed, dropped or given up stays charged in the periods of its accepted
// time. To count calls, use package counters.
type Charges struct {
	client redis.UniversalClient
	keys   keyspace.Keys
	prefix string
	within time.Duration // the time limit of a change
	look   time.Duration // how long after that its hold is due
	ahead  keyspace.Ahead
}

// Options configures Charges. The zero value means the defaults.
type Options struct {
	Prefix string // of every key; "" means keyspace.DefaultPrefix
	// LookAfter is how long after the time limit of a change its hold is due. The time limit is
	// half of it. Zero means sendlimit.DefaultLookAfter.
	LookAfter time.Duration
	// Ahead is for a cluster, whose masters have different clocks. Times of Due are those of the
	// common clock.
	Ahead keyspace.Ahead
}

// New returns the charges of a store. The error is an *InvalidError.
func New(client redis.UniversalClient, o Options) (*Charges, error) {
	o.LookAfter = cmp.Or(o.LookAfter, sendlimit.DefaultLookAfter)
	keys, err := keyspace.NewKeys(o.Prefix)
	if err != nil {
		return nil, err
	}
	if o.LookAfter < time.Millisecond {
		return nil, &fault.InvalidError{Field: "look_after", Value: o.LookAfter.String(), Want: "at least 1 ms"}
	}
	return &Charges{client: client, ahead: o.Ahead, keys: keys, prefix: o.Prefix, within: o.LookAfter / 2, look: o.LookAfter}, nil
}

// Request requests the charge of an account, a throttle or both for a message at a send time.
type Request struct {
	Account  accounts.Account     // the zero Account for none
	Tier     accounts.Tier        // its limits, and the thresholds of alerts
	Throttle policy.NamedThrottle // zero for none
	User     string
	ID       string
	At       time.Time // the send time
	// Present reports that the message is to be sent now: At is the current time by the caller's
	// clock, and the user's server must be in the same periods by its own.
	Present bool
	// Info is the message's current state, for a move. If the move is made, its old charge is given
	// back, and nothing is charged twice.
	Info *messages.Info
	Now  time.Time // as in Request
}

// Charge is the result of Hold and HoldRelease. A refusal is a Charge with Allowed false, not an
// error, and charges nothing.
type Charge struct {
	Allowed bool
	// Code is the reason of a refusal. CodeQuotaExceeded: the hour or the day is used up.
	// CodeThrottled: the throttle's period is. CodeOutsideHold: a period of At is over, or is not
	// the current one of a Present request, by the clock of the user's server. CodeHoldOver: this
	// attempt was settled before.
	Code fault.Code

	At time.Time // the judged send time
	// UsedUp is the exhausted hour or day, with CodeQuotaExceeded; if both are, the day. With
	// CodeThrottled it is the period of the throttle. A send time from its Until on counts in the
	// next one.
	UsedUp counters.Usage
	// RetryAfter is the rest of the exhausted period. It is zero if that period has not begun:
	// waiting makes no room in it.
	RetryAfter time.Duration
	// Day is the usage of the day of At, with this message if it is Allowed. It is zero if the
	// message is not charged to the day, or was charged to it before.
	Day counters.Usage

	// Hold is required for the change. An Allowed charge has to be settled, a refused one has not.
	// Its time ends with the shortest period.
	Hold sendlimit.Hold
	// Notices are the ids of the notices that the charge put into the outbox.
	Notices []string
	// Now is the time of the judgement: the clock of the user's server, or the request's Now.
	Now time.Time
}

// Hold charges an account for a message that is about to get a place, or another place.
func (c *Charges) Hold(ctx context.Context, r Request) (Charge, error) {
	a, err := r.holdRequest()
	if err != nil {
		return Charge{}, err
	}
	return c.holdAll(ctx, a)
}

// holdRequest returns the holds for a request.
func (r *Request) holdRequest() (holdRequest, error) {
	var former charged
	formerHold := ""
	if r.Info != nil {
		formerHold = r.Info.Hold
		former = chargedBy(formerHold)
	}
	if err := r.check(); err != nil {
		return holdRequest{}, err
	}
	var charges charged
	if r.Account.Name != "" {
		var err error
		if charges.hour, charges.day, err = r.Account.Periods(r.At); err != nil {
			return holdRequest{}, err
		}
	}
	if !r.Throttle.IsZero() {
		charges.throttle, charges.period = r.Throttle.Name, r.Throttle.Around(r.At).From
	}
	charges.back = former.throttle != "" && former.throttle != charges.throttle
	var parts []holdPart
	if r.Account.Name != "" {
		h := holdPart{Request: r, hour: charges.hour, day: charges.day, chargeHour: true, chargeDay: true}
		if r.Info != nil {
			h.takesOver(*r.Info)
		}
		parts = append(parts, h)
	}
	if charges.throttle != "" {
		parts = append(parts, r.throttleHolding(former))
	}
	if charges.back {
		parts = append(parts, formerHolding(r.Info, former, r.Now))
	}
	return holdRequest{charges, formerHold, r, parts}, nil
}

// check returns an *InvalidError for an invalid request.
func (r Request) check() error {
	if r.Account.Name == "" && r.Throttle.IsZero() && (r.Info == nil || r.Info.Hold == "") {
		return &fault.InvalidError{Field: "account", Value: "", Want: "an account or a throttle to charge"}
	}
	return checkCharge(r.Account.Name, r.User, r.ID)
}

// HoldRelease keeps a hold for a message that is about to be cancelled. If it is cancelled, its
// charge is given back, unless its period has given back as many messages as the tier allows in it:
// see the package's comment.
func (c *Charges) HoldRelease(ctx context.Context, s messages.Info, t accounts.Tier, now time.Time) (Charge, error) {
	if err := checkCharge(s.Account, s.User, s.ID); err != nil {
		return Charge{}, err
	}
	former := chargedBy(s.Hold)
	r := &Request{Account: accounts.Account{Name: s.Account}, Tier: t, User: s.User, ID: s.ID, Now: now}
	var parts []holdPart
	if s.Account != "" {
		h := holdPart{Request: r}
		h.takesOver(s)
		parts = append(parts, h)
	}
	if former.throttle != "" {
		parts = append(parts, formerHolding(&s, former, now))
	}
	return c.holdAll(ctx, holdRequest{charged{back: former.throttle != ""}, s.Hold, r, parts})
}

func checkCharge(account, user, id string) error {
	if account != "" && !accounts.ValidName(account) {
		return &fault.InvalidError{Field: "account", Value: account, Want: keyspace.WantName}
	}
	if err := keyspace.CheckUser(user); err != nil {
		return err
	}
	return keyspace.CheckID(id)
}
