package sendlimittest

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// The events of CheckMessages: each change of a message that somebody listens to is written
// once, and nothing else.

// event is an expected event, without its id.
type event struct {
	events.Event

	reasons []string // one of these, unless nil
}

// listen changes the listeners. No account was charged for the messages of the history, so only
// listeners of all accounts get their events.
func (m *mailbox) listen(t *rapid.T) {
	listeners := events.NewListeners(m.client, keyspace.KeysUnder(m.options.Prefix))
	now, err := m.client.Time(t.Context()).Result()
	require.NoError(t, err)
	for _, account := range []string{keyspace.Everyone, "acme"} {
		if rapid.Bool().Draw(t, "listens to "+account) {
			require.NoError(t, listeners.Listen(t.Context(), account, now.Add(time.Hour)))
		} else {
			require.NoError(t, listeners.Forget(t.Context(), account))
		}
	}
	listening, err := listeners.Load(t.Context())
	require.NoError(t, err)
	m.options.Subscribers.Set(listening.Accounts())
	m.listened = len(listening.Logs("")) > 0
}

// note adds the event of a change that was made to a message. former is the send time before
// a move or a postponement, otherwise zero.
func (m *mailbox) note(known *message, what events.Type, former time.Time, provider string) {
	if !m.listened {
		return
	}
	e := event{reasons: known.reasons, Event: events.Event{
		Type: what, User: mailboxUser, MessageID: known.id, At: m.now, SendAt: known.at, FormerSendAt: former,
		RequestedAt: known.requested, Asked: known.local,
		Reason: known.reason, Attempt: known.attempts, ProviderID: provider, Campaign: known.campaign,
	}}
	if known.metadata != "" {
		e.Metadata = json.RawMessage(known.metadata)
	}
	if what == events.Cancelled || what == events.Delivered {
		e.Reason = ""
	}
	m.events = append(m.events, e)
}

// noteEnd adds the event of a message that ended.
func (m *mailbox) noteEnd(known *message, provider string) {
	m.note(known, events.Type(known.state), time.Time{}, provider)
}

// inspectEvents requires that the last step wrote the expected events, in their order.
func (m *mailbox) inspectEvents(t *rapid.T) {
	from := "-"
	if m.lastEvent != "" {
		from = "(" + m.lastEvent
	}
	key := m.keys.PartitionEvents(keyspace.Partition(mailboxUser))
	written, err := m.client.XRange(t.Context(), key, from, "+").Result()
	require.NoError(t, err)
	require.Len(t, written, len(m.events), "expected %v, found %v", m.events, written)
	found, err := events.Parse(written, "reading what scripts wrote")
	require.NoError(t, err)
	for i, e := range found {
		want := m.events[i]
		if want.reasons != nil {
			require.Contains(t, want.reasons, e.Reason, "event %+v", e)
			want.Reason = e.Reason
		}
		m.lastEvent, want.ID = e.ID, e.ID
		require.Equal(t, want.Event, e)
	}
	if len(written) > 0 {
		expires, err := m.client.PTTL(t.Context(), key).Result()
		require.NoError(t, err)
		require.Positive(t, expires)
		require.Equal(t, []int{keyspace.Partition(mailboxUser)}, slices.Compact(m.options.Subscribers.Take()), "a worker knows where to gather")
	}
	m.events = nil
}
