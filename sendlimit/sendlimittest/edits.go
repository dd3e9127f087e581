package sendlimittest

import (
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// The edits of CheckMessages: changes of content, metadata and expiry.

// drawEdit draws an edit of a message with the send time at, nil for an unknown one.
// It is mostly made for the message as it is.
func (m *mailbox) drawEdit(t *rapid.T, known *message, at time.Time) sendlimit.Edit {
	e := sendlimit.Edit{Of: sendlimit.Version{Generation: "none"}}
	if known != nil {
		e.Of = sendlimit.Version{Generation: known.generation(), Changes: len(known.history)}
		if rapid.IntRange(0, 7).Draw(t, "stale") == 7 {
			e.Of.Generation = rapid.SampledFrom(known.generations).Draw(t, "of generation")
			e.Of.Changes += rapid.IntRange(-1, 0).Draw(t, "of changes")
		}
	}
	if rapid.Bool().Draw(t, "edit expiry") {
		e.What = append(e.What, sendlimit.EditExpiresAt)
		if rapid.IntRange(0, 4).Draw(t, "an expiry") > 0 {
			e.ExpiresAt = at.Add(rapid.SampledFrom([]time.Duration{
				-time.Millisecond, 0, time.Millisecond, 90 * time.Second, time.Hour, 30 * time.Hour, policy.DefaultReach,
				policy.DefaultReach + sendlimit.ExpiryBeyondReach,
			}).Draw(t, "expires after"))
		}
	}
	if rapid.Bool().Draw(t, "edit content") {
		e.What = append(e.What, sendlimit.EditContent)
		e.Content = []byte(rapid.SampledFrom(historyContents).Draw(t, "new content"))
	}
	if rapid.Bool().Draw(t, "edit metadata") {
		e.What = append(e.What, sendlimit.EditMetadata)
		e.Metadata = []byte(strings.Repeat("n", rapid.SampledFrom([]int{0, 1, 64, 65, 512}).Draw(t, "new metadata")))
	}
	if rapid.IntRange(0, 3).Draw(t, "edit local time") == 0 {
		e.What = append(e.What, rapid.SampledFrom([]string{sendlimit.EditLocal, sendlimit.EditZone}).Draw(t, "as"))
		e.Local = rapid.SampledFrom([]string{"", keptIn(""), keptIn(historyZones[1]), keptIn(m.regime().ownZone)}).Draw(t, "local time")
	}
	return e
}

// fits reports whether an edit, nil for none, is made for the message as it is.
func (m *message) fits(e *sendlimit.Edit) bool {
	return e == nil || e.Of == sendlimit.Version{Generation: m.generation(), Changes: len(m.history)}
}

// edits reports whether an edit, nil for none, changes something.
func edits(e *sendlimit.Edit, what string) bool { return e != nil && slices.Contains(e.What, what) }

// expiresAfter returns when the message expires after an edit, as its caller set it.
func (m *message) expiresAfter(e *sendlimit.Edit) time.Time {
	if edits(e, sendlimit.EditExpiresAt) {
		return e.ExpiresAt
	}
	return m.expires
}

// apply makes an edit, nil for none. It reports whether that changes the message.
func (m *mailbox) apply(known *message, e *sendlimit.Edit) bool {
	if e == nil || len(e.What) == 0 {
		return false
	}
	known.edited = known.edited || !edits(e, sendlimit.EditZone)
	if edits(e, sendlimit.EditLocal) || edits(e, sendlimit.EditZone) {
		known.local = e.Local
	}
	known.expires = known.expiresAfter(e)
	if edits(e, sendlimit.EditContent) {
		known.content = string(e.Content)
	}
	if edits(e, sendlimit.EditMetadata) {
		known.metadata = string(e.Metadata)
	}
	var what []string
	for _, name := range []string{"content", "metadata", "expires_at", "send_at", "time_zone"} {
		if edits(e, name) {
			what = append(what, name)
		}
	}
	known.note(change{letter: "c", at: m.now, reasons: []string{strings.Join(what, ", ")}})
	return true
}

// edit changes a message that keeps its place.
func (m *mailbox) edit(t *rapid.T, id string) {
	known, at := m.messages[id], m.now
	if known != nil {
		at = known.at
	}
	r := sendlimit.EditRequest{User: mailboxUser, ID: id, Edit: m.drawEdit(t, known, at), Now: m.now}
	want, made := m.expectEdit(known, &r.Edit)
	for range rapid.IntRange(1, 2).Draw(t, "calls") {
		got, err := m.timeline.Edit(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, want, got, "%+v", r)
		if made { // who repeats it has to read the message again
			want = sendlimit.Decision{Code: fault.CodeEdited, At: known.at, Now: m.now}
		}
	}
}

// expectEdit returns the expected answer to an edit and updates the model. It reports whether
// the edit changes the message.
func (m *mailbox) expectEdit(known *message, e *sendlimit.Edit) (want sendlimit.Decision, made bool) {
	latest := m.now.Add(policy.DefaultReach + sendlimit.ExpiryBeyondReach)
	switch {
	case known.isFree():
		return sendlimit.Decision{Code: fault.CodeNotFound, Now: m.now}, false
	case !known.waitsForRules():
		return sendlimit.Decision{Code: fault.CodeTooLate, At: known.at, Now: m.now}, false
	case !known.fits(e):
		return sendlimit.Decision{Code: fault.CodeEdited, At: known.at, Now: m.now}, false
	case edits(e, sendlimit.EditExpiresAt) && !e.ExpiresAt.IsZero() && !e.ExpiresAt.After(known.at):
		return sendlimit.Decision{Code: fault.CodePastExpiry, At: known.at, ExpiresAt: e.ExpiresAt, Now: m.now}, false
	case edits(e, sendlimit.EditExpiresAt) && e.ExpiresAt.After(latest):
		return sendlimit.Decision{Code: fault.CodeInvalidField, At: known.at, Latest: latest, Now: m.now}, false
	}
	return sendlimit.Decision{Allowed: true, At: known.at, Now: m.now}, m.apply(known, e)
}
