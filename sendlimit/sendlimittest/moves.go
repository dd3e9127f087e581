package sendlimittest

import (
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// change moves or cancels a message.
func (m *mailbox) change(t *rapid.T) {
	id := m.drawKnown(t, (*message).isOpen)
	if rapid.Bool().Draw(t, "cancel") {
		m.cancel(t, id)
		return
	}
	if rapid.IntRange(0, 2).Draw(t, "edit only") == 0 {
		m.edit(t, id)
		return
	}
	m.move(t, id)
}

func (m *mailbox) move(t *rapid.T, id string) {
	r := sendlimit.MoveRequest{User: mailboxUser, ID: id, At: m.drawTime(t), Generation: m.newToken("g"), Now: m.now}
	r.Check = rapid.IntRange(0, 5).Draw(t, "check only") == 5
	r.Unlimited = rapid.IntRange(0, 5).Draw(t, "unlimited") == 5
	if r.Unlimited && rapid.Bool().Draw(t, "with a reason") {
		r.Reason = messages.ReasonSettings
	}
	known := m.messages[id]
	if rapid.IntRange(0, 2).Draw(t, "with an edit") == 0 {
		edit := m.drawEdit(t, known, r.At)
		r.Edit = &edit
	}
	var want sendlimit.Decision
	edited := false // without a move
	switch {
	case known.isFree():
		want = sendlimit.Decision{Code: fault.CodeNotFound, Now: m.now}
	case !known.waitsForRules() || m.arrivedAtPlace(known):
		want = sendlimit.Decision{Code: fault.CodeTooLate, At: known.at, Now: m.now}
	case !known.fits(r.Edit):
		want = sendlimit.Decision{Code: fault.CodeEdited, At: known.at, Now: m.now}
	default:
		want = m.expectMove(known, r)
		stays, stood := want.At.Equal(known.at), known.at
		if want.Allowed && !stays && !r.Check {
			known.moved, known.edited = true, known.edited || !r.Unlimited
			if r.Reason == "" {
				known.local = ""
			}
			if m.needsQueue(known.at, want.At) {
				known.countMove(m.now)
			}
			known.note(change{letter: "m", at: m.now, to: want.At, from: known.at, reasons: []string{r.Reason}})
			want.Superseded = known.superseded()
			if known.requested = known.firstRequested(); known.requested.IsZero() {
				known.requested = known.at
			}
			known.renew(r.Generation, m.firstLook(want.At))
			known.far = m.isFar(want.At)
			known.at, known.promised, known.notBefore, known.waits = want.At, time.Time{}, time.Time{}, time.Time{}
			known.reason, known.reasons = "", nil
			known.uncounted = m.model.regime(mailboxUser).at(cut(want.At)).uncounted[known.category]
		}
		if _, keeps := known.keepsLocal(); want.Allowed && !r.Check && stays && keeps && !r.Unlimited {
			known.local = ""
		}
		if want.Allowed && !r.Check {
			made := m.apply(known, r.Edit)
			edited = made && stays
		}
		if want.Allowed && !stays && !r.Check { // with the metadata that it has now
			known.reason = r.Reason // of the event
			m.note(known, events.Moved, stood, "")
			known.reason = ""
		}
	}
	for range rapid.IntRange(1, 2).Draw(t, "calls") {
		got, err := m.timeline.Move(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, want, got, "%+v", r)
		want.Superseded = sendlimit.Timer{} // only the first call supersedes
		if edited {                         // who repeats it has to read the message again
			want = sendlimit.Decision{Code: fault.CodeEdited, At: known.at, Now: m.now}
		}
	}
}

// needsQueue reports whether a move from one time to another counts: the queue may have the message,
// or gets it.
func (m *mailbox) needsQueue(from, to time.Time) bool {
	near := m.now.Add(m.options.Horizon)
	return !from.After(near) || !to.After(near)
}

// expectMove returns the decision about a move of a pending message.
func (m *mailbox) expectMove(known *message, r sendlimit.MoveRequest) sendlimit.Decision {
	at := r.At
	if at.Before(m.now) {
		at = m.now
	}
	reach := time.Duration(m.regime().reach) * time.Millisecond
	inReach := !r.At.Before(m.now.Add(-policy.Grace)) && !r.At.After(m.now.Add(reach))
	stays, expires := r.At.Equal(known.at), known.expiresAfter(r.Edit)
	newExpiry := edits(r.Edit, sendlimit.EditExpiresAt)
	if stays {
		at = known.at
	}
	if (inReach && !stays || stays && newExpiry) && !expires.IsZero() && !at.Before(expires) {
		return sendlimit.Decision{Code: fault.CodePastExpiry, At: at, ExpiresAt: expires, Now: m.now}
	}
	if latest := m.now.Add(reach + sendlimit.ExpiryBeyondReach); (inReach || stays) && newExpiry && expires.After(latest) {
		return sendlimit.Decision{Code: fault.CodeInvalidField, At: at, Latest: latest, Now: m.now}
	}
	changes := inReach && !at.Equal(known.at) && !r.At.Equal(known.at) && m.needsQueue(known.at, at)
	if minute := known.movesSince.Add(time.Minute); changes && !r.Unlimited && known.movesIn(m.now) >= m.options.MovesPerMinute {
		return sendlimit.Decision{Code: fault.CodeRateLimited, At: at, RetryAfter: minute.Sub(m.now), Now: m.now}
	}
	// Its place may be forgotten, but the message is still pending.
	return m.model.move(m.remembered().remove(r.ID), known.place(), r)
}

func (m *mailbox) cancel(t *rapid.T, id string) {
	known := m.messages[id]
	want := sendlimit.Decision{Now: m.now}
	switch {
	case known == nil || known.state == dropped || known.state == failed:
		want.Code = fault.CodeNotFound
	case known.state == cancelled:
		want.Allowed, want.Replayed, want.At = true, true, known.at
	case !known.waitsForRules():
		want.Code, want.At = fault.CodeTooLate, known.at
	default:
		want.Allowed, want.At, want.Superseded = true, known.at, known.superseded()
		m.keepFormerPlace(known)
		known.end(cancelled, "", m.now)
		m.noteEnd(known, "")
	}
	got, err := m.timeline.Release(t.Context(), sendlimit.ReleaseRequest{User: mailboxUser, ID: id, Now: m.now})
	require.NoError(t, err)
	require.Equal(t, want, got, id)
}
