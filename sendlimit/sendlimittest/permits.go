package sendlimittest

import (
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
)

// PermitsModel is a plain model of rate.Permits: a list of the permits taken.
type PermitsModel struct {
	Rate  rate.PermitRate // the zero value if none is set
	Lag   time.Duration
	taken map[string][]permitTaken // by client, "" for a rate of all clients
}

type permitTaken struct {
	token string
	n     int64
	at    time.Time
}

// held returns the key under which a client's permits are counted, and those that
// are not available again.
func (m *PermitsModel) held(client string, now time.Time) (whose string, held []permitTaken) {
	if m.Rate.PerClient {
		whose = client
	}
	lasts := m.Rate.Interval + m.Lag
	for _, t := range m.taken[whose] {
		// One further ahead was taken while the clock was ahead.
		if now.Before(t.at.Add(lasts)) && !t.at.After(now.Add(lasts+rate.MaxLag)) {
			held = append(held, t)
		}
	}
	slices.SortFunc(held, func(a, b permitTaken) int { return a.at.Compare(b.at) })
	return whose, held
}

// ahead reports whether permits of a client were taken so far ahead of now that they do not
// count.
func (m *PermitsModel) ahead(client string, now time.Time) bool {
	whose, held := m.held(client, now)
	return slices.ContainsFunc(m.taken[whose], func(t permitTaken) bool {
		return t.at.After(now) && !slices.Contains(held, t)
	})
}

// Acquire models Permits.Acquire of a client. reused is true for a
// TokenReusedError.
func (m *PermitsModel) Acquire(client string, r rate.PermitRequest) (grant rate.Grant, reused bool) {
	token, n, now := r.Token, r.Permits, r.Now
	whose, held := m.held(client, now)
	lasts := m.Rate.Interval + m.Lag
	d := rate.Grant{Allowed: true, Now: now, Limit: m.Rate.Count, Interval: m.Rate.Interval}
	used := int64(0)
	for _, t := range held {
		used += t.n
	}
	before := slices.IndexFunc(held, func(t permitTaken) bool { return t.token == token })
	switch {
	case before >= 0 && held[before].n != n:
		return rate.Grant{}, true
	case before >= 0:
		d.TakenAt = held[before].at
	case used+n > m.Rate.Count:
		d.Allowed, d.Code = false, fault.CodeRateLimited
		for free, i := m.Rate.Count-used, 0; free < n; i++ {
			free += held[i].n
			d.RetryAfter = held[i].at.Add(lasts).Sub(now)
		}
	default:
		d.TakenAt = now.Add(r.Delay)
		held = append(held, permitTaken{token, n, d.TakenAt})
		m.taken[whose] = held
		used += n
	}
	for _, t := range held {
		if back := t.at.Add(lasts); back.After(d.ResetsAt) {
			d.ResetsAt = back
		}
	}
	if d.Allowed {
		d.UseBy = d.TakenAt.Add(m.Lag)
	}
	d.Remaining = max(0, m.Rate.Count-used)
	return d, false
}

// Peek models Permits.Peek of a client.
func (m *PermitsModel) Peek(client string, now time.Time) rate.Level {
	_, held := m.held(client, now)
	l := rate.Level{Limit: m.Rate.Count, Now: now}
	for _, t := range held {
		l.Used += t.n
		if back := t.at.Add(m.Rate.Interval + m.Lag); back.After(l.ResetsAt) {
			l.ResetsAt = back
		}
	}
	l.Available = max(0, l.Limit-l.Used)
	for left, i := l.Used, 0; i < len(held) && l.MoreAt.IsZero(); i++ {
		if left -= held[i].n; left < l.Limit {
			l.MoreAt = held[i].at.Add(m.Rate.Interval + m.Lag)
		}
	}
	return l
}

// GiveBack models Permits.GiveBackPart of a client.
func (m *PermitsModel) GiveBack(client, token string, n int64) {
	for _, whose := range []string{"", client} {
		for i, t := range m.taken[whose] {
			if t.token == token {
				back := min(n, t.n)
				m.taken[whose][i].n, n = t.n-back, n-back
			}
		}
		m.taken[whose] = slices.DeleteFunc(m.taken[whose], func(t permitTaken) bool { return t.n == 0 })
	}
}

// CheckPermits runs a random history of permits that clients take and give back,
// and compares every answer of Permits with the model's. Rates change meanwhile,
// and the clock may go back, or step forward for a while. Keys begin with prefix, which no other history may
// use. Call it from rapid.Check.
func CheckPermits(t *rapid.T, client redis.Cmdable, prefix string) {
	lag := time.Duration(rapid.SampledFrom([]int{0, 0, 1, 50}).Draw(t, "lag")) * time.Millisecond
	h := &permitsHistory{
		model: &PermitsModel{Lag: lag, taken: make(map[string][]permitTaken)}, now: drawStart(t),
		permits: make(map[string]*rate.Permits), tokens: make(map[string][]string), client: client, prefix: prefix,
	}
	for _, name := range []string{"one", "two"} {
		var err error
		h.permits[name], err = rate.NewPermits(client, rate.PermitsOptions{Prefix: prefix, Name: "p", Client: name, Lag: lag})
		require.NoError(t, err)
	}
	h.setRate(t)
	t.Repeat(map[string]func(*rapid.T){
		"acquire": h.acquire, "acquire ": h.acquire, "acquire  ": h.acquire, // three times as often as others
		"at the hint": h.tryAtHint, "give back": h.giveBack, "try set rate": h.trySetRate, "set rate": h.setRate, "peek": h.peek,
		"time goes":   func(t *rapid.T) { h.now = h.now.Add(drawStep(t, h.model.Rate.Interval)) },
		"clock steps": h.stepClock,
	})
}

type permitsHistory struct {
	client  redis.Cmdable
	prefix  string
	model   *PermitsModel
	permits map[string]*rate.Permits
	tokens  map[string][]string // by client
	now     time.Time
}

// drawStep draws a time to pass: to an edge of an interval, between edges, an hour,
// or backwards, also as far as a step of the clock that is taken back.
func drawStep(t *rapid.T, interval time.Duration) time.Duration {
	edge := time.Duration(rapid.IntRange(-1, 1).Draw(t, "edge")) * time.Millisecond
	switch rapid.IntRange(0, 7).Draw(t, "step") {
	case 3:
		return -rapid.SampledFrom([]time.Duration{time.Hour, 26 * time.Hour}).Draw(t, "step back")
	case 4:
		return -(interval + rapid.SampledFrom([]time.Duration{0, rate.MaxLag}).Draw(t, "delay") + edge)
	case 0:
		return interval + edge
	case 1:
		return time.Hour
	case 2:
		return -time.Duration(rapid.Int64Range(0, 2*interval.Milliseconds()).Draw(t, "back")) * time.Millisecond
	default:
		return time.Duration(rapid.Int64Range(0, interval.Milliseconds()).Draw(t, "ms")) * time.Millisecond
	}
}

// stepClock lets clients take permits while the clock is ahead, and when it is right again.
func (h *permitsHistory) stepClock(t *rapid.T) {
	edge := time.Duration(rapid.IntRange(-1, 1).Draw(t, "edge")) * time.Millisecond
	ahead := h.model.Rate.Interval + h.model.Lag + rapid.SampledFrom([]time.Duration{0, rate.MaxLag, time.Hour}).Draw(t, "ahead") + edge
	h.now = h.now.Add(ahead)
	h.acquire(t)
	h.now = h.now.Add(-ahead)
	for range 2 {
		h.acquire(t)
		h.peek(t)
	}
	h.now = h.now.Add(ahead)
	h.acquire(t)
}

func drawRate(t *rapid.T) rate.Rate {
	return rate.Rate{
		Count:    rapid.Int64Range(1, 6).Draw(t, "count"),
		Interval: time.Duration(rapid.SampledFrom([]int{1, 7, 100, 1000, 60_000}).Draw(t, "interval")) * time.Millisecond,
	}
}

func (h *permitsHistory) drawRate(t *rapid.T) rate.PermitRate {
	r := rate.PermitRate{Rate: drawRate(t), PerClient: rapid.Bool().Draw(t, "per client")}
	if rapid.IntRange(0, 3).Draw(t, "large") == 0 {
		r.Count = rapid.Int64Range(7, rate.MaxCount).Draw(t, "large count")
	}
	return r
}

func (h *permitsHistory) drawClient(t *rapid.T) string {
	return rapid.SampledFrom([]string{"one", "two"}).Draw(t, "client")
}

func (h *permitsHistory) setRate(t *rapid.T) {
	h.model.Rate = h.drawRate(t)
	require.NoError(t, h.permits["one"].SetRate(t.Context(), h.model.Rate))
}

func (h *permitsHistory) trySetRate(t *rapid.T) {
	holds, err := h.permits["two"].TrySetRate(t.Context(), h.drawRate(t))
	require.NoError(t, err)
	require.Equal(t, h.model.Rate, holds, "the first wins")
}

func (h *permitsHistory) acquire(t *rapid.T) {
	name, token := h.drawClient(t), keyspace.NewToken()
	if known := h.tokens[name]; len(known) > 0 && rapid.IntRange(0, 9).Draw(t, "again") == 0 {
		token = rapid.SampledFrom(known).Draw(t, "token")
	}
	delay := time.Duration(rapid.SampledFrom([]int{0, 0, 0, 30}).Draw(t, "delay")) * time.Millisecond
	request := rate.PermitRequest{Token: token, Permits: h.drawPermits(t), Delay: delay, Now: h.now}
	got, err := h.permits[name].Acquire(t.Context(), request)
	if request.Permits > h.model.Rate.Count {
		problem := &fault.InvalidError{}
		require.ErrorAs(t, err, &problem, "the rate never has so many")
		return
	}
	want, reused := h.model.Acquire(name, request)
	if reused {
		problem := &rate.TokenReusedError{}
		require.ErrorAs(t, err, &problem)
		return
	}
	require.NoError(t, err)
	require.Equal(t, want, got)
	if got.Allowed {
		h.tokens[name] = append(h.tokens[name], token)
	}
}

// tryAtHint asks for permits. If they are refused, it requires that they are
// refused a millisecond before RetryAfter and allowed at RetryAfter. A permit that was
// taken while the clock was far ahead may count by then.
func (h *permitsHistory) tryAtHint(t *rapid.T) {
	name, token := h.drawClient(t), keyspace.NewToken()
	n := min(h.drawPermits(t), h.model.Rate.Count)
	ask := func(at time.Time) rate.Grant {
		request := rate.PermitRequest{Token: token, Permits: n, Now: at}
		d, err := h.permits[name].Acquire(t.Context(), request)
		require.NoError(t, err)
		want, _ := h.model.Acquire(name, request)
		require.Equal(t, want, d)
		return d
	}
	if d := ask(h.now); !d.Allowed {
		require.Positive(t, d.RetryAfter)
		require.False(t, ask(h.now.Add(d.RetryAfter-time.Millisecond)).Allowed, "before the hint")
		ahead := h.model.ahead(name, h.now)
		h.now = h.now.Add(d.RetryAfter)
		got := ask(h.now)
		require.True(t, got.Allowed || ahead, "at the hint")
	}
	h.tokens[name] = append(h.tokens[name], token)
}

func (h *permitsHistory) peek(t *rapid.T) {
	name := h.drawClient(t)
	got, err := h.permits[name].Peek(t.Context(), h.now)
	require.NoError(t, err)
	require.Equal(t, h.model.Peek(name, h.now), got)
}

func (h *permitsHistory) giveBack(t *rapid.T) {
	name := h.drawClient(t)
	if len(h.tokens[name]) == 0 {
		return
	}
	token := rapid.SampledFrom(h.tokens[name]).Draw(t, "token")
	if rapid.Bool().Draw(t, "a part") {
		part := h.drawPermits(t)
		given, err := h.permits[name].GiveBackPart(t.Context(), token, part)
		require.NoError(t, err)
		require.LessOrEqual(t, given, part)
		h.model.GiveBack(name, token, part)
		return
	}
	_, err := h.permits[name].GiveBack(t.Context(), token)
	require.NoError(t, err)
	given, err := h.permits[name].GiveBack(t.Context(), token)
	require.NoError(t, err)
	require.Zero(t, given, "once is all")
	h.model.GiveBack(name, token, rate.MaxCount)
}

// drawPermits draws a number of permits, sometimes more than the rate has.
func (h *permitsHistory) drawPermits(t *rapid.T) int64 {
	return rapid.Int64Range(1, h.model.Rate.Count+1).Draw(t, "permits")
}
