package sendlimittest

import (
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// The replacements of CheckMessages: requests that replace the pending message with their id.

// replace submits a message that replaces another one, mostly one that is open.
func (m *mailbox) replace(t *rapid.T) {
	category := rapid.SampledFrom(historyCategories).Draw(t, "category")
	r := m.drawSubmit(t, m.drawKnown(t, (*message).isOpen), m.drawTime(t), category)
	r.Shift = rapid.Bool().Draw(t, "shift")
	r.Replace = &sendlimit.Replacement{Only: rapid.IntRange(0, 3).Draw(t, "only") == 3}
	known := m.messages[r.ID]
	if known != nil && rapid.IntRange(0, 3).Draw(t, "from a time") == 3 {
		r.Replace.From = known.at.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "later")/3) * time.Millisecond)
	}
	var checked sendlimit.Decision
	checks := rapid.Bool().Draw(t, "check")
	if checks {
		var err error
		checked, err = m.timeline.Check(t.Context(), r)
		require.NoError(t, err)
	}
	want := m.expectReplacement(r)
	if checks && want.Code != fault.CodeChanged { // a check does not ask about that
		expected := want
		expected.Superseded = sendlimit.Timer{}
		require.Equal(t, expected, checked, "check of %+v", r)
	}
	for range rapid.IntRange(1, 2).Draw(t, "calls") {
		got, err := m.timeline.Reserve(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, want, got, "%+v for %+v", r, known)
		if want.Allowed && !want.Replayed { // the same call again
			want.Superseded, want.MovedFrom = sendlimit.Timer{}, time.Time{}
		}
	}
}

// isOf reports whether the message was accepted by a request with the same fingerprint.
func (m *message) isOf(r sendlimit.Request) bool {
	return m.print == r.Category+string(r.Record.Content) && m.campaign == r.Record.Campaign
}

// expectReplacement returns the decision about a request that may replace a message, and notes the
// change.
func (m *mailbox) expectReplacement(r sendlimit.Request) sendlimit.Decision {
	known, from := m.messages[r.ID], r.Replace.From
	switch {
	case known.isFree() && r.Replace.Only:
		return sendlimit.Decision{Code: fault.CodeNotFound, Now: m.now}
	case known.isFree() && !from.IsZero():
		return sendlimit.Decision{Code: fault.CodeChanged, Now: m.now}
	case known.isFree() || known.isOf(r) && !known.edited:
		return m.expectSubmit(r)
	case !known.waitsForRules() || known.doubt:
		return sendlimit.Decision{Code: fault.CodeTooLate, At: known.at, Now: m.now}
	case !from.IsZero() && !from.Equal(known.at):
		return sendlimit.Decision{Code: fault.CodeChanged, At: known.at, Now: m.now}
	}
	m.model.users[mailboxUser] = m.remembered().remove(r.ID)
	want := m.judgeNew(r)
	if !want.Allowed {
		return want
	}
	counts := m.needsQueue(known.at, want.At)
	if counts && known.movesIn(m.now) >= m.options.MovesPerMinute {
		return sendlimit.Decision{
			Code: fault.CodeRateLimited, At: want.At, RetryAfter: known.movesSince.Add(time.Minute).Sub(m.now), Now: m.now,
		}
	}
	want.Replaced, want.MovedFrom, want.Superseded = true, known.at, known.superseded()
	anew := m.newMessage(r, want)
	anew.replaced, anew.accepted, anew.accept = true, known.accepted, known.accept
	anew.generations = append(known.generations, anew.generations...)
	anew.nonces, anew.holder = known.nonces, known.holder
	anew.moves, anew.movesSince = known.moves, known.movesSince
	if counts {
		anew.countMove(m.now)
	}
	anew.history = append(known.history, change{letter: "e", at: m.now, to: anew.at, from: known.at})
	m.messages[r.ID] = anew
	m.note(anew, events.Replaced, known.at, "")
	return want
}
