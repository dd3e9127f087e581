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

// Permits limits what many processes do together to a rate: no interval,
// wherever it begins, sees more permits taken than the rate has. The rate is
// kept in the store and can be changed while everybody goes on. They are safe
// for concurrent use by any number of processes, and the server's clock is the
// only one.
//
// A refusal takes nothing. Its RetryAfter is the time until enough permits have
// come back: asked for then, they are given, and a millisecond before they are
// not, unless somebody else takes or gives back some meanwhile.
//
// Another rate holds from the next Acquire on, and what is taken stays taken:
// under a lower rate nothing is given until enough has come back, under another
// interval each permit comes back when that has passed since it was taken. What
// had come back already under a shorter one is not taken again.
//
// When Redis is away no permit is given, the error is an *UnavailableError, and
// whether to wait or to go on without is for the caller to say. A permit that is
// never given back comes back by itself, so a process that dies with some takes
// nothing with it. What is taken expires when the last permit has come back; the
// rate stays.
//
// Each permit is an entry in the store until it comes back, about 100 bytes. For
// large rates, or a steady flow instead of a rush at the begin of every
// interval, take a TokenBucket, which takes the same little room for any rate;
// but it allows as much as it holds in addition to its rate. To limit what a
// user gets at times to come, take a Timeline; for natural hours and days
// Counters.
type Permits struct {
	client redis.Cmdable
	keys   keyspace.Keys
	name   string
	owner  string
	lag    time.Duration
}

// PermitsOptions configure Permits. Only Name has no default.
type PermitsOptions struct {
	Prefix string // begins every key; "" means DefaultPrefix
	Name   string // of what they permit: 1 to 64 of a-z 0-9 _ -
	// Client is whose permits are taken where the rate is for each client: 1 to
	// 256 bytes of UTF-8 without control characters. "" means a name of its own
	// that is made up.
	Client string
	// Lag is how long after Acquire that may happen which it permits, in whole
	// milliseconds, up to a minute. Permits stay taken for so much longer than
	// the interval, so that no more than the rate happens in any interval either.
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

// TrySetRate sets the rate unless there is one: the first wins. It returns the
// one that holds then. SetRate replaces whatever there is.
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

// SetRate sets the rate in the place of the one there is.
func (p *Permits) SetRate(ctx context.Context, r PermitRate) error {
	if err := r.Validate(); err != nil {
		return err
	}
	return store.Explain(p.client.Set(ctx, p.keys.PermitRate(p.name), r.text(), 0).Err(), "setting the rate of permits")
}

// Rate returns the rate that holds; ok is false if none was set.
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
	// Token tells this request from all others, see NewGeneration: repeated while
	// its permits are taken it takes no more, and it is what gives them back.
	Token   string
	Permits int64     // to take together; zero means 1
	Now     time.Time // zero means the server's clock
}

// Acquire takes permits, all or none. In its Grant, TakenAt is when they were taken,
// Remaining how many more there are, RetryAfter how long to wait for as many as were
// asked for, and ResetsAt when all are back.
//
// The error is a *NoRateError before a rate is set, an *InvalidError for more
// permits than the rate has, an *UnavailableError when the store did not
// answer, or ErrReply.
func (p *Permits) Acquire(ctx context.Context, r PermitRequest) (Grant, error) {
	const doing = "acquiring permits"
	if r.Permits == 0 {
		r.Permits = 1
	}
	if err := keyspace.CheckToken(r.Token); err != nil {
		return Grant{}, &fault.InvalidError{Field: "token", Value: r.Token, Want: "1 to 64 of A-Z a-z 0-9 _ -, see NewGeneration"}
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

// What permits_acquire.lua answers beside 1 for taken and 0 for refused.
const (
	permitsNoRate   = -1
	permitsOverRate = -2
)

// GiveBack gives the permits of a request back before their interval has
// passed, since what they were for did not happen. It returns how many; giving
// back twice gives nothing, and so does a token whose permits are back already.
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
