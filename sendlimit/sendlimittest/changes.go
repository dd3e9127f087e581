package sendlimittest

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/records/messages"
)

// change is an expected entry of the history of a message.
type change struct {
	letter   string
	at       time.Time
	to, from time.Time // zero for none
	attempt  int       // 0 for none
	reasons  []string  // one of these; nil or "" for none
}

// note adds a change to the history of a message.
func (m *message) note(c change) { m.history = append(m.history, c) }

// texts returns how a record may spell the change.
func (c change) texts() []string {
	after := func(at time.Time) string {
		if at.IsZero() {
			return "."
		}
		return strconv.FormatInt(cut(at)-cut(c.at), 10)
	}
	attempt := "."
	if c.attempt > 0 {
		attempt = strconv.Itoa(c.attempt)
	}
	begin := strings.Join([]string{c.letter, stored(c.at), after(c.to), after(c.from), attempt, ""}, " ")
	var texts []string
	for _, reason := range slices.Concat(c.reasons, []string{""})[:max(1, len(c.reasons))] {
		if reason == "" {
			reason = "."
		}
		text := begin + reason
		texts = append(texts, text[:min(64, len(text))])
	}
	return texts
}

// inspectHistory compares the history of a message with its record r, and with what
// Records.Trace reads.
func (m *mailbox) inspectHistory(t *rapid.T, known *message, r map[string]string) {
	const kept = 16
	for slot := range kept {
		text := r["h"+strconv.FormatInt(int64(slot), 16)]
		last := len(known.history) - 1 - slot
		if last < 0 {
			require.Empty(t, text, "slot %d of %+v", slot, *known)
			continue
		}
		c := known.history[slot+last/kept*kept]
		require.Contains(t, c.texts(), text, "slot %d of %+v", slot, *known)
	}
	traced, err := m.records.Trace(t.Context(), mailboxUser, known.id)
	require.NoError(t, err)
	got := traced[0].History
	require.LessOrEqual(t, len(got), kept)
	want := known.changes()
	want = want[max(0, len(want)-kept):]
	for i, c := range got {
		got[i] = messages.Change{At: c.At, What: c.What, SendAt: c.SendAt, FormerSendAt: c.FormerSendAt, Until: c.Until, Attempt: c.Attempt}
	}
	require.Equal(t, want, got, "%+v", *known)
}

// changes returns all changes of a message, without their reasons.
func (m *message) changes() []messages.Change {
	words := map[string]string{
		"c": "changed", "m": "moved", "e": "replaced", "p": "postponed", "r": "retry", "o": "taken_over", "v": "revived", "f": "failed", "u": "uncertain",
		"w": "paused", "g": "resumed",
	}
	all := []messages.Change{{At: m.accepted, What: "accepted", SendAt: moment(cut(m.accept))}}
	milliseconds := func(at time.Time) time.Time {
		if at.IsZero() {
			return at
		}
		return moment(cut(at))
	}
	for _, c := range m.history {
		noted := messages.Change{
			At: milliseconds(c.at), What: words[c.letter], SendAt: milliseconds(c.to), FormerSendAt: milliseconds(c.from), Attempt: c.attempt,
		}
		if c.letter == "w" {
			noted.SendAt, noted.Until = time.Time{}, noted.SendAt
		}
		all = append(all, noted)
	}
	if m.isOpen() {
		return all
	}
	end := messages.Change{At: milliseconds(m.ended), What: string(m.state)}
	if m.state == delivered || m.deadLetter() {
		end.Attempt = m.attempts
	}
	return append(all, end)
}
