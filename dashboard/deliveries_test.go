package dashboard_test

import (
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// fails has a message to alice given up, whose time is now.
func (r *rig) fails(id string) {
	r.Helper()
	r.failsFor("alice", id, "gone")
}

// failsFor has a message given up for a reason.
func (r *rig) failsFor(user, id, reason string) {
	r.Helper()
	r.accepts(map[string]any{"user": user, "id": id, "title": "Hi", "send_at": "now"})
	r.settles(user, id, messages.Settlement{Outcome: messages.Failed, Reason: reason}, time.Time{})
}

// failsAt has a message given up at a time.
func (r *rig) failsAt(user, id string, at time.Time) {
	r.Helper()
	r.accepts(map[string]any{"user": user, "id": id, "title": "Hi", "send_at": "now"})
	r.settles(user, id, messages.Settlement{Outcome: messages.Failed, Reason: "gone"}, at)
}

// settles has a worker send a message when its time has come, which ends at a time; zero for now.
func (r *rig) settles(user, id string, s messages.Settlement, at time.Time) {
	r.Helper()
	gate, err := messages.NewGate(r.client, sendlimit.Options{Records: true})
	require.NoError(r, err)
	d := messages.Delivery{User: user, ID: id, Nonce: keyspace.NewToken()}
	for _, key := range r.store.Keys() {
		if strings.HasSuffix(key, ":m:"+user+":"+id) {
			d.Generation = r.store.HGet(key, "g")
		}
	}
	claim, err := gate.Claim(r.Context(), d, time.Minute, time.Time{})
	require.NoError(r, err)
	require.Equal(r, messages.Send, claim.Verdict)
	settled, err := gate.Settle(r.Context(), d, s, at)
	require.NoError(r, err)
	require.True(r, settled)
}

// failsToAlert has an alert about a user given up, and returns its id.
func (r *rig) failsToAlert(user string) (id string) {
	r.Helper()
	outbox, err := notices.New(r.client, notices.Options{})
	require.NoError(r, err)
	id = notices.FormatID(notices.UserQuota, began().Truncate(24*time.Hour), 80, user)
	n, ok := notices.ParseID(id)
	require.True(r, ok)
	n.Used, n.Limit = 8, 10
	put, err := outbox.Put(r.Context(), n, time.Time{})
	require.NoError(r, err)
	require.True(r, put)
	nonce := keyspace.NewToken()
	claim, err := outbox.Claim(r.Context(), id, nonce, time.Minute, time.Time{})
	require.NoError(r, err)
	require.Equal(r, notices.Send, claim.Verdict)
	settled, err := outbox.Settle(r.Context(), id, nonce, notices.Settlement{Outcome: notices.Failed, Reason: "refused"}, time.Time{})
	require.NoError(r, err)
	require.True(r, settled)
	return id
}
