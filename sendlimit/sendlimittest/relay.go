package sendlimittest

import (
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// The watch list of CheckMessages: confirmations of the queue, the hand-over, and the relay.

// firstLook returns when the entry of a message's new generation is due: the horizon before
// the message, if that is later than the time that the queue has to confirm it.
func (m *mailbox) firstLook(due time.Time) time.Time { return m.lookAfter(m.now, due) }

// lookAfter is firstLook for a caller by whose clock it was no later than a time; zero for any.
func (m *mailbox) lookAfter(latest, due time.Time) time.Time {
	from := m.now
	if !latest.IsZero() && latest.Before(from) {
		from = latest
	}
	soon, far := from.Add(m.options.LookAfter), due.Add(-m.options.Horizon)
	if far.After(soon) {
		return far
	}
	return soon
}

// near is how long before its entry is due a message is in the near list.
const near = 5 * time.Minute

// isFar reports whether the entry of a new generation goes to a far list.
func (m *mailbox) isFar(due time.Time) bool {
	return due.Add(-m.options.Horizon).After(m.now.Add(near))
}

// passUntil lets time pass. A worker may look at the far lists meanwhile.
func (m *mailbox) passUntil(t *rapid.T, now time.Time) {
	if m.after != nil {
		m.after(m)
	}
	m.now = now
	if rapid.IntRange(0, 3).Draw(t, "without a worker") == 0 {
		return
	}
	lists := m.keys.WatchLists(keyspace.Partition(mailboxUser))
	keys := append([]string{m.keys.Near(mailboxUser)}, lists[:keyspace.FarLists]...)
	most, want := rapid.IntRange(1, 1000).Draw(t, "brought at once"), 0
	for _, known := range m.messages {
		if known.isOpen() && known.far && !known.lookAt.After(now.Add(near)) {
			known.far = false
			want++
		}
	}
	for {
		moved, err := lua.BringNear.Run(t.Context(), m.client, keys, now.UnixMilli(), most).Int64Slice()
		require.NoError(t, err)
		require.Equal(t, []int64{int64(min(want, most))}, moved)
		if want -= int(moved[0]); want == 0 {
			return
		}
	}
}

// handOver hands over entries that are due, and some as another worker may have seen them
// earlier.
func (m *mailbox) handOver(t *rapid.T) {
	entries, _, err := m.watch.Due(t.Context(), m.now, 1+len(m.messages))
	require.NoError(t, err)
	if known := m.messages[m.drawKnown(t, (*message).isNear)]; known != nil && !known.far {
		entries = append(entries, sendlimit.Timer{
			User: mailboxUser, ID: known.id, Due: known.lookAt,
			Generation: rapid.SampledFrom(known.generations).Draw(t, "generation"),
		})
	}
	for range rapid.IntRange(1, 2).Draw(t, "calls") {
		var want messages.HandedOver
		for _, entry := range entries {
			m.expectHandOver(entry, &want)
		}
		got, err := m.watch.HandOver(t.Context(), entries, m.now)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// expectHandOver adds the expected result for an entry, and updates the model.
func (m *mailbox) expectHandOver(entry sendlimit.Timer, want *messages.HandedOver) {
	known := m.messages[entry.ID]
	if !known.isOpen() || known.generation() != entry.Generation {
		return
	}
	due := known.due()
	switch {
	case known.lookAt.After(m.now):
		want.NotDue = append(want.NotDue, entry)
	case known.state == sending, known.lookAt.After(due):
		want.LookAfter = append(want.LookAfter, entry)
	case due.Add(-m.options.Horizon).After(m.now):
		known.lookAt = due.Add(-m.options.Horizon)
		want.NotDue = append(want.NotDue, entry)
	default:
		known.lookAt = m.now.Add(m.options.LookAfter)
		want.Soon = append(want.Soon, sendlimit.Timer{User: mailboxUser, ID: entry.ID, Generation: entry.Generation, Due: due, Origin: known.origin()})
	}
}

func (m *mailbox) confirm(t *rapid.T) {
	id := m.drawKnown(t, (*message).isNear)
	known := m.messages[id]
	if known == nil || known.isOpen() && known.far { // the queue has no task of it
		return
	}
	q := sendlimit.Timer{
		User: mailboxUser, ID: id, Due: rapid.SampledFrom([]time.Time{known.at, known.firstPromised()}).Draw(t, "due"),
		Generation: rapid.SampledFrom(known.generations).Draw(t, "generation"),
	}
	require.NoError(t, m.watch.Confirm(t.Context(), []sendlimit.Timer{q}))
	if known.isOpen() && q.Generation == known.generation() {
		known.lookAt = q.Due.Add(m.options.OverdueAfter)
	}
}

// relay renews due entries, and an entry as another relay may have seen it earlier.
func (m *mailbox) relay(t *rapid.T) {
	due, _, err := m.watch.Due(t.Context(), m.now, 1+len(m.messages))
	require.NoError(t, err)
	wanted := make(map[string]sendlimit.Timer)
	for id, known := range m.messages {
		if known.isNear() && !known.lookAt.After(m.now) {
			wanted[id] = sendlimit.Timer{
				User: mailboxUser, ID: id, Generation: known.generation(), Due: known.lookAt,
			}
		}
	}
	require.Len(t, due, len(wanted))
	for i, entry := range due {
		require.Equal(t, wanted[entry.ID], entry)
		require.False(t, i > 0 && entry.Due.Before(due[i-1].Due), "the oldest first")
		if rapid.IntRange(0, 3).Draw(t, "renew") > 0 {
			m.renew(t, entry)
		}
	}
	if known := m.messages[m.drawKnown(t, (*message).isNear)]; known != nil && !known.far {
		m.renew(t, sendlimit.Timer{
			User: mailboxUser, ID: known.id, Due: known.lookAt,
			Generation: rapid.SampledFrom(known.generations).Draw(t, "generation"),
		})
	}
}

func (m *mailbox) renew(t *rapid.T, entry sendlimit.Timer) {
	generation, queued := m.newToken("g"), rapid.Bool().Draw(t, "queued")
	want, wantDue := m.expectRenewal(entry, generation, queued)
	for range rapid.IntRange(1, 2).Draw(t, "calls") {
		got, renewed, err := m.watch.Renew(t.Context(), entry, generation, queued, m.now)
		require.NoError(t, err)
		require.Equal(t, want, got, "%+v queued %t", entry, queued)
		require.Equal(t, wantDue, renewed.Due, "%+v", entry)
		if got == messages.Renewed {
			require.Equal(t, sendlimit.Timer{User: mailboxUser, ID: entry.ID, Generation: generation, Due: wantDue, Origin: m.messages[entry.ID].origin()}, renewed)
		}
		if want == messages.Deferred {
			want = messages.NotDue
		}
	}
	got, _, err := m.watch.Renew(t.Context(), entry, m.newToken("g"), queued, m.now)
	require.NoError(t, err)
	require.NotEqual(t, messages.Renewed, got, "one of several relays renews it")
}

// expectRenewal returns the expected answer to a renewal and updates the model.
func (m *mailbox) expectRenewal(entry sendlimit.Timer, generation string, queued bool) (messages.Renewal, time.Time) {
	known := m.messages[entry.ID]
	switch {
	case !known.isOpen() || known.generation() != entry.Generation:
		return messages.Gone, time.Time{}
	case known.lookAt.After(m.now):
		return messages.NotDue, time.Time{}
	case known.state == pending && queued:
		known.lookAt = known.due().Add(m.options.OverdueAfter) // as after a confirm
		if known.due().Before(m.now) {
			known.lookAt = m.now.Add(m.options.OverdueAfter)
		}
		return messages.Deferred, time.Time{}
	case known.state == sending && m.now.Before(known.leaseEnd):
		known.lookAt = known.leaseEnd
		return messages.Deferred, time.Time{}
	}
	known.renew(generation, m.now.Add(m.options.LookAfter))
	if known.state == sending {
		return messages.Renewed, m.now
	}
	return messages.Renewed, known.due()
}
