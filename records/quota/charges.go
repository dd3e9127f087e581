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

// Charges counts each account's messages in the natural hour and day of their
// send times, in the account's time zone, against its tier. See the package for
// how a charge and a change of a timeline stay together. Any number of processes
// may use it concurrently.
//
// It counts the messages of throttles in the same way, in the natural minute or hour of
// their send times in UTC. See policy.Throttle.
//
// A refusal is a Charge with CodeQuotaExceeded or CodeThrottled. A changed limit takes
// effect with the next Hold; what is charged stays charged. A throttle that is new counts
// what is accepted from then on.
//
// A message that is postponed, dropped or given up stays charged in the periods that it
// was accepted for. To count calls as they come, use package counters.
type Charges struct {
	client redis.UniversalClient
	keys   keyspace.Keys
	prefix string
	within time.Duration // how long a change may take
	look   time.Duration // how long after that its hold is due
	ahead  keyspace.Ahead
}

// Options configures Charges. The zero value means the defaults.
type Options struct {
	Prefix string // begins every key; "" means keyspace.DefaultPrefix
	// LookAfter is how long after a change had to be made its hold is due. A change
	// may take half of it. Zero means sendlimit.DefaultLookAfter.
	LookAfter time.Duration
	// Ahead is for a cluster, whose masters have clocks of their own. The common clock is that of
	// the times which Due gets and returns.
	Ahead keyspace.Ahead
}

// New returns the charges in the store behind client. The error is an
// *InvalidError.
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

// Request asks to charge an account, a throttle or both for a message at a send time.
type Request struct {
	Account  accounts.Account     // the zero Account for none
	Tier     accounts.Tier        // its limits and when to tell the account's contact
	Throttle policy.NamedThrottle // zero for none
	User     string
	ID       string
	At       time.Time // the send time
	// Present says that the message is to be sent now: At is the present time by
	// the caller's clock, and the user's server must be in the same periods by its own.
	Present bool
	// Info is the message's present state, for a move. What it was charged is
	// given back if the move is made, and nothing is charged twice.
	Info *messages.Info
	Now  time.Time // as in Request
}

// Charge answers Hold and HoldRelease. A refusal is a Charge with Allowed
// false, not an error, and charges nothing.
type Charge struct {
	Allowed bool
	// Code says why not; it is empty when Allowed. CodeQuotaExceeded: the hour or
	// the day is used up. CodeThrottled: the throttle's period is. CodeOutsideHold: one
	// of the periods of At is over, or is not the present one of a Present request, by
	// the clock of the server that has the user. CodeHoldOver: this attempt was settled before.
	Code fault.Code

	At time.Time // the send time that was judged
	// UsedUp is the hour or the day that has no messages left, with
	// CodeQuotaExceeded; of both, the day. With CodeThrottled it is the period of the
	// throttle. A send time from its Until on counts in the next one.
	UsedUp counters.Usage
	// RetryAfter is how long the used-up period still lasts. It is zero if that
	// period has not begun: waiting makes no room in it.
	RetryAfter time.Duration
	// Day is what the day of At is charged, with this message if it is Allowed. It is
	// the zero Usage if the message is not charged to the day, or was charged to it before.
	Day counters.Usage

	// Hold is what the change has to be made with. An Allowed charge has to be
	// settled, a refused one has not. Its time ends with the shortest period.
	Hold sendlimit.Hold
	// Notices has the ids of the notices that the charge put into the outbox.
	Notices []string
	// Now is the time that was judged: the clock of the server that has the user, or the
	// request's Now.
	Now time.Time
}

// Hold charges an account for a message that is about to get a place, or another
// place.
func (c *Charges) Hold(ctx context.Context, r Request) (Charge, error) {
	a, err := r.holdRequest()
	if err != nil {
		return Charge{}, err
	}
	return c.holdAll(ctx, a)
}

// holdRequest returns the holds that a request needs.
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

// check returns an *InvalidError for a request that is not valid.
func (r Request) check() error {
	if r.Account.Name == "" && r.Throttle.IsZero() && (r.Info == nil || r.Info.Hold == "") {
		return &fault.InvalidError{Field: "account", Value: "", Want: "an account or a throttle to charge"}
	}
	return checkCharge(r.Account.Name, r.User, r.ID)
}

// HoldRelease keeps a hold for a message that is about to be cancelled. What the
// message was charged is given back if it is cancelled, unless its period has given back as many
// messages as the tier allows in it: see the package's comment.
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
