package sendlimittest

import (
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// CheckHistory draws a policy and a history of requests, puts each to a
// Timeline in the store behind client and to a Model, and holds every answer
// of the one against the other's, field by field. Limits change on the way.
// The timeline's keys begin with prefix, which no other history may share. Run
// it by rapid.Check.
//
// The clock of a history lies decades ahead, so that no key expires by the
// server's clock while the history runs by its own.
func CheckHistory(t *rapid.T, client redis.Cmdable, prefix string) {
	policy := drawPolicy(t)
	keys, err := sendlimit.NewKeys(prefix)
	require.NoError(t, err)
	reach := rapid.SampledFrom([]time.Duration{sendlimit.DefaultReach, 2 * time.Hour}).Draw(t, "reach")
	timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{Prefix: prefix, Policy: policy, Reach: reach})
	require.NoError(t, err)
	model, err := NewModel(policy, reach)
	require.NoError(t, err)
	h := &history{
		client: client, keys: keys, timeline: timeline, model: model, policy: policy, reach: reach, now: drawStart(t),
	}
	t.Repeat(map[string]func(*rapid.T){
		"reserve":   h.reserve,
		"reserve ":  h.reserve, // twice as often as the rest
		"check":     h.check,
		"release":   h.release,
		"move":      h.move,
		"next free": h.nextFree,
		"list":      h.list,
		"usage":     h.usage,
		"time goes": h.timeGoes,
		"limits":    h.limitsChange,
		"keys":      h.keysStay,
	})
}

// historyZones have clock changes at midnight, of half an hour, of a whole day
// and none at all, on both sides of the equator.
var historyZones = []string{ //nolint:gochecknoglobals // a constant table
	"", "UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "Asia/Kolkata", "Asia/Beirut",
}

const mostLimit = 4

func drawPolicy(t *rapid.T) sendlimit.Policy {
	windows := []string{
		"1s", "2s", "10s", "minute", "7m", "hour", "day", "3d", "week",
		"calendar_minute", "calendar_hour", "calendar_day", "calendar_week", "calendar_month",
	}
	rules := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) string {
		return strconv.Itoa(rapid.IntRange(1, mostLimit).Draw(t, "limit")) + "/" + rapid.SampledFrom(windows).Draw(t, "window")
	}), 1, 4, rapid.ID[string]).Draw(t, "rules")
	policy, err := sendlimit.ParsePolicy("drawn", rapid.SampledFrom(historyZones).Draw(t, "zone"), rules...)
	require.NoError(t, err)
	return policy
}

// drawStart picks a moment shortly before one at which something changes: a
// day, a week, a month or a year ends, clocks change, a leap day comes.
func drawStart(t *rapid.T) time.Time {
	at := rapid.SampledFrom([]string{
		"2051-03-25T23:59:00Z", "2051-10-28T22:30:00Z", // Berlin's clock changes of the year
		"2051-04-01T14:20:00Z", "2051-09-30T15:40:00Z", // Lord Howe's
		"2051-04-02T02:10:00Z", "2051-09-03T03:30:00Z", // Santiago's, at midnight
		"2051-12-31T23:59:58Z", "2052-02-28T23:30:00Z", "2051-06-04T21:59:59Z", "2051-07-12T11:11:11Z",
	}).Draw(t, "start")
	start, err := time.Parse(time.RFC3339, at)
	require.NoError(t, err)
	return start.Add(time.Duration(rapid.IntRange(0, 1999).Draw(t, "ms")) * time.Millisecond)
}

// history is a Timeline and the Model that it has to agree with.
type history struct {
	client   redis.Cmdable
	keys     sendlimit.Keys
	timeline *sendlimit.Timeline
	model    *Model
	policy   sendlimit.Policy
	reach    time.Duration
	now      time.Time
	times    []time.Time // asked for or answered before: worth asking about again
}

const historyUsers = 2

func (h *history) user(t *rapid.T) string {
	return "user:" + strconv.Itoa(rapid.IntRange(1, historyUsers).Draw(t, "user"))
}

func (h *history) id(t *rapid.T) string {
	return "m" + strconv.Itoa(rapid.IntRange(1, 25).Draw(t, "id"))
}

// at draws a time that is likely to matter: near now, at the edge of a window
// around a time met before, at an edge of the reach.
func (h *history) at(t *rapid.T) time.Time {
	edge := time.Duration(rapid.IntRange(-1, 1).Draw(t, "edge")) * time.Millisecond
	unit := rapid.SampledFrom([]time.Duration{
		time.Second, 20 * time.Second, time.Minute, time.Hour, 5 * time.Hour, 24 * time.Hour,
	}).Draw(t, "unit")
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		return time.Time{}
	case 1:
		return h.now.Add(-rapid.SampledFrom([]time.Duration{0, time.Second, sendlimit.Grace}).Draw(t, "past") + edge)
	case 2:
		return h.now.Add(h.reach + edge)
	case 3, 4, 5:
		if len(h.times) > 0 {
			window := unit
			if rule := rapid.SampledFrom(h.policy.Rules).Draw(t, "rule"); !rule.Calendar() {
				window = rule.Window
			}
			step := rapid.SampledFrom([]time.Duration{-window, 0, window}).Draw(t, "step")
			return rapid.SampledFrom(h.times).Draw(t, "near").Add(step + edge)
		}
	}
	return h.now.Add(time.Duration(rapid.IntRange(0, 12).Draw(t, "units"))*unit + edge)
}

func (h *history) met(times ...time.Time) {
	for _, at := range times {
		if !at.IsZero() {
			h.times = append(h.times, at)
		}
	}
	if most := 40; len(h.times) > most {
		h.times = h.times[len(h.times)-most:]
	}
}

func (h *history) request(t *rapid.T) sendlimit.Request {
	r := sendlimit.Request{User: h.user(t), ID: h.id(t), At: h.at(t), Now: h.now}
	if r.Shift = rapid.Bool().Draw(t, "shift"); r.Shift && rapid.Bool().Draw(t, "bounded") {
		r.ShiftUntil = h.at(t)
	}
	return r
}

func (h *history) reserve(t *rapid.T) {
	r := h.request(t)
	want := h.model.Reserve(r)
	got, err := h.timeline.Reserve(t.Context(), r)
	h.agree(t, r, want, got, err)
}

func (h *history) check(t *rapid.T) {
	r := h.request(t)
	want := h.model.Check(r)
	got, err := h.timeline.Check(t.Context(), r)
	h.agree(t, r, want, got, err)
}

func (h *history) release(t *rapid.T) {
	r := sendlimit.ReleaseRequest{User: h.user(t), ID: h.id(t), Now: h.now}
	want := h.model.Release(r)
	got, err := h.timeline.Release(t.Context(), r)
	h.agree(t, r, want, got, err)
}

func (h *history) move(t *rapid.T) {
	r := sendlimit.MoveRequest{User: h.user(t), ID: h.id(t), At: h.at(t), Now: h.now}
	want := h.model.Move(r)
	got, err := h.timeline.Move(t.Context(), r)
	h.agree(t, r, want, got, err)
}

func (h *history) agree(t *rapid.T, request any, want, got sendlimit.Decision, err error) {
	require.NoError(t, err, "%+v", request)
	require.Equal(t, want, got, "policy %s\nrequest %+v", h.policy, request)
	h.met(got.At, got.NextFree, got.PreviousFree)
}

func (h *history) nextFree(t *rapid.T) {
	r := sendlimit.NextFreeRequest{
		User: h.user(t), From: h.at(t), Count: rapid.IntRange(1, 12).Draw(t, "count"), Now: h.now,
	}
	got, err := h.timeline.NextFree(t.Context(), r)
	require.NoError(t, err, "%+v", r)
	require.Equal(t, h.model.NextFree(r), got, "policy %s\nrequest %+v", h.policy, r)
}

func (h *history) list(t *rapid.T) {
	r := sendlimit.ListRequest{User: h.user(t), Now: h.now, Limit: rapid.IntRange(0, 5).Draw(t, "limit")}
	if rapid.Bool().Draw(t, "spanned") {
		r.From, r.To = h.at(t), h.at(t)
		if !r.From.IsZero() && !r.To.After(r.From) {
			r.To = time.Time{}
		}
	}
	if rapid.Bool().Draw(t, "continued") {
		r.After = sendlimit.Reservation{ID: h.id(t), At: h.at(t)}
		held := h.model.List(sendlimit.ListRequest{User: r.User, Now: h.now})
		if len(held) > 0 && rapid.Bool().Draw(t, "after one that is there") {
			r.After = rapid.SampledFrom(held).Draw(t, "after")
		}
	}
	got, err := h.timeline.List(t.Context(), r)
	require.NoError(t, err, "%+v", r)
	require.Equal(t, h.model.List(r), got, "policy %s\nrequest %+v", h.policy, r)
}

func (h *history) usage(t *rapid.T) {
	r := sendlimit.UsageRequest{User: h.user(t), At: h.at(t), Now: h.now}
	if rapid.Bool().Draw(t, "spanned") {
		r.From = h.now.Add(time.Duration(rapid.IntRange(-3, 3).Draw(t, "hours")) * time.Hour)
		r.To = r.From.Add(time.Duration(rapid.IntRange(1, 30*24).Draw(t, "span")) * time.Hour)
	}
	got, err := h.timeline.Usage(t.Context(), r)
	require.NoError(t, err, "%+v", r)
	require.Equal(t, h.model.Usage(r), got, "policy %s\nrequest %+v", h.policy, r)
}

func (h *history) timeGoes(t *rapid.T) {
	step := rapid.SampledFrom([]time.Duration{
		time.Millisecond, time.Second, 30 * time.Second, time.Minute, time.Hour, 13 * time.Hour, 8 * 24 * time.Hour,
	}).Draw(t, "step")
	later := h.now.Add(step)
	if len(h.times) > 0 && rapid.IntRange(0, 2).Draw(t, "until a place is forgotten") == 0 {
		edge := time.Duration(rapid.IntRange(-1, 1).Draw(t, "edge")) * time.Millisecond
		at := rapid.SampledFrom(h.times).Draw(t, "place")
		later = at.Add(time.Duration(h.model.remembered)*time.Millisecond + edge)
	}
	if later.After(h.now) {
		h.now = later
	}
}

// limitsChange turns every limit into another, up or down: what is reserved
// stays, though windows may then be overfull.
func (h *history) limitsChange(t *rapid.T) {
	turn := rapid.IntRange(1, mostLimit-1).Draw(t, "turn")
	rules := slices.Clone(h.policy.Rules)
	for i, r := range rules { // turned alike, no two that differ become equal
		rules[i].Limit = (r.Limit-1+turn)%mostLimit + 1
	}
	h.policy.Rules = rules
	var err error
	h.timeline, err = h.timeline.WithPolicy(h.policy)
	require.NoError(t, err)
	users := h.model.users
	h.model, err = NewModel(h.policy, h.reach)
	require.NoError(t, err)
	h.model.users = users
}

// keysStay looks at the key itself: it expires, but not before its last
// reservation can be forgotten.
func (h *history) keysStay(t *rapid.T) {
	user := h.user(t)
	key := h.keys.Timeline(user)
	held := h.model.List(sendlimit.ListRequest{User: user, Now: h.now})
	members, err := h.client.ZRangeWithScores(t.Context(), key, 0, -1).Result()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(members), len(held))
	if len(members) == 0 {
		return
	}
	expires, err := h.client.PExpireTime(t.Context(), key).Result()
	require.NoError(t, err)
	require.Positive(t, expires, "it expires")
	if len(held) > 0 {
		last := held[len(held)-1].At
		require.GreaterOrEqual(t, expires.Milliseconds(), cut(last)+h.model.remembered)
	}
}
