package submit

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// heldReserve plays the store to a chargedReserve: holds are of whole hours, and
// how a reserve ends is told in advance.
type heldReserve struct {
	*testing.T

	now    time.Time
	ends   []reserveEnd
	asked  []sendlimit.Request
	events []string // what became of holds, and of which hour
}

type reserveEnd struct {
	took time.Duration
	d    sendlimit.Decision
	err  error
}

func (h *heldReserve) Hold(_ context.Context, r quota.Request) (quota.Charge, error) {
	hour := r.At.Truncate(time.Hour)
	h.events = append(h.events, "held "+hour.Format("15h"))
	return quota.Charge{
		Allowed: true, At: r.At, Now: h.now,
		Hold: sendlimit.Hold{Account: "acme", Attempt: hour.Format("15h"), Until: hour.Add(time.Hour)},
	}, nil
}

// reserving returns the reserve of account acme, without throttles.
func (h *heldReserve) reserving(clock *storeclock.Clock) *chargedReserve {
	return &chargedReserve{
		holder: h, judge: h, clock: clock, rules: story.RulesBy(h.T, policy.Default()),
		payer: backend.Payer{Account: accounts.Account{Name: "acme"}},
	}
}

func (h *heldReserve) settleNow(_ context.Context, of sendlimit.Hold) {
	h.events = append(h.events, "settled "+of.Attempt)
}

// NextOpen says that the quota has messages left at any time.
func (h *heldReserve) NextOpen(_ context.Context, r quota.Request, _ time.Time) (time.Time, error) {
	return r.At, nil
}

func (h *heldReserve) NextFree(context.Context, sendlimit.NextFreeRequest) ([]time.Time, error) {
	require.FailNow(h, "the timeline has said what is free")
	return nil, nil
}

func (h *heldReserve) settleLater(hold sendlimit.Hold) {
	h.events = append(h.events, "made "+hold.Attempt)
}

func (h *heldReserve) giveBack(_ context.Context, hold sendlimit.Hold) {
	h.events = append(h.events, "gave back "+hold.Attempt)
}

func (h *heldReserve) leave(hold sendlimit.Hold) { h.events = append(h.events, "left "+hold.Attempt) }

func (h *heldReserve) Reserve(_ context.Context, r sendlimit.Request) (sendlimit.Decision, error) {
	h.asked = append(h.asked, r)
	end := h.ends[0]
	h.ends = h.ends[1:]
	h.now = h.now.Add(end.took)
	end.d.Now = h.now
	return end.d, end.err
}

func (h *heldReserve) Check(context.Context, sendlimit.Request) (sendlimit.Decision, error) {
	require.FailNow(h, "nobody refuses but the timeline")
	return sendlimit.Decision{}, nil
}

func TestHowAHoldEndsWithItsReserve(t *testing.T) {
	t.Parallel()
	hour := func(h float64) time.Time {
		return time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC).Add(time.Duration(h * float64(time.Hour)))
	}
	refused := func(next float64) sendlimit.Decision {
		return sendlimit.Decision{
			Code: fault.CodeSendLimit, Violations: []sendlimit.Violation{{}}, NextFree: hour(next),
		}
	}
	allowed := sendlimit.Decision{Allowed: true}
	over := sendlimit.Decision{Code: fault.CodeHoldOver}
	for _, test := range []struct {
		name   string
		ends   []reserveEnd
		from   []float64 // where each reserve searches from; zero for the send time
		events []string
	}{
		{
			"a shift takes the next free hour",
			[]reserveEnd{{d: refused(14.5)}, {d: allowed}},
			[]float64{0, 14.5},
			[]string{"held 12h", "gave back 12h", "held 14h", "made 14h"},
		},
		{
			"and one that became free before it, while it was lost",
			[]reserveEnd{{d: refused(14.5)}, {d: refused(13.5)}, {d: allowed}},
			[]float64{0, 14.5, 13.5},
			[]string{"held 12h", "gave back 12h", "held 14h", "gave back 14h", "held 13h", "made 13h"},
		},
		{
			"but none behind its bound",
			[]reserveEnd{{d: refused(16.5)}},
			[]float64{0},
			[]string{"held 12h", "gave back 12h"},
		},
		{
			"what took so long may have been asked twice",
			[]reserveEnd{{d: refused(16.5), took: repeatedAfter}},
			[]float64{0},
			[]string{"held 12h", "left 12h"},
		},
		{
			"what is over is over",
			[]reserveEnd{{d: over, took: 6 * time.Second}, {d: refused(16.5)}},
			[]float64{0, 0},
			[]string{"held 12h", "gave back 12h", "held 12h", "gave back 12h"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := &heldReserve{T: t, now: hour(1), ends: test.ends}
			c := h.reserving(&storeclock.Clock{Local: func() time.Time { return h.now }})
			_, err := c.reserve(t.Context(), sendlimit.Request{At: hour(12.5), Shift: true, ShiftUntil: hour(15)})
			require.NoError(t, err)
			require.Equal(t, test.events, h.events)
			require.Len(t, h.asked, len(test.from))
			for i, from := range test.from {
				if from == 0 {
					require.Zero(t, h.asked[i].SearchFrom)
				} else {
					require.Equal(t, hour(from), h.asked[i].SearchFrom)
				}
			}
		})
	}
}

// On another connection, a reserve that got no answer is asked for as it was: its
// charge is that of the hour that it searched.
func TestAReserveGoesOnWithItsHold(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 12, 30, 0, 0, time.UTC)
	next := at.Add(2 * time.Hour)
	broken := errors.New("broken")
	h := &heldReserve{T: t, now: at.Add(-time.Hour), ends: []reserveEnd{
		{d: sendlimit.Decision{Code: fault.CodeSendLimit, Violations: []sendlimit.Violation{{}}, NextFree: next}},
		{err: broken},
		{d: sendlimit.Decision{Allowed: true}},
	}}
	c := h.reserving(&storeclock.Clock{Local: func() time.Time { return h.now }})
	request := sendlimit.Request{At: at, Shift: true}
	_, err := c.reserve(t.Context(), request)
	require.ErrorIs(t, err, broken)
	d, err := c.reserve(t.Context(), request)
	require.NoError(t, err)
	require.True(t, d.Allowed)
	require.Equal(t, []string{"held 12h", "gave back 12h", "held 14h", "made 14h"}, h.events)
	require.Equal(t, next, h.asked[2].SearchFrom)
	require.Equal(t, "14h", h.asked[2].Hold.Attempt)
}

// What a message leaves to its user's policy goes on where that says so, out of
// quiet hours as well.
func TestAReserveGoesOnByPolicy(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 12, 30, 0, 0, time.UTC)
	quiet := sendlimit.Decision{Code: fault.CodeQuietHours, NextFree: at.Add(2 * time.Hour)}
	for says, events := range map[policy.OnConflict][]string{
		policy.Shift:  {"held 12h", "gave back 12h", "held 14h", "made 14h"},
		policy.Refuse: {"held 12h", "gave back 12h"},
		"":            {"held 12h", "gave back 12h"},
	} {
		h := &heldReserve{T: t, now: at.Add(-time.Hour), ends: []reserveEnd{{d: quiet}, {d: sendlimit.Decision{Allowed: true}}}}
		c := h.reserving(&storeclock.Clock{Local: func() time.Time { return h.now }})
		p := policy.Default()
		p.OnConflict = says
		c.rules = story.RulesBy(t, p)
		_, err := c.reserve(t.Context(), sendlimit.Request{At: at, ByPolicy: true})
		require.NoError(t, err)
		require.Equal(t, events, h.events, "%q", says)
	}
}

// A process whose clock is behind that of the store refuses a time that has just passed as the
// store would: it stands for now.
func TestARefusedTimeThatHasJustPassedIsNow(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, time.November, 28, 11, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]time.Time{
		-time.Second: asked, 300 * time.Millisecond: asked.Add(300 * time.Millisecond), policy.Grace + time.Second: asked,
	} {
		refused := quota.Charge{Code: fault.CodeQuotaExceeded, Now: asked.Add(after)}
		refused.At = asked
		d := sendlimit.Decision{Code: fault.CodeQuotaExceeded, At: want, Now: refused.Now}
		if !want.Equal(asked) {
			d.RequestedAt = asked
		}
		require.Equal(t, d, chargeDecision(asked, refused), after)
	}
}
