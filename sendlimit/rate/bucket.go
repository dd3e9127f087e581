package rate

import (
	"context"
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

// TokenBucket allows bursts up to a capacity and a steady rate after them. Each key has a bucket,
// which is full at first. A call takes tokens out of it; they come back one by one at the rate, up
// to the capacity. Any number of processes may use it concurrently. Only the server's clock counts;
// while it runs backwards, no tokens come and none are lost. If it goes back by more than an
// interval, tokens come from then on.
//
// Refilling uses whole parts of a token, from the time since the last call: nothing is rounded,
// whatever the rate and the number of calls.
//
// A refusal takes nothing. After RetryAfter, and not a millisecond earlier, enough tokens have
// come, unless others take or give back some meanwhile.
//
// Rate and capacity are arguments of every call. If they change, the bucket keeps its tokens, up to
// the new capacity, and the time since the last call counts at the new rate. A larger capacity
// fills up at the rate; only a bucket that was full is full again.
//
// If Redis is unavailable nothing is allowed and the error is an *UnavailableError; the caller
// decides whether to wait or to go on. A bucket expires when it is full.
//
// In an interval that begins with a full bucket, capacity plus rate can be taken. If no interval
// may see more than the rate, or the rate must change for all processes at once, use Permits. For
// messages that are sent later use a Timeline, for natural hours and days Counters.
type TokenBucket struct {
	client   redis.Cmdable
	keys     keyspace.Keys
	rate     Rate
	capacity int64
	line     lines
}

// TokenBucketOptions configures a TokenBucket. Only Rate has no default.
type TokenBucketOptions struct {
	Prefix   string // begins every key; "" means keyspace.DefaultPrefix
	Rate     Rate   // tokens that come back in an interval
	Capacity int64  // tokens that a bucket holds, at most MaxCount; zero means Rate.Count
}

// NewTokenBucket returns the buckets in the store behind client. The error is an *InvalidError.
func NewTokenBucket(client redis.Cmdable, o TokenBucketOptions) (*TokenBucket, error) {
	keys, err := keyspace.NewKeys(o.Prefix)
	if err != nil {
		return nil, err
	}
	if err := o.Rate.Validate(); err != nil {
		return nil, err
	}
	if o.Capacity == 0 {
		o.Capacity = o.Rate.Count
	}
	if o.Capacity < 1 || o.Capacity > MaxCount {
		return nil, &fault.InvalidError{
			Field: "capacity", Value: strconv.FormatInt(o.Capacity, 10), Want: fmt.Sprintf("1 to %d", MaxCount),
		}
	}
	return &TokenBucket{client: client, keys: keys, rate: o.Rate, capacity: o.Capacity}, nil
}

// TokenRequest asks for tokens, or gives them back.
type TokenRequest struct {
	Key    string    // whose bucket: 1 to 256 bytes of UTF-8 without control characters
	Tokens int64     // to take together; zero means 1
	Now    time.Time // zero means the server's clock
}

// Take takes tokens out of a bucket, all or none. In its Grant, Remaining is the number of whole
// tokens left, RetryAfter the wait for the requested number, and ResetsAt when the bucket is full.
//
// The error is an *InvalidError, also for more tokens than the capacity; an *UnavailableError if
// the store did not answer; or ErrReply. After an *UnavailableError the tokens may have been taken.
func (b *TokenBucket) Take(ctx context.Context, r TokenRequest) (Grant, error) {
	return b.run(ctx, lua.TokensTake, "taking tokens", r)
}

// GiveBack puts tokens back that were taken for something that did not happen, up to the capacity.
// Its Grant says what is in the bucket then. Unlike Permits.GiveBack it gives back each time it is
// called, but only once if the client repeats the command because the reply was lost. Errors are
// those of Take.
func (b *TokenBucket) GiveBack(ctx context.Context, r TokenRequest) (Grant, error) {
	return b.run(ctx, lua.TokensGiveBack, "giving tokens back", r, keyspace.NewToken())
}

// Reset fills a key's bucket, by deleting its key: a full bucket has none in the store.
func (b *TokenBucket) Reset(ctx context.Context, key string) error {
	if err := checkBucketKey(key); err != nil {
		return err
	}
	return store.Explain(b.client.Del(ctx, b.keys.Tokens(key)).Err(), "filling a bucket")
}

// Peek returns how many tokens are in a key's bucket at a time, zero for the server's clock. It
// takes nothing: another call may come first. Errors are those of Take.
func (b *TokenBucket) Peek(ctx context.Context, key string, now time.Time) (Level, error) {
	const doing = "looking at tokens"
	f, err := b.call(ctx, lua.TokensLook, doing, TokenRequest{Key: key, Now: now})
	if err != nil {
		return Level{}, err
	}
	l := Level{Limit: b.capacity, Now: f.Time(1), Available: f.Int(2)}
	l.Used = l.Limit - l.Available
	if wait := f.Int(3); wait > 0 {
		l.MoreAt, l.ResetsAt = l.Now.Add(time.Duration(wait)*time.Millisecond), f.Time(4)
	}
	return l, f.Err
}

func (b *TokenBucket) run(ctx context.Context, what *lua.Script, doing string, r TokenRequest, more ...any) (Grant, error) {
	f, err := b.call(ctx, what, doing, r, more...)
	if err != nil {
		return Grant{}, err
	}
	g := Grant{
		Allowed: f.Int(0) == 1, Now: f.Time(1), Limit: b.capacity, Interval: b.fillsIn(), Remaining: f.Int(2), ResetsAt: f.Time(4),
	}
	if !g.Allowed {
		return g.refused(f, 3)
	}
	return g, f.Err
}

// fillsIn returns how long an empty bucket takes to fill, rounded up to milliseconds.
func (b *TokenBucket) fillsIn() time.Duration {
	ms := (b.rate.Interval.Milliseconds()*b.capacity + b.rate.Count - 1) / b.rate.Count
	return time.Duration(ms) * time.Millisecond
}

// call checks a request and runs a script of buckets, with more arguments at the end.
func (b *TokenBucket) call(ctx context.Context, what *lua.Script, doing string, r TokenRequest, more ...any) (*script.ReplyReader, error) {
	if r.Tokens == 0 {
		r.Tokens = 1
	}
	if err := checkBucketKey(r.Key); err != nil {
		return nil, err
	}
	if r.Tokens < 1 || r.Tokens > b.capacity {
		return nil, &fault.InvalidError{
			Field: "tokens", Value: strconv.FormatInt(r.Tokens, 10),
			Want: fmt.Sprintf("1 to the capacity of the bucket, which is %d", b.capacity),
		}
	}
	in := script.Call(ctx, b.client, what, doing, []string{b.keys.Tokens(r.Key)},
		append([]any{script.Milliseconds(r.Now), r.Tokens, b.rate.Count, b.rate.Interval.Milliseconds(), b.capacity}, more...))
	return in, in.Err
}

func checkBucketKey(key string) error {
	if keyspace.ValidKey(key) {
		return nil
	}
	return &fault.InvalidError{Field: "key", Value: key, Want: keyspace.WantKey}
}
