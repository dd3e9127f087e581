package sendlimittest

import (
	"cmp"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// The requests of CheckHistory and their expected answers. Without records the
// Model has the answer. With records, ids are known for longer than places.

// drawStart draws a time shortly before a change: the end of a day, week, month or
// year, a clock change, a leap day.
func drawStart(t *rapid.T) time.Time {
	start, _ := drawZonedStart(t)
	return start
}

// drawZonedStart is like drawStart and returns the zone of the change too.
func drawZonedStart(t *rapid.T) (start time.Time, zone string) {
	at := rapid.SampledFrom([]struct{ moment, zone string }{
		{"2051-03-25T23:59:00Z", "Europe/Berlin"},
		{"2051-10-28T22:30:00Z", "Europe/Berlin"},
		{"2051-04-01T14:20:00Z", "Australia/Lord_Howe"},
		{"2051-09-30T15:40:00Z", "Australia/Lord_Howe"},
		{"2051-04-02T02:10:00Z", "America/Santiago"},
		{"2051-09-03T03:30:00Z", "America/Santiago"}, // at midnight
		{"2051-12-31T23:59:58Z", ""},
		{"2052-02-28T23:30:00Z", ""},
		{"2051-06-04T21:59:59Z", "Europe/Berlin"},
		{"2051-07-12T11:11:11Z", ""},
	}).Draw(t, "start")
	start, err := time.Parse(time.RFC3339, at.moment)
	require.NoError(t, err)
	return start.Add(time.Duration(rapid.IntRange(0, 1999).Draw(t, "ms")) * time.Millisecond), at.zone
}

// drawTime draws a time near now, near the edge of a window around an earlier
// time, near an edge of quiet hours, or near the end of the reach.
func (h *history) drawTime(t *rapid.T) time.Time {
	edge := time.Duration(rapid.IntRange(-1, 1).Draw(t, "edge")) * time.Millisecond
	unit := rapid.SampledFrom([]time.Duration{
		time.Second, 20 * time.Second, time.Minute, time.Hour, 5 * time.Hour, 24 * time.Hour,
	}).Draw(t, "unit")
	switch rapid.IntRange(0, 11).Draw(t, "kind") {
	case 0:
		return time.Time{}
	case 1:
		return h.now.Add(-rapid.SampledFrom([]time.Duration{0, time.Second, policy.Grace}).Draw(t, "past") + edge)
	case 2:
		reach := h.model.regime(h.drawUser(t)).reach
		return h.now.Add(time.Duration(reach)*time.Millisecond + edge)
	case 3, 4, 5:
		if len(h.times) > 0 {
			window := unit
			if rule := rapid.SampledFrom(h.policies[0].Rules).Draw(t, "rule"); !rule.Calendar() {
				window = rule.Window
			}
			step := rapid.SampledFrom([]time.Duration{-window, 0, window}).Draw(t, "step")
			return rapid.SampledFrom(h.times).Draw(t, "near").Add(step + edge)
		}
	case 6, 7:
		if q := h.model.regime(h.drawUser(t)).overall.quiet; q.lines != nil {
			at := cut(h.now)
			for range rapid.IntRange(1, 4).Draw(t, "edges of quiet hours") {
				at = q.nextEdge(at)
			}
			return moment(at).Add(edge)
		}
	}
	return h.now.Add(time.Duration(rapid.IntRange(0, 12).Draw(t, "units"))*unit + edge)
}

func (h *history) noteTimes(times ...time.Time) {
	for _, at := range times {
		if !at.IsZero() {
			h.times = append(h.times, at)
		}
	}
	if most := 40; len(h.times) > most {
		h.times = h.times[len(h.times)-most:]
	}
}

func (h *history) drawRequest(t *rapid.T) sendlimit.Request {
	r := sendlimit.Request{User: h.drawUser(t), ID: h.drawID(t), At: h.drawTime(t), Category: h.drawCategory(t), Now: h.now}
	r.Shift, r.ByPolicy = rapid.Bool().Draw(t, "shift"), rapid.Bool().Draw(t, "by policy")
	if (r.Shift || r.ByPolicy) && rapid.Bool().Draw(t, "bounded") {
		r.ShiftUntil = h.drawTime(t)
	}
	r.WithoutFreeTimes = rapid.IntRange(0, 3).Draw(t, "free times") == 0
	if rapid.IntRange(0, 2).Draw(t, "window") == 0 {
		r.At, r.Shift, r.ByPolicy, r.ShiftUntil, r.Window = time.Time{}, false, false, time.Time{}, h.drawWindow(t)
	}
	if known := h.messages[r.User+r.ID]; known != nil && !known.cancelled && rapid.Bool().Draw(t, "the same again") {
		r.Category = known.category
	}
	if h.records {
		h.generations++
		r.Record = &sendlimit.Record{
			Generation: fmt.Sprintf("g%d", h.generations), Category: r.Category, Content: []byte("text"),
			// Coarse, so that requests repeat.
			Fingerprint: r.Category + r.At.Truncate(time.Hour).String() + fmt.Sprint(r.Window != nil),
		}
		r.Share, r.Hold = h.drawShare(t)
	}
	return r
}

// drawShare draws the account of a request, its share of a day, and its hold.
func (h *history) drawShare(t *rapid.T) (sendlimit.Share, *sendlimit.Hold) {
	account := rapid.SampledFrom([]string{"", "acme", "beta"}).Draw(t, "account")
	if account == "" {
		return sendlimit.Share{}, nil
	}
	return h.shareOf(t, account), h.charge(account, nil)
}

// shareOf draws an account's share of a day.
func (h *history) shareOf(t *rapid.T, account string) sendlimit.Share {
	if account == "" || rapid.IntRange(0, 3).Draw(t, "all of the day") == 0 {
		return sendlimit.Share{Account: account}
	}
	return sendlimit.Share{Account: account, Places: rapid.IntRange(1, min(3, cmp.Or(h.model.places, 3))).Draw(t, "share")}
}

// charge returns the hold of a change of a message, nil for a new one.
func (h *history) charge(account string, of *booked) *sendlimit.Hold {
	hold := &sendlimit.Hold{Account: account, Attempt: fmt.Sprintf("a%d", h.generations), NotAfter: h.now}
	if of != nil {
		hold.Former = of.attempt
	}
	return hold
}

// expectReplay returns the answer to a request whose id is in use, nil if the id
// is free.
func (h *history) expectReplay(r sendlimit.Request) *sendlimit.Decision {
	known := h.messages[r.User+r.ID]
	if known == nil || known.cancelled {
		return nil
	}
	if known.request != r.Record.Fingerprint {
		d := refused(fault.CodeIDReused, cut(h.now))
		if d.At = moment(cutOr(r.At, cut(h.now))); r.Window != nil {
			d.At = moment(cut(r.Window.From))
		}
		return &d
	}
	if r.Window != nil {
		return &sendlimit.Decision{Allowed: true, Replayed: true, At: moment(known.at), Now: moment(cut(h.now))}
	}
	return &sendlimit.Decision{
		Allowed: true, Replayed: true, Shifted: known.shifted, At: moment(known.at), RequestedAt: known.requested,
		Now: moment(cut(h.now)),
	}
}

func (h *history) reserve(t *rapid.T) {
	r := h.drawRequest(t)
	want := h.expectReserve(r)
	got, err := h.drawProcess(t).Reserve(t.Context(), r)
	h.requireEqual(t, r, want, got, err)
}

func (h *history) expectReserve(r sendlimit.Request) sendlimit.Decision {
	if !h.records {
		return h.model.Reserve(r)
	}
	if known := h.expectReplay(r); known != nil {
		return *known
	}
	d := h.model.Reserve(r)
	if d.Allowed {
		e, _ := h.model.users[r.User].find(r.ID)
		b := &booked{entry: e, request: r.Record.Fingerprint, requested: d.RequestedAt, shifted: d.Shifted}
		if r.Hold != nil {
			b.attempt = r.Hold.Attempt
		}
		h.messages[r.User+r.ID] = b
	}
	return d
}

func (h *history) check(t *rapid.T) {
	r := h.drawRequest(t)
	want := h.model.Check(r)
	if h.records {
		if known := h.expectReplay(r); known != nil {
			want = *known
		}
	}
	got, err := h.drawProcess(t).Check(t.Context(), r)
	h.requireEqual(t, r, want, got, err)
}

func (h *history) release(t *rapid.T) {
	r := sendlimit.ReleaseRequest{User: h.drawUser(t), Now: h.now}
	r.ID = h.drawHeld(t, r.User)
	want := h.model.Release(r)
	if known := h.messages[r.User+r.ID]; h.records && known != nil {
		if known.attempt != "" && !known.cancelled {
			h.generations++
			r.Hold, r.From = h.charge(known.account, known), moment(known.at)
		}
		want = sendlimit.Decision{Allowed: true, Replayed: known.cancelled, At: moment(known.at), Now: moment(cut(h.now))}
		known.cancelled = true
	}
	got, err := h.drawProcess(t).Release(t.Context(), r)
	got.Superseded = sendlimit.Timer{} // CheckMessages compares it
	h.requireEqual(t, r, want, got, err)
}

func (h *history) move(t *rapid.T) {
	r := sendlimit.MoveRequest{User: h.drawUser(t), At: h.drawTime(t), Now: h.now}
	r.ID = h.drawHeld(t, r.User)
	if h.records {
		h.generations++
		r.Generation = fmt.Sprintf("g%d", h.generations)
		if known := h.messages[r.User+r.ID]; known != nil && known.attempt != "" && !known.cancelled {
			r.Share, r.Hold, r.From = h.shareOf(t, known.account), h.charge(known.account, known), moment(known.at)
		}
	}
	want := h.expectMove(r)
	got, err := h.drawProcess(t).Move(t.Context(), r)
	got.Superseded = sendlimit.Timer{} // CheckMessages compares it
	h.requireEqual(t, r, want, got, err)
}

func (h *history) expectMove(r sendlimit.MoveRequest) sendlimit.Decision {
	known := h.messages[r.User+r.ID]
	if known == nil || known.cancelled {
		return h.model.Move(r)
	}
	// The place may be forgotten, but the message is still pending.
	d := h.model.move(h.model.remember(r.User, cut(r.Now)).remove(r.ID), known.entry, r)
	if d.Allowed && cut(d.At) != known.at {
		if known.requested.IsZero() {
			known.requested = moment(known.at)
		}
		known.entry, _ = h.model.users[r.User].find(r.ID)
		if r.Hold != nil {
			known.attempt = r.Hold.Attempt
		}
	}
	return d
}

func (h *history) requireEqual(t *rapid.T, request any, want, got sendlimit.Decision, err error) {
	require.NoError(t, err, "%+v", request)
	require.Equal(t, want, got, "policies %s\nset %+v\nrequest %+v", h.policies, h.model.settings, request)
	h.noteTimes(got.At, got.NextFree, got.PreviousFree)
}

func (h *history) nextFree(t *rapid.T) {
	r := sendlimit.NextFreeRequest{
		User: h.drawUser(t), From: h.drawTime(t), Category: h.drawCategory(t), Count: rapid.IntRange(1, 12).Draw(t, "count"), Now: h.now,
	}
	if rapid.IntRange(0, 3).Draw(t, "for a move") == 0 {
		id := h.drawHeld(t, r.User)
		if known := h.messages[r.User+id]; known != nil {
			r.ID, r.Category = id, known.category
		}
	}
	if h.records {
		r.Share, _ = h.drawShare(t)
	}
	got, err := h.drawProcess(t).NextFree(t.Context(), r)
	require.NoError(t, err, "%+v", r)
	require.Equal(t, h.model.NextFree(r), got, "policies %s\nset %+v\nrequest %+v", h.policies, h.model.settings, r)
}

func (h *history) list(t *rapid.T) {
	r := sendlimit.ListRequest{User: h.drawUser(t), Now: h.now, Limit: rapid.IntRange(0, 5).Draw(t, "limit")}
	if rapid.Bool().Draw(t, "spanned") {
		r.From, r.To = h.drawTime(t), h.drawTime(t)
		if !r.From.IsZero() && !r.To.After(r.From) {
			r.To = time.Time{}
		}
	}
	held := h.listed(r.User)
	if rapid.Bool().Draw(t, "continued") {
		r.After = keyspace.Reservation{ID: h.drawID(t), At: h.drawTime(t)}
		if len(held) > 0 && rapid.Bool().Draw(t, "after one that is there") {
			r.After = rapid.SampledFrom(held.reservations()).Draw(t, "after")
		}
	}
	got, err := h.drawProcess(t).List(t.Context(), r)
	require.NoError(t, err, "%+v", r)
	require.Equal(t, held.list(r), got, "policies %s\nrequest %+v", h.policies, r)
}

// listed returns the places that count and those of pending messages.
func (h *history) listed(user string) timeline {
	tl := h.model.remember(user, cut(h.now))
	for i := range 25 {
		id := fmt.Sprintf("m%d", i+1)
		if known := h.messages[user+id]; known != nil && !known.cancelled {
			tl = tl.remove(id).add(known.entry)
		}
	}
	return tl
}

func (h *history) usage(t *rapid.T) {
	r := sendlimit.UsageRequest{User: h.drawUser(t), At: h.drawTime(t), Category: h.drawCategory(t), Now: h.now}
	if rapid.Bool().Draw(t, "spanned") {
		r.From = h.now.Add(time.Duration(rapid.IntRange(-3, 3).Draw(t, "hours")) * time.Hour)
		r.To = r.From.Add(time.Duration(rapid.IntRange(1, 30*24).Draw(t, "span")) * time.Hour)
	}
	got, err := h.drawProcess(t).Usage(t.Context(), r)
	require.NoError(t, err, "%+v", r)
	require.Equal(t, h.model.Usage(r), got, "policies %s\nset %+v\nrequest %+v", h.policies, h.model.settings, r)
}
