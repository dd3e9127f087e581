package sendlimittest

import (
	"math/big"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
)

// TokensModel is a plain model of one bucket of a rate.TokenBucket: the tokens at a
// time, as a fraction.
type TokensModel struct {
	Rate     rate.Rate
	Capacity int64

	level *big.Rat // nil for a full bucket
	at    time.Time
}

func (m *TokensModel) perMillisecond() *big.Rat {
	return big.NewRat(m.Rate.Count, m.Rate.Interval.Milliseconds())
}

// fill adds the tokens that came until now. It reports whether the bucket was changed while
// the clock was ahead.
func (m *TokensModel) fill(now time.Time) (wasAhead bool) {
	full := new(big.Rat).SetInt64(m.Capacity)
	if m.level == nil {
		m.level, m.at = full, now
	}
	if m.at.After(now.Add(m.Rate.Interval)) {
		m.at, wasAhead = now, true
	}
	if now.After(m.at) {
		come := new(big.Rat).SetInt64(now.Sub(m.at).Milliseconds())
		m.level = new(big.Rat).Add(m.level, come.Mul(come, m.perMillisecond()))
		m.at = now
	}
	if m.level.Cmp(full) > 0 {
		m.level = full
	}
	return wasAhead
}

// timeUntil returns the time until the bucket has a number of tokens, rounded up
// to milliseconds.
func (m *TokensModel) timeUntil(tokens *big.Rat, now time.Time) time.Duration {
	wait := time.Duration(0)
	if missing := new(big.Rat).Sub(tokens, m.level); missing.Sign() > 0 {
		ms := missing.Quo(missing, m.perMillisecond())
		whole, rest := new(big.Int).QuoRem(ms.Num(), ms.Denom(), new(big.Int))
		if rest.Sign() > 0 {
			whole.Add(whole, big.NewInt(1))
		}
		wait = time.Duration(whole.Int64()) * time.Millisecond
	}
	return wait + m.at.Sub(now)
}

// timeToFill returns how long the bucket takes to fill from now on.
func (m TokensModel) timeToFill() time.Duration {
	return m.timeUntil(new(big.Rat).SetInt64(m.Capacity), m.at)
}

// Take models TokenBucket.Take. n must not exceed the capacity.
func (m *TokensModel) Take(n int64, now time.Time) rate.Grant {
	before, at := m.level, m.at
	wasAhead := m.fill(now)
	wanted := new(big.Rat).SetInt64(n)
	d := rate.Grant{Allowed: m.level.Cmp(wanted) >= 0, Now: now}
	if d.Allowed {
		m.level = new(big.Rat).Sub(m.level, wanted)
	} else {
		d.Code, d.RetryAfter = fault.CodeRateLimited, m.timeUntil(wanted, now)
	}
	m.setBalance(&d)
	if !d.Allowed && !wasAhead {
		m.level, m.at = before, at // a refusal changes nothing
	}
	return d
}

// GiveBack models TokenBucket.GiveBack.
func (m *TokensModel) GiveBack(n int64, now time.Time) rate.Grant {
	known := m.level != nil
	m.fill(now)
	m.level = new(big.Rat).Add(m.level, new(big.Rat).SetInt64(n))
	if full := new(big.Rat).SetInt64(m.Capacity); m.level.Cmp(full) > 0 {
		m.level = full
	}
	d := rate.Grant{Allowed: true, Now: now}
	m.setBalance(&d)
	if !known {
		m.level = nil
	}
	return d
}

// Peek models TokenBucket.Peek.
func (m *TokensModel) Peek(now time.Time) rate.Level {
	before, at := m.level, m.at
	m.fill(now)
	l := rate.Level{Limit: m.Capacity, Now: now, Available: new(big.Int).Quo(m.level.Num(), m.level.Denom()).Int64()}
	l.Used = l.Limit - l.Available
	if l.Used > 0 {
		l.MoreAt = now.Add(m.timeUntil(new(big.Rat).SetInt64(l.Available+1), now))
		l.ResetsAt = now.Add(m.timeUntil(new(big.Rat).SetInt64(l.Limit), now))
	}
	m.level, m.at = before, at // a look changes nothing
	return l
}

// setBalance sets a grant's fields about the bucket.
func (m *TokensModel) setBalance(d *rate.Grant) {
	d.Remaining = new(big.Int).Quo(m.level.Num(), m.level.Denom()).Int64()
	d.ResetsAt = d.Now.Add(m.timeUntil(new(big.Rat).SetInt64(m.Capacity), d.Now))
	d.Limit = m.Capacity
	d.Interval = TokensModel{Rate: m.Rate, Capacity: m.Capacity, level: new(big.Rat), at: d.Now}.timeToFill()
}

// CheckTokenBucket runs a random history of tokens taken and given back, and
// compares every answer of a TokenBucket with the model's. Rate and capacity
// change meanwhile, and the clock may go back. Keys begin with prefix, which no
// other history may use. Call it from rapid.Check.
func CheckTokenBucket(t *rapid.T, client redis.Cmdable, prefix string) {
	h := &tokensHistory{client: client, prefix: prefix, now: drawStart(t)}
	h.model.Rate = drawRate(t)
	h.changeRate(t)
	t.Repeat(map[string]func(*rapid.T){
		"take": h.take, "take ": h.take, "at the hint": h.tryAtHint, "give back": h.giveBack, "peek": h.peek,
		"another rate": h.changeRate,
		"time goes":    func(t *rapid.T) { h.now = h.now.Add(drawStep(t, h.model.Rate.Interval)) },
	})
}

type tokensHistory struct {
	client redis.Cmdable
	prefix string
	model  TokensModel
	bucket *rate.TokenBucket
	now    time.Time
}

// changeRate changes the rate and the capacity. The interval stays: with another
// one a fraction of a token could get lost.
func (h *tokensHistory) changeRate(t *rapid.T) {
	h.model.Rate.Count = rapid.Int64Range(1, 7).Draw(t, "count")
	h.model.Capacity = rapid.Int64Range(1, 9).Draw(t, "capacity")
	var err error
	h.bucket, err = rate.NewTokenBucket(h.client, rate.TokenBucketOptions{
		Prefix: h.prefix, Rate: h.model.Rate, Capacity: h.model.Capacity,
	})
	require.NoError(t, err)
}

func (h *tokensHistory) ask(t *rapid.T, n int64) rate.Grant {
	d, err := h.bucket.Take(t.Context(), rate.TokenRequest{Key: "bucket", Tokens: n, Now: h.now})
	require.NoError(t, err)
	require.Equal(t, h.model.Take(n, h.now), d)
	return d
}

func (h *tokensHistory) take(t *rapid.T) {
	h.ask(t, rapid.Int64Range(1, h.model.Capacity).Draw(t, "tokens"))
}

// tryAtHint takes tokens. If they are refused, it requires that they are refused a
// millisecond before RetryAfter and allowed at RetryAfter.
func (h *tokensHistory) tryAtHint(t *rapid.T) {
	n := rapid.Int64Range(1, h.model.Capacity).Draw(t, "tokens")
	d := h.ask(t, n)
	if d.Allowed {
		return
	}
	require.Positive(t, d.RetryAfter)
	hint := h.now.Add(d.RetryAfter)
	h.now = hint.Add(-time.Millisecond)
	require.False(t, h.ask(t, n).Allowed, "before the hint")
	h.now = hint
	require.True(t, h.ask(t, n).Allowed, "at the hint")
}

func (h *tokensHistory) giveBack(t *rapid.T) {
	n := rapid.Int64Range(1, h.model.Capacity).Draw(t, "tokens")
	d, err := h.bucket.GiveBack(t.Context(), rate.TokenRequest{Key: "bucket", Tokens: n, Now: h.now})
	require.NoError(t, err)
	require.Equal(t, h.model.GiveBack(n, h.now), d)
}

func (h *tokensHistory) peek(t *rapid.T) {
	got, err := h.bucket.Peek(t.Context(), "bucket", h.now)
	require.NoError(t, err)
	require.Equal(t, h.model.Peek(h.now), got)
}
