package sendlimittest

import (
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// CheckCounters runs a random history of calls, refunds and changed limits on
// Counters and on a CountersModel, and compares every answer. After each step
// every counter's key has an expiry. Keys begin with prefix, which no other
// history may use. Call it from rapid.Check.
func CheckCounters(t *rapid.T, client redis.Cmdable, prefix string) {
	limits := counters.New(client, keyspace.KeysUnder(prefix))
	events := counters.NewEvents(client, keyspace.KeysUnder(prefix))
	keys, err := keyspace.NewKeys(prefix)
	require.NoError(t, err)
	h := &countersHistory{
		client: client, keys: keys, counters: limits, events: events, model: NewCountersModel(), now: drawStart(t),
	}
	defer func() { // listing keys goes through all keys of the store
		if names := h.listKeys(t); len(names) > 0 {
			require.NoError(t, client.Del(t.Context(), names...).Err())
		}
	}()
	t.Repeat(map[string]func(*rapid.T){
		"count":        h.count,
		"count ":       h.count, // three times as often as others
		"count  ":      h.count,
		"peek":         h.peek,
		"give back":    h.giveBack,
		"reset":        h.reset,
		"time goes":    h.passTime,
		"event is set": h.setEvent,
		"event is not": h.removeEvent,
		"":             h.requireExpiry,
	})
}

// countersHistory is Counters and their model.
type countersHistory struct {
	client   redis.Cmdable
	keys     keyspace.Keys
	counters *counters.Counters
	events   *counters.Events
	model    *CountersModel
	now      time.Time
	wentBack bool               // whether the clock ever went back
	counted  []counters.Request // to give back
}

// historyCounters returns all counters of a history, without limits.
func historyCounters() []counters.Counter {
	return []counters.Counter{
		{Name: "m", Period: calendar.Minute},
		{Name: "h", Period: calendar.Hour},
		{Name: "d", Period: calendar.Day},
		{Name: "w", Period: calendar.Week},
		{Name: "month-2", Period: calendar.Month},
		{Name: "burst", Window: 90 * time.Second},
		{Name: "tier_1", Window: 1500 * time.Millisecond},
		{Name: "long", Window: 36 * time.Hour},
	}
}

func (h *countersHistory) drawEvent(t *rapid.T) string {
	return rapid.SampledFrom([]string{"submit", "login"}).Draw(t, "event")
}

func (h *countersHistory) drawRequest(t *rapid.T) counters.Request {
	r := counters.Request{
		Key: rapid.SampledFrom([]string{"a", "a:m:5", "ü b"}).Draw(t, "key"),
		N:   int64(rapid.IntRange(0, 3).Draw(t, "n")),
		At:  h.now,
	}
	least := 1
	if rapid.Bool().Draw(t, "of an event") {
		r.Event, least = h.drawEvent(t), 0
	} else {
		r.TimeZone = rapid.SampledFrom(historyZones).Draw(t, "zone")
	}
	r.Counters = rapid.SliceOfNDistinct(rapid.SampledFrom(historyCounters()), least, 4,
		func(c counters.Counter) string { return c.Name }).Draw(t, "counters")
	for i := range r.Counters { // another limit each time
		r.Counters[i].Limit = int64(rapid.IntRange(2, 6).Draw(t, "limit"))
	}
	return r
}

func (h *countersHistory) count(t *rapid.T) {
	r := h.drawRequest(t)
	want, refusal := h.model.Count(r)
	got, err := h.counters.Count(t.Context(), r)
	if refusal != nil {
		var invalid *fault.InvalidError
		require.ErrorAs(t, err, &invalid, "%+v", r)
		require.Equal(t, "n", invalid.Field)
		return
	}
	require.NoError(t, err, "%+v", r)
	require.Equal(t, want, got, "%+v", r)
	if got.Allowed {
		h.counted = append(h.counted, r)
		return
	}
	h.requireExactHint(t, r, got)
}

func (h *countersHistory) peek(t *rapid.T) {
	r := h.drawRequest(t)
	want, refusal := h.model.Peek(r)
	got, err := h.counters.Peek(t.Context(), r)
	if refusal != nil {
		require.Error(t, err, "%+v", r)
		return
	}
	require.NoError(t, err, "%+v", r)
	require.Equal(t, want, got, "%+v", r)
}

// requireExactHint requires that a refused call is allowed after RetryAfter, and
// still refused a millisecond earlier.
func (h *countersHistory) requireExactHint(t *rapid.T, r counters.Request, d counters.Decision) {
	r.At = d.Now.Add(d.RetryAfter - time.Millisecond)
	early, err := h.counters.Count(t.Context(), r)
	require.NoError(t, err)
	require.False(t, early.Allowed, "%+v was allowed before %s was over", r, d.RetryAfter)
	if h.wentBack || !rapid.Bool().Draw(t, "wait") { // calls counted at a later time may be in the way
		return
	}
	h.now = d.Now.Add(d.RetryAfter)
	r.At = h.now
	want, refusal := h.model.Count(r)
	require.NoError(t, refusal)
	got, err := h.counters.Count(t.Context(), r)
	require.NoError(t, err)
	require.True(t, got.Allowed, "%+v was refused after %s", r, d.RetryAfter)
	require.Equal(t, want, got)
}

func (h *countersHistory) giveBack(t *rapid.T) {
	r := h.drawRequest(t)
	if len(h.counted) > 0 && rapid.IntRange(0, 3).Draw(t, "one that was counted") > 0 {
		r = rapid.SampledFrom(h.counted).Draw(t, "call")
	}
	before := h.listKeys(t)
	h.model.GiveBack(r)
	require.NoError(t, h.counters.GiveBack(t.Context(), r))
	marks := 0
	for _, key := range h.listKeys(t) {
		if slices.Contains(before, key) {
			continue
		}
		require.Contains(t, key, ":~", "giving back makes no key of a counter")
		marks++
	}
	require.LessOrEqual(t, marks, 1, "the call is marked once")
}

func (h *countersHistory) reset(t *rapid.T) {
	r := h.drawRequest(t)
	h.model.Reset(r)
	require.NoError(t, h.counters.Reset(t.Context(), r))
	got, err := h.counters.Peek(t.Context(), r)
	if err == nil { // one above a limit has no answer
		for _, u := range got.Counters {
			require.Zero(t, u.Used, "%+v", r)
		}
	}
}

func (h *countersHistory) passTime(t *rapid.T) {
	step := rapid.SampledFrom([]time.Duration{
		-3 * time.Second, -time.Hour, -36*time.Hour - 5*time.Minute, time.Millisecond, time.Second, 25 * time.Second, time.Minute, 40 * time.Minute, 5 * time.Hour, 30 * time.Hour,
	}).Draw(t, "step")
	h.now, h.wentBack = h.now.Add(step), h.wentBack || step < 0
}

func (h *countersHistory) setEvent(t *rapid.T) {
	limit := func(name string) int64 { return int64(rapid.IntRange(0, 6).Draw(t, name)) }
	e := counters.EventLimits{
		Name: h.drawEvent(t), PerMinute: limit("minute"), PerHour: limit("hour"), PerDay: 1 + limit("day"),
		TimeZone: rapid.SampledFrom(historyZones).Draw(t, "zone"),
	}
	require.NoError(t, h.events.Set(t.Context(), e))
	h.model.Set(e)
	got, ok, err := h.events.Get(t.Context(), e.Name)
	require.NoError(t, err)
	require.True(t, ok)
	if e.TimeZone == "UTC" {
		e.TimeZone = ""
	}
	require.Equal(t, e, got)
}

func (h *countersHistory) removeEvent(t *rapid.T) {
	name := h.drawEvent(t)
	removed, err := h.events.Remove(t.Context(), name)
	require.NoError(t, err)
	require.Equal(t, h.model.Remove(name), removed)
}

// listKeys lists the keys of counters.
func (h *countersHistory) listKeys(t *rapid.T) []string {
	var names []string
	for _, pattern := range []string{"*:count:*", "*:ev:*"} {
		found, err := h.client.Keys(t.Context(), h.keys.Prefix()+":{"+pattern).Result()
		require.NoError(t, err)
		names = append(names, found...)
	}
	return names
}

func (h *countersHistory) requireExpiry(t *rapid.T) {
	for _, key := range h.listKeys(t) {
		left, err := h.client.PTTL(t.Context(), key).Result()
		require.NoError(t, err)
		require.Positive(t, left, "%s never expires", key)
	}
}
