package rate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Permits limits what many processes do together to a rate: no interval, wherever it begins, sees
// more permits taken than the rate has. The rate is in the store and can change at any time. Any
// number of processes may use it concurrently, and only the server's clock counts.
//
// A refusal takes nothing. After RetryAfter, and not a millisecond earlier, enough permits have
// come back, unless others take or give back some meanwhile.
//
// A changed rate takes effect with the next Acquire, and permits that were taken stay taken. Under
// a lower rate nothing is granted until enough have come back. Under another interval each permit
// comes back when that interval has passed since it was taken. A permit that had already come back
// under a shorter interval is not taken again.
//
// If Redis is unavailable no permit is granted and the error is an *UnavailableError; the caller
// decides whether to wait or to go on. A permit that nobody gives back comes back after its
// interval, so a process that dies leaves nothing behind. The keys expire when the last permit has
// come back; the rate stays, unless it has a KeepAlive.
//
// Each call has entries in the store until its permits come back: one for each bit of their number,
// about 100 bytes each. For many calls at large rates, or for a steady flow instead of a rush at
// the begin of every interval, use a TokenBucket; but that allows its capacity in addition to its
// rate. For messages that are sent later use a Timeline, for natural hours and days Counters.
type Permits struct {
	client redis.Cmdable
	keys   keyspace.Keys
	name   string
	owner  string
	lag    time.Duration
	line   lines
}

// PermitsOptions configures Permits. Only Name has no default.
type PermitsOptions struct {
	Prefix string // begins every key; "" means keyspace.DefaultPrefix
	Name   string // what is permitted: 1 to 64 of a-z 0-9 _ -
	// Client is the owner of the permits if the rate is per client: 1 to 256 bytes of UTF-8 without
	// control characters. "" means a random name.
	Client string
	// Lag is how long after Acquire the permitted thing may happen: whole milliseconds, up to
	// MaxLag. Permits stay taken for the interval plus Lag, so that no interval sees more than the
	// rate happen. All processes must have the same Lag; see also PermitRequest.Delay.
	Lag time.Duration
}

// NewPermits returns the permits of a name in the store behind client. The error is an
// *InvalidError.
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
	case !keyspace.ValidKey(o.Client):
		return nil, &fault.InvalidError{Field: "client", Value: o.Client, Want: keyspace.WantKey}
	}
	if err := checkLag("lag", o.Lag); err != nil {
		return nil, err
	}
	return &Permits{client: client, keys: keys, name: o.Name, owner: o.Client, lag: o.Lag}, nil
}

// TrySetRate sets the rate if there is none, and returns the one in force: the first call wins.
// SetRate replaces any rate.
func (p *Permits) TrySetRate(ctx context.Context, r PermitRate) (PermitRate, error) {
	if err := r.Validate(); err != nil {
		return PermitRate{}, err
	}
	if err := p.client.SetNX(ctx, p.keys.PermitRate(p.name), r.text(), r.KeepAlive).Err(); err != nil {
		return PermitRate{}, store.Explain(err, "setting the rate of permits")
	}
	holds, ok, err := p.Rate(ctx)
	if err == nil && !ok {
		return r, nil // removed again meanwhile
	}
	return holds, err
}

// SetRate sets or replaces the rate.
func (p *Permits) SetRate(ctx context.Context, r PermitRate) error {
	if err := r.Validate(); err != nil {
		return err
	}
	return store.Explain(p.client.Set(ctx, p.keys.PermitRate(p.name), r.text(), r.KeepAlive).Err(), "setting the rate of permits")
}

// Reset gives all permits of the name back, and keeps the rate. Under a rate per client it gives
// back only this client's permits. What they permitted may still happen: an interval may then see
// more than the rate.
func (p *Permits) Reset(ctx context.Context) error {
	err := p.client.Del(ctx, p.keys.Permits(p.name), p.keys.PermitsOf(p.name, p.owner)).Err()
	return store.Explain(err, "resetting permits")
}

// Delete removes the rate, and the permits as Reset does. Acquire returns a *NoRateError then,
// until a rate is set.
func (p *Permits) Delete(ctx context.Context) error {
	err := p.client.Del(ctx, p.keys.PermitRate(p.name), p.keys.Permits(p.name), p.keys.PermitsOf(p.name, p.owner)).Err()
	return store.Explain(err, "deleting permits")
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

// MaxLag is the longest PermitsOptions.Lag and PermitRequest.Delay.
const MaxLag = time.Minute

func checkLag(field string, d time.Duration) error {
	if d < 0 || d > MaxLag || d%time.Millisecond != 0 {
		return &fault.InvalidError{Field: field, Value: d.String(), Want: "whole milliseconds, up to 1m"}
	}
	return nil
}

// PermitRequest asks for permits.
type PermitRequest struct {
	// Token identifies the request, see keyspace.NewToken. A request that is repeated while its
	// permits are taken takes no more. GiveBack needs the same token.
	Token   string
	Permits int64 // to take together; zero means 1
	// Delay is how much later than the Lag after Acquire the permitted thing may happen: whole
	// milliseconds, up to MaxLag. The permits stay taken for that much longer. It is for a caller
	// that is slow at the moment.
	Delay time.Duration
	Now   time.Time // zero means the server's clock
}

// Acquire takes permits, all or none. In its Grant, TakenAt is when they were taken, Remaining how
// many are left, RetryAfter the wait for the requested number, ResetsAt when all are back, and
// UseBy the last time for the permitted thing.
//
// The error is a *NoRateError before a rate is set, an *InvalidError for more permits than the rate
// has, which waiting would not help, a *TokenReusedError if the token has taken another number of
// permits, an *UnavailableError if the store did not answer, or ErrReply.
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
	if err := checkLag("delay", r.Delay); err != nil {
		return Grant{}, err
	}
	answer, err := script.Run(ctx, p.client, lua.PermitsAcquire, doing,
		[]string{p.keys.PermitRate(p.name), p.keys.Permits(p.name), p.keys.PermitsOf(p.name, p.owner)},
		[]any{script.Milliseconds(r.Now), r.Token, r.Permits, p.lag.Milliseconds(), r.Delay.Milliseconds()})
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
	case permitsOtherNumber:
		taken := f.Int(2)
		if f.Err != nil {
			return Grant{}, f.Err
		}
		return Grant{}, &TokenReusedError{Taken: taken, Asked: r.Permits}
	case permitsTaken, permitsRefused:
		g := Grant{
			Now: f.Time(1), Limit: f.Int(2), Interval: time.Duration(f.Int(3)) * time.Millisecond,
			Remaining: max(0, f.Int(2)-f.Int(4)), ResetsAt: f.Time(6),
		}
		if status == permitsRefused {
			return g.refused(f, 5)
		}
		g.Allowed, g.TakenAt = true, f.Time(7)
		g.UseBy = g.TakenAt.Add(p.lag)
		return g, f.Err
	default:
		return Grant{}, script.ReplyError(doing, fmt.Sprintf("status %d", status))
	}
}

// Peek returns how many permits are taken and free at a time, zero for the server's clock. It takes
// nothing: another call may come first. Errors are those of Acquire.
func (p *Permits) Peek(ctx context.Context, now time.Time) (Level, error) {
	const doing = "looking at permits"
	f := script.Call(ctx, p.client, lua.PermitsLook, doing,
		[]string{p.keys.PermitRate(p.name), p.keys.Permits(p.name), p.keys.PermitsOf(p.name, p.owner)},
		[]any{script.Milliseconds(now), p.lag.Milliseconds()})
	if f.Int(0) == permitsNoRate && f.Err == nil {
		return Level{}, &NoRateError{Name: p.name}
	}
	l := Level{Now: f.Time(1), Limit: f.Int(2), Used: f.Int(3), MoreAt: f.Time(4), ResetsAt: f.Time(5)}
	l.Available = max(0, l.Limit-l.Used)
	return l, f.Err
}

// Statuses of lua/rate/permits_acquire.lua.
const (
	permitsTaken       = 1
	permitsRefused     = 0
	permitsNoRate      = -1
	permitsOverRate    = -2
	permitsOtherNumber = -3
)

// TokenReusedError is returned when the token of a request has taken another number of permits,
// which are not back yet. Nothing was done.
type TokenReusedError struct {
	Taken int64 // permits that the token has taken
	Asked int64
}

// Error says to use a token for one request.
func (e *TokenReusedError) Error() string {
	return fmt.Sprintf("the token is in use for another number of permits (%d, not %d): use a new token for each request", e.Taken, e.Asked)
}

// Code returns CodeIDReused.
func (e *TokenReusedError) Code() fault.Code { return fault.CodeIDReused }

// GiveBack gives the permits of a request back before their interval has passed, because what they
// permitted did not happen. It returns how many, 0 if they have come back already.
func (p *Permits) GiveBack(ctx context.Context, token string) (int64, error) {
	return p.giveBack(ctx, token, "")
}

// GiveBackPart is GiveBack for at most n of the request's permits, at least 1. The others stay
// taken.
func (p *Permits) GiveBackPart(ctx context.Context, token string, n int64) (int64, error) {
	if n < 1 {
		return 0, &fault.InvalidError{Field: "permits", Value: strconv.FormatInt(n, 10), Want: "at least 1"}
	}
	return p.giveBack(ctx, token, n)
}

// giveBack gives back n permits of a token; "" means all.
func (p *Permits) giveBack(ctx context.Context, token string, n any) (int64, error) {
	const doing = "giving permits back"
	f := script.Call(ctx, p.client, lua.PermitsGiveBack, doing,
		[]string{p.keys.Permits(p.name), p.keys.PermitsOf(p.name, p.owner)}, []any{token, n})
	given := f.Int(0)
	return given, f.Err
}
