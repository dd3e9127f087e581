package rate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Permits limits what many processes do together to a rate: no interval, wherever
// it begins, sees more permits taken than the rate has. The rate is in the store
// and can change at any time. Any number of processes may use it concurrently,
// and only the server's clock counts.
//
// A refusal takes nothing. After RetryAfter, and not a millisecond earlier,
// enough permits have come back, unless somebody else takes or gives back some
// meanwhile.
//
// A changed rate takes effect with the next Acquire, and what is taken stays
// taken. Under a lower rate nothing is granted until enough has come back. Under
// another interval each permit comes back when that interval has passed since it
// was taken. A permit that had already come back under a shorter interval is not
// taken again.
//
// If Redis is away no permit is granted and the error is an *UnavailableError;
// the caller decides whether to wait or to go on. A permit that nobody gives back
// comes back after its interval, so a process that dies leaves nothing behind.
// The keys expire when the last permit has come back; the rate stays.
//
// Each permit is an entry in the store until it comes back, about 100 bytes. For
// large rates, or for a steady flow instead of a rush at the begin of every
// interval, use a TokenBucket; but that allows its capacity in addition to its
// rate. For messages that are sent later use a Timeline, for natural hours and
// days Counters.
type Permits struct {
	client redis.Cmdable
	keys   keyspace.Keys
	name   string
	owner  string
	lag    time.Duration
}

// PermitsOptions configures Permits. Only Name has no default.
type PermitsOptions struct {
	Prefix string // begins every key; "" means keyspace.DefaultPrefix
	Name   string // what they permit: 1 to 64 of a-z 0-9 _ -
	// Client is whose permits are taken if the rate is per client: 1 to 256 bytes
	// of UTF-8 without control characters. "" means a random name.
	Client string
	// Lag is how long after Acquire the permitted thing may happen: whole
	// milliseconds, up to a minute. Permits stay taken for that much longer than
	// the interval, so that no interval sees more than the rate happen.
	Lag time.Duration
}

// NewPermits returns the permits of a name in the store behind client. The error
// is an *InvalidError.
func NewPermits(client redis.Cmdable, o PermitsOptions) (*Permits, error) {
	keys, err := keyspace.NewKeys(o.Prefix)
	if err != nil {
		return nil, err
	}
	if o.Client == "" {
		o.Client = keyspace.NewToken()
	}
	switch {
	case !keyspace.ValidName(o.Name):
		return nil, &fault.InvalidError{Field: "name", Value: o.Name, Want: "1 to 64 of a-z 0-9 _ -"}
	case !keyspace.ValidUser(o.Client):
		return nil, &fault.InvalidError{
			Field: "client", Value: o.Client,
			Want: fmt.Sprintf("1 to %d bytes of UTF-8 without control characters", keyspace.MaxUser),
		}
	case o.Lag < 0 || o.Lag > time.Minute || o.Lag%time.Millisecond != 0:
		return nil, &fault.InvalidError{Field: "lag", Value: o.Lag.String(), Want: "whole milliseconds, up to 1m"}
	}
	return &Permits{client: client, keys: keys, name: o.Name, owner: o.Client, lag: o.Lag}, nil
}

// TrySetRate sets the rate if there is none, and returns the one in force: the
// first call wins. SetRate replaces any rate.
func (p *Permits) TrySetRate(ctx context.Context, r PermitRate) (PermitRate, error) {
	if err := r.Validate(); err != nil {
		return PermitRate{}, err
	}
	if err := p.client.SetNX(ctx, p.keys.PermitRate(p.name), r.text(), 0).Err(); err != nil {
		return PermitRate{}, store.Explain(err, "setting the rate of permits")
	}
	holds, ok, err := p.Rate(ctx)
	if err == nil && !ok {
		return r, nil // removed again at this moment
	}
	return holds, err
}

// SetRate sets or replaces the rate.
func (p *Permits) SetRate(ctx context.Context, r PermitRate) error {
	if err := r.Validate(); err != nil {
		return err
	}
	return store.Explain(p.client.Set(ctx, p.keys.PermitRate(p.name), r.text(), 0).Err(), "setting the rate of permits")
}

// Rate returns the rate in force; ok is false if none was set.
func (p *Permits) Rate(ctx context.Context) (r PermitRate, ok bool, err error) {
	text, err := p.client.Get(ctx, p.keys.PermitRate(p.name)).Result()
	if errors.Is(err, redis.Nil) {
		return PermitRate{}, false, nil
	}
	if err != nil {
		return PermitRate{}, false, store.Explain(err, "looking at the rate of permits")
	}
	if r, err = parsePermitRate(text); err != nil {
		return PermitRate{}, false, err
	}
	return r, true, nil
}

// PermitRequest asks for permits.
type PermitRequest struct {
	// Token identifies the request, see keyspace.NewToken. A request that is
	// repeated while its permits are taken takes no more. GiveBack wants the same
	// token.
	Token   string
	Permits int64     // to take together; zero means 1
	Now     time.Time // zero means the server's clock
}

// Acquire takes permits, all or none. In its Grant, TakenAt is when they were
// taken, Remaining how many more there are, RetryAfter how long to wait for as
// many as were asked for, and ResetsAt when all are back.
//
// The error is a *NoRateError before a rate is set, an *InvalidError for more
// permits than the rate has, an *UnavailableError if the store did not answer, or
// ErrReply.
func (p *Permits) Acquire(ctx context.Context, r PermitRequest) (Grant, error) {
	const doing = "acquiring permits"
	if r.Permits == 0 {
		r.Permits = 1
	}
	if err := keyspace.CheckToken("token", r.Token); err != nil {
		return Grant{}, err
	}
	if r.Permits < 1 {
		return Grant{}, &fault.InvalidError{Field: "permits", Value: strconv.FormatInt(r.Permits, 10), Want: "at least 1"}
	}
	answer, err := script.Run(ctx, p.client, lua.PermitsAcquire, doing,
		[]string{p.keys.PermitRate(p.name), p.keys.Permits(p.name), p.keys.PermitsOf(p.name, p.owner)},
		[]any{script.Milliseconds(r.Now), r.Token, r.Permits, p.lag.Milliseconds()})
	if err != nil {
		return Grant{}, err
	}
	f := script.Read(answer, doing)
	switch status := f.Int(0); status {
	case permitsNoRate:
		return Grant{}, &NoRateError{Name: p.name}
	case permitsOverRate:
		rate := Rate{Count: f.Int(2), Interval: time.Duration(f.Int(3)) * time.Millisecond}
		return Grant{}, &fault.InvalidError{
			Field: "permits", Value: strconv.FormatInt(r.Permits, 10),
			Want: fmt.Sprintf("at most the rate of %q, which is %s", p.name, rate),
		}
	default:
		g := Grant{
			Allowed: status == 1, Now: f.Time(1), Remaining: max(0, f.Int(2)-f.Int(4)),
			RetryAfter: time.Duration(f.Int(5)) * time.Millisecond, ResetsAt: f.Time(6),
		}
		if g.Allowed {
			g.TakenAt = f.Time(7)
		} else {
			g.Code = fault.CodeRateLimited
		}
		return g, f.Err
	}
}

// Statuses of lua/rate/permits_acquire.lua, beside 1 for taken and 0 for refused.
const (
	permitsNoRate   = -1
	permitsOverRate = -2
)

// GiveBack gives the permits of a request back before their interval has passed,
// since what they were for did not happen. It returns how many. It gives back
// nothing if they were given back or have come back already.
func (p *Permits) GiveBack(ctx context.Context, token string) (int64, error) {
	const doing = "giving permits back"
	answer, err := script.Run(ctx, p.client, lua.PermitsGiveBack, doing,
		[]string{p.keys.Permits(p.name), p.keys.PermitsOf(p.name, p.owner)}, []any{token})
	if err != nil {
		return 0, err
	}
	f := script.Read(answer, doing)
	given := f.Int(0)
	return given, f.Err
}
