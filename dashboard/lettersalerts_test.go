package dashboard_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	for i := range 5 {
		b.failsFor("user"+strconv.Itoa(i), "m", "gone")
	}
	shown := b.shows("/dead-letters")
	require.Contains(t, shown.plain(), "user0")
	fields := shown.fields("/dead-letters")
	require.Equal(t, "/dead-letters", fields.Get("back"))

	b.logs("retry dead letter; user0; m; done", func() {
		require.Equal(t, "1 dead letter will be sent again.", b.done(b.post("/dead-letters", "chosen", "user0 m", "do", "retry")))
	})
	require.Contains(t, b.shows("/message?user=user0&id=m").plain(), "scheduled")
	b.logs("retry dead letter; user0; m; refused", func() {
		require.Contains(t, b.refused(b.post("/dead-letters", "chosen", "user0 m", "do", "retry")), "No dead letter")
	})

	// Many at once, one of which is gone.
	question, got := b.confirmed("/dead-letters", "back", "/dead-letters?user=x", "chosen", "user0 m", "chosen", "user1 m", "chosen", "user2 m", "chosen", "nonsense", "do", "purge")
	require.Equal(t, "Remove 4 dead letters? Their content, records and ids are erased. This can't be undone.", question)
	said := b.refused(got)
	require.Contains(t, said, "2 dead letters removed. Failed:")
	require.Contains(t, said, "No dead letter")
	require.Contains(t, said, "nonsense: not a message.")
	require.Equal(t, "/dead-letters?user=x", got.to())
	require.Len(t, b.about("purge dead letter"), 3, "an entry for each")
	require.Equal(t, notFound, b.get("/message?user=user1&id=m").status)

	require.Equal(t, "Choose at least one dead letter.", b.refused(b.post("/dead-letters", "do", "purge")))
	require.Contains(t, b.refused(b.post("/dead-letters", "do", "explode", "chosen", "user3 m")), "retry, purge, retry-all, purge-all or purge-old")
	many := form("do", "purge")
	for i := range 1001 {
		many.Add("chosen", "user m"+strconv.Itoa(i))
	}
	require.Equal(t, "Choose at most 1000 dead letters.", b.refused(b.send("/dead-letters", many)))

	question, got = b.confirmed("/dead-letters", "chosen", "user3 m", "chosen", "user4 m", "do", "retry")
	require.Contains(t, question, "Send 2 dead letters again?")
	require.Equal(t, "2 dead letters will be sent again.", b.done(got))
}

// Dead letters are grouped by their reason, and those that a filter selects are changed at once.
func TestDeadLettersByReason(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	for i := range 4 {
		b.failsFor("user"+strconv.Itoa(i), "m", "unavailable")
	}
	b.failsFor("user4", "m", "gone")
	shown := b.shows("/dead-letters")
	require.Contains(t, shown.plain(), "unavailablefailed4")
	require.Contains(t, shown.plain(), "gonefailed1")

	filtered := b.shows(shown.link("unavailable"))
	require.NotContains(t, filtered.plain(), "user4")
	require.NotContains(t, filtered.plain(), "By reason")
	question, got := b.confirmed("/dead-letters", "reason", "unavailable", "user", "user0", "do", "purge-all")
	require.Equal(t, "Remove 1 dead letter? Their content, records and ids are erased. This can't be undone.", question)
	require.Equal(t, "1 dead letter removed.", b.done(got))
	b.passes(time.Second)
	b.logs("retry dead letters; reason unavailable; limit 50; done", func() {
		question, got = b.confirmed("/dead-letters", "reason", "unavailable", "do", "retry-all")
		require.Equal(t, "Send 3 dead letters again? Each gets its user's next free time.", question)
		require.Equal(t, "3 dead letters will be sent again.", b.done(got))
	})
	require.Equal(t, []string{"m"}, b.ids("/dead-letters"))
	require.Contains(t, b.shows("/dead-letters?reason=none").plain(), "No dead letters match.")
}

func TestOldDeadLetters(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	b.failsAt("alice", "old", began().Add(-48*time.Hour))
	b.failsFor("bob", "new", "gone")
	b.logs("purge dead letters; older than 1d; done", func() {
		question, got := b.confirmed("/dead-letters", "older_than", "1d", "do", "purge-old")
		require.Equal(t, "Remove all dead letters that ended more than 1d ago? This can't be undone.", question)
		require.Equal(t, "1 dead letter removed.", b.done(got))
	})
	require.NotContains(t, b.shows("/dead-letters").plain(), "alice")
	require.Contains(t, b.shows("/dead-letters").plain(), "bob")
	b.logs("purge dead letters; older than ages; refused", func() {
		b.refused(b.post("/dead-letters", "older_than", "ages", "do", "purge-old", "confirmed", "yes"))
	})
}

func TestAlerts(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	alice, bob := b.failsToAlert("alice"), b.failsToAlert("bob")
	require.Contains(t, b.shows("/alerts").plain(), "aliceUser quota2026-11-21 00:00:00 UTC80 %")
	b.logs("retry dead alert; "+alice+"; done", func() {
		require.Equal(t, "The alert will be sent again.", b.done(b.post("/alerts", "alert", alice, "do", "retry")))
	})
	b.logs("purge dead alert; "+bob+"; done", func() {
		_, got := b.confirmed("/alerts", "alert", bob, "do", "purge")
		require.Equal(t, "The alert was removed.", b.done(got))
	})
	b.logs("purge dead alert; "+bob+"; refused", func() {
		b.refused(b.post("/alerts", "alert", bob, "do", "purge", "confirmed", "yes"))
	})
	require.Contains(t, b.shows("/alerts").plain(), "No failed alerts")
}

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
