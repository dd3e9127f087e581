package sendlimittest

import (
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// CheckForbidden runs a random history as CheckHistory does, or fills a timeline as
// CheckCrowd does. Then it compares the answers of Timeline.Forbidden with decisions about
// single times: at the edges of stretches, a millisecond beside them, and at random times.
// It returns how many decisions it compared. It needs a prefix of its own.
func CheckForbidden(t *rapid.T, client redis.UniversalClient, prefix string) (compared int) {
	if rapid.IntRange(0, 3).Draw(t, "crowd") == 0 {
		c := newCrowd(t, client, prefix)
		for range 4 {
			compared += c.forbidden(t)
		}
		return compared
	}
	h := newHistory(t, client, prefix)
	actions := []func(*rapid.T){
		h.reserve, h.reserve, h.reserve, h.reserve, h.move, h.release, h.passTime, h.changePolicy, h.changeSettings,
	}
	for range rapid.IntRange(1, 4).Draw(t, "rounds") {
		for _, action := range rapid.SliceOfN(rapid.IntRange(0, len(actions)-1), 0, 15).Draw(t, "actions") {
			actions[action](t)
		}
		compared += h.forbidden(t)
	}
	return compared
}

func drawSpan(t *rapid.T, from time.Time) (time.Time, time.Time) {
	long := rapid.SampledFrom([]time.Duration{
		time.Millisecond, time.Minute, time.Hour, 30 * time.Hour, 9 * 24 * time.Hour, sendlimit.MaxUsageSpan,
	}).Draw(t, "span")
	from = from.Add(-time.Duration(rapid.IntRange(0, 100).Draw(t, "percent before")) * long / 100)
	return from, from.Add(long)
}

// forbidden checks the forbidden times of a new message, or of one that has a place.
func (h *history) forbidden(t *rapid.T) int {
	r := sendlimit.ForbiddenRequest{User: h.drawUser(t), Category: h.drawCategory(t), Now: h.now}
	from := h.drawTime(t)
	if from.IsZero() {
		from = h.now
	}
	r.From, r.To = drawSpan(t, from)
	check := forbiddenCheck{asked: h.drawProcess(t), judging: h.drawProcess(t), records: h.records}
	if h.records && rapid.Bool().Draw(t, "of a message") {
		id := h.drawHeld(t, r.User)
		if known := h.messages[r.User+id]; known != nil && !known.cancelled {
			r.ID, r.Category = id, known.category
			check.has = moment(known.at)
		}
	}
	return check.compare(t, r)
}

func (c *crowd) forbidden(t *rapid.T) int {
	r := sendlimit.ForbiddenRequest{User: crowdUser, Category: rapid.SampledFrom(historyCategories).Draw(t, "category"), Now: c.now}
	r.From, r.To = drawSpan(t, c.drawTime(t))
	check := forbiddenCheck{asked: c.timeline, judging: c.timeline, records: true}
	if rapid.Bool().Draw(t, "of a message") {
		moved := rapid.SampledFrom(c.places).Draw(t, "moved")
		r.ID, r.Category = moved.id, moved.category
		check.has = moment(moved.at)
	}
	return check.compare(t, r)
}

// forbiddenCheck compares forbidden times of one process with decisions of another.
type forbiddenCheck struct {
	asked, judging *sendlimit.Timeline
	records        bool
	has            time.Time // the present time of the message: it is not judged
}

// compare requires that the stretches have the decisions' reasons at each time, and returns
// how many times it compared.
func (c forbiddenCheck) compare(t *rapid.T, r sendlimit.ForbiddenRequest) int {
	f, err := c.asked.Forbidden(t.Context(), r)
	require.NoError(t, err, "%+v", r)
	requireStretches(t, r, f)
	compared := 0
	for _, at := range drawTimesAround(t, r, f) {
		if at.Before(r.Now) || at.After(f.Latest) || cut(at) == cut(c.has) || at.Before(moment(cut(r.From))) || !at.Before(moment(cut(r.To))) {
			continue
		}
		d := c.decisionAt(t, r, at)
		compared++
		if d.Code == fault.CodeUnknownCategory {
			continue
		}
		if f.Blocked || f.OptedOut {
			require.Contains(t, []fault.Code{fault.CodeBlocked, fault.CodeOptedOut}, d.Code)
			require.Equal(t, f.Blocked, d.Code == fault.CodeBlocked)
			continue
		}
		var want, got []string
		for _, v := range d.Violations {
			want = append(want, fmt.Sprintf("%s %s", v.Rule, v.Category))
		}
		if d.Code == fault.CodeQuietHours {
			want = append(want, d.Quiet.Hours)
		}
		if d.Code == fault.CodeDoNotDisturb {
			want = append(want, string(d.Code))
		}
		full := false
		for _, s := range f.Stretches {
			switch {
			case at.Before(s.From) || !at.Before(s.Until):
			case s.Code == fault.CodeTooManyPlaces:
				full = true
			case s.Code == fault.CodeDoNotDisturb:
				got = append(got, string(s.Code))
			case s.Code == fault.CodeQuietHours && d.Code == fault.CodeDoNotDisturb: // the decision has only one of them
			case s.Code == fault.CodeQuietHours:
				got = append(got, s.Quiet)
			default:
				got = append(got, fmt.Sprintf("%s %s", s.Rule, s.Category))
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		message := []any{"%s\nrequest %+v\nforbidden %+v\ndecision %+v", at, r, f, d}
		require.Equal(t, want, got, message...)
		if len(want) == 0 {
			require.Equal(t, d.Code == fault.CodeTooManyPlaces, full, message...)
			require.Equal(t, d.Allowed, !full, message...)
		}
	}
	return compared
}

// decisionAt returns the decision of Check, or Move of the message, about a time.
func (c forbiddenCheck) decisionAt(t *rapid.T, r sendlimit.ForbiddenRequest, at time.Time) sendlimit.Decision {
	if r.ID != "" {
		d, err := c.judging.Move(t.Context(), sendlimit.MoveRequest{User: r.User, ID: r.ID, At: at, Generation: "other", Check: true, Now: r.Now})
		require.NoError(t, err)
		return d
	}
	asked := sendlimit.Request{User: r.User, ID: "new", At: at, Category: r.Category, WithoutFreeTimes: true, Now: r.Now}
	if c.records {
		asked.Record = &sendlimit.Record{Generation: "other", Category: r.Category, Fingerprint: "other"}
	}
	d, err := c.judging.Check(t.Context(), asked)
	require.NoError(t, err)
	return d
}

// requireStretches requires the order and the bounds of the stretches.
func requireStretches(t *rapid.T, r sendlimit.ForbiddenRequest, f sendlimit.Forbidden) {
	ended := make(map[sendlimit.ForbiddenStretch]time.Time)
	var last time.Time
	for _, s := range f.Stretches {
		require.False(t, s.From.Before(moment(cut(r.From))))
		require.False(t, s.Until.After(moment(cut(r.To))))
		require.True(t, s.From.Before(s.Until))
		require.False(t, s.From.Before(last), "by From")
		last = s.From
		why := s
		why.From, why.Until = time.Time{}, time.Time{}
		if before, ok := ended[why]; ok {
			require.True(t, s.From.After(before), "stretches of one reason do not touch")
		}
		ended[why] = s.Until
	}
}

// drawTimesAround draws times of a span: at edges of some stretches, beside them, and any.
func drawTimesAround(t *rapid.T, r sendlimit.ForbiddenRequest, f sendlimit.Forbidden) []time.Time {
	times := []time.Time{r.From, r.To.Add(-time.Millisecond)}
	for range 12 {
		into := rapid.Int64Range(0, r.To.Sub(r.From).Milliseconds()-1).Draw(t, "any time")
		times = append(times, r.From.Add(time.Duration(into)*time.Millisecond))
	}
	stretches := f.Stretches
	if most := 8; len(stretches) > most {
		first := rapid.IntRange(0, len(stretches)-most).Draw(t, "first stretch")
		stretches = stretches[first : first+most]
	}
	for _, s := range stretches {
		for _, edge := range []time.Time{s.From, s.Until} {
			times = append(times, edge.Add(-time.Millisecond), edge, edge.Add(time.Millisecond))
		}
	}
	return times
}
