package dashboard_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/accounts"
)

func TestManyMessagesAreCancelled(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	for i := range 3 {
		b.submits("m"+strconv.Itoa(i), "+"+strconv.Itoa(i+1)+"h")
	}
	fields := b.shows("/messages?user=alice").fields("/messages")
	require.Equal(t, "/messages?user=alice", fields.Get("back"))
	question, got := b.confirmed("/messages", "back", fields.Get("back"), "chosen", "alice m0", "chosen", "alice m2", "chosen", "alice none", "do", "cancel")
	require.Equal(t, "Cancel 3 messages? They will not be sent, their content is erased, and their times become free.", question)
	said := b.refused(got)
	require.Contains(t, said, "2 messages cancelled. Failed: none: No pending message")
	require.Equal(t, "/messages?user=alice", got.to())
	require.Equal(t, []string{"m1"}, b.ids("/messages?user=alice&status=scheduled"))
	require.Len(t, b.about("cancel message"), 3, "an entry for each")

	for wrong, form := range map[string][]string{
		"Choose at least one message.":                   {"do", "cancel"},
		"Move by must be a length of time such as 1h30m": {"do", "move", "by", "soon", "chosen", "alice m1"},
		"Do must be cancel, move or retry":               {"do", "explode", "chosen", "alice m1"},
		"No dead letter \"m1\" of user \"alice\"":        {"do", "retry", "chosen", "alice m1"},
	} {
		require.Contains(t, b.refused(b.post("/messages", form...)), wrong)
	}
}

// Messages of one user that move by less than what is between them are not in the way of each other.
func TestManyMessagesAreMoved(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	var all []string
	for i := range 3 {
		id := "m" + strconv.Itoa(i)
		b.submits(id, "+"+strconv.Itoa(60+i)+"m")
		all = append(all, "chosen", "alice "+id)
	}
	for _, by := range []time.Duration{time.Minute, -2 * time.Minute} {
		question, got := b.confirmed("/messages", append([]string{"do", "move", "by", by.String()}, all...)...)
		require.Equal(t, "Move 3 messages by "+by.String()+"?", question)
		require.Equal(t, "3 messages moved by "+by.String()+".", b.done(got))
	}
	require.Contains(t, b.shows("/message?user=alice&id=m0").plain(), "2026-11-21 10:59:00 UTC")

	// One that does not fit stays, or moves on.
	b.accepts(map[string]any{"user": "alice", "id": "there", "title": "Hi", "send_at": "+90m"})
	_, got := b.confirmed("/messages", "do", "move", "by", "31m", "chosen", "alice m0")
	require.Contains(t, b.refused(got), "the next free time is")
	_, got = b.confirmed("/messages", "do", "move", "by", "31m", "shift", "yes", "chosen", "alice m0")
	require.Equal(t, "1 message moved by 31m0s.", b.done(got))
	require.Contains(t, b.shows("/message?user=alice&id=m0").plain(), "2026-11-21 11:31:00 UTC")
}

// Titles are content: each look is an entry, and a key without the scope content sees none of others.
func TestTitlesAreShownOnRequest(t *testing.T) {
	t.Parallel()
	r := locked(t)
	r.accepts(map[string]any{"user": "alice", "id": "m", "title": "Secret", "send_at": "+1h"})
	b := r.operator()
	shown := b.shows("/messages?user=alice")
	require.NotContains(t, shown.text, "Secret")
	require.Empty(t, b.entries())
	titled := b.shows(shown.link("Show titles"))
	require.NotContains(t, titled.text, "Secret", "the key lacks a scope")
	require.Contains(t, titled.plain(), "A title is missing if")
	require.Len(t, b.about("show content"), 1)

	seer := r.loggedIn(r.key("ops", accounts.ScopeAdmin, accounts.ScopeRead, accounts.ScopeContent))
	titled = seer.shows("/messages?user=alice&titles=yes")
	require.Contains(t, titled.text, "Secret")
	require.Equal(t, "alice", titled.value("user"), "filters stay")
	require.Len(t, b.about("show content"), 2)
}

// ids are the ids of the messages that a list shows.
func (b *browser) ids(target string) []string {
	b.Helper()
	var ids []string
	for _, box := range b.shows(target).find("input", "name", "chosen") {
		_, id, _ := strings.Cut(attribute(box, "value"), " ")
		ids = append(ids, id)
	}
	return ids
}
