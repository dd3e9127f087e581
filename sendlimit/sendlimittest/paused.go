package sendlimittest

import (
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/records/messages"
)

// Paused campaigns in CheckMessages.

// pausedFor is after how long a message of a paused campaign is looked at again.
const pausedFor = time.Hour

// pause pauses a campaign, or resumes it with some or all of its messages.
func (m *mailbox) pause(t *rapid.T) {
	name := rapid.SampledFrom(historyCampaigns[2:]).Draw(t, "campaign")
	c := messages.Campaign{Name: name}
	if !m.paused[name] {
		for range rapid.IntRange(1, 2).Draw(t, "calls") {
			since, err := m.pauses.Pause(t.Context(), c, m.now)
			require.NoError(t, err)
			require.Equal(t, m.now.Truncate(time.Millisecond), since)
		}
		m.paused[name] = true
		return
	}
	was, err := m.pauses.Resume(t.Context(), c)
	require.NoError(t, err)
	require.True(t, was)
	delete(m.paused, name)
	for _, id := range slices.Sorted(maps.Keys(m.messages)) {
		if m.messages[id].campaign != name || rapid.IntRange(0, 4).Draw(t, "dies before") == 4 {
			continue
		}
		known := m.messages[id]
		generation, waits := m.newToken("g"), known.isPaused()
		if waits {
			known.renew(generation, moment(cut(m.now)))
			known.goOn(m.now)
			known.notBefore = time.Time{}
		}
		for range rapid.IntRange(1, 2).Draw(t, "calls") {
			resumed, err := m.pauses.ResumeMessage(t.Context(), mailboxUser, id, generation, m.now)
			require.NoError(t, err)
			require.Equal(t, waits, resumed, id)
		}
	}
}

// loadPaused returns the paused campaigns as the store has them.
func (m *mailbox) loadPaused(t *rapid.T) messages.PausedCampaigns {
	set, err := m.pauses.Load(t.Context())
	require.NoError(t, err)
	return set
}

// isHeld reports whether a message that has not expired is of a paused campaign.
func (m *mailbox) isHeld(known *message) bool {
	return m.paused[known.campaign] && m.now.Before(known.expiry(m.options.ExpireAfter))
}

// isPaused reports whether a message waits for its campaign, which may be resumed by now.
func (m *message) isPaused() bool { return m.state == pending && m.reason == messages.ReasonPaused }

// goOn notes that a message does not wait for its campaign any more, if it did.
func (m *message) goOn(now time.Time) {
	if m.isPaused() {
		m.reason = ""
		m.note(change{letter: "g", at: now})
	}
}

// hold lets a claimed message wait for its campaign.
func (m *mailbox) hold(known *message, d messages.Delivery, c messages.Claim) messages.Claim {
	if known.state == sending {
		known.doubt = true
		known.note(change{letter: "o", at: m.now, attempt: known.attempts})
	}
	if !known.isPaused() {
		known.note(change{letter: "w", at: m.now, to: known.expiry(m.options.ExpireAfter)})
	}
	known.state, known.reason, known.reasons = pending, messages.ReasonPaused, nil
	known.notBefore, known.waits = moment(cut(m.now)).Add(pausedFor), time.Time{}
	if expires := moment(cut(known.expiry(m.options.ExpireAfter))); expires.Before(known.notBefore) {
		known.notBefore = expires
	}
	known.renew(postponed(known.generation(), d.Nonce), m.firstLook(known.notBefore))
	known.far = false
	known.addClaim(d.Nonce)
	known.holder = "" // no delivery holds it
	c.Verdict, c.Until = messages.Paused, known.notBefore
	return c
}
