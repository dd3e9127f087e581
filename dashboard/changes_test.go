package dashboard_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/audit"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// logs requires that what do does is one entry of the audit log, by an operator, and returns it
// as one line: action, user, message, object, detail and outcome.
func (b *browser) logs(entry string, do func()) {
	b.Helper()
	before := b.entries()
	do()
	after := b.entries()
	require.Len(b, after, len(before)+1)
	e := after[0]
	require.Equal(b, "ops", e.Account)
	require.Len(b, e.Key, 8)
	require.Equal(b, "127.0.0.1", e.Address)
	require.Equal(b, b.now(), e.EndedAt)
	require.Equal(b, e.Outcome == audit.Done, e.Answer == "")
	line := []string{e.Action}
	for _, part := range []string{e.User, e.Message, e.Object, e.Detail} {
		if part != "" {
			line = append(line, part)
		}
	}
	require.Equal(b, entry, strings.Join(append(line, e.Outcome), "; "))
}

func TestSubmitting(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	shown := b.shows("/user?name=alice&zone=Europe%2FBerlin&span=7d")
	fields := shown.fields("/user/submit")
	require.Equal(t, "2026-11-21T11:00:00", fields.Get("send_at"), "an hour from now")
	fields.Set("id", "m")
	b.logs("submit message; alice; m; send at 2026-11-21T11:00:00Z; done", func() {
		got := b.send("/user/submit", fields)
		require.Equal(t, "Accepted. It will be sent at 2026-11-21 11:00:00 UTC.", b.done(got))
		require.Equal(t, fields.Get("back"), got.to(), "one is back where one was")
	})
	require.Contains(t, b.shows("/user?name=alice").plain(), "m scheduled")

	// The same time is taken now.
	fields.Set("id", "n")
	b.logs("submit message; alice; n; send at 2026-11-21T11:00:00Z; refused", func() {
		require.Equal(t, "alice already has a message at 11:00:00, within 1 minute; the next free time is 11:01:00.", b.refused(b.send("/user/submit", fields)))
	})
	fields.Set("shift", "yes")
	b.logs("submit message; alice; n; send at 2026-11-21T11:00:00Z; on conflict shift; done", func() {
		require.Equal(t, "Accepted for the next free time, 2026-11-21 11:01:00 UTC: the requested time was not free.", b.done(b.send("/user/submit", fields)))
	})
	fields.Set("send_at", "soon")
	require.Contains(t, b.refused(b.send("/user/submit", fields)), `send_at "soon" is not allowed`)
}

func TestMoving(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	b.submits("m", "+1h")
	b.submits("n", "+2h")
	fields := b.shows("/message?user=alice&id=m").fields("/message/move")
	require.Equal(t, form("user", "alice", "id", "m", "send_at", "2026-11-21T11:00:00"), fields)
	fields.Set("send_at", "2026-11-21T11:30")
	b.logs("move message; alice; m; send at 2026-11-21T11:30:00Z; done", func() {
		require.Equal(t, "Moved to 2026-11-21 11:30:00 UTC.", b.done(b.send("/message/move", fields)))
	})
	shown := b.shows("/message?user=alice&id=m").plain()
	require.Contains(t, shown, "Send time2026-11-21 11:30:00 UTC (in 1 h 30 min)")
	require.Contains(t, shown, "Moved from2026-11-21 11:00:00 UTC")

	// As a script does, while it is dragged.
	fields.Set("send_at", "2026-11-21T12:00:30Z")
	b.logs("move message; alice; m; send at 2026-11-21T12:00:30Z; refused", func() {
		refusal := b.send("/message/move", fields, script()).json(409)
		require.Equal(t, "send_limit", refusal["code"])
		outcome, _ := refusal["outcome"].(map[string]any)
		require.Contains(t, outcome, "violations")
		require.Equal(t, "2026-11-21T12:01:00.000Z", outcome["next_free_at"])
	})
	fields.Set("shift", "yes")
	b.logs("move message; alice; m; send at 2026-11-21T12:00:30Z; on conflict shift; done", func() {
		said := b.send("/message/move", fields, script()).json(ok)
		require.Equal(t, "Moved to the next free time, 2026-11-21 12:01:00 UTC: the requested time was not free.", said["said"])
		require.Equal(t, "/message?id=m&user=alice", said["to"])
	})
}

// What a script needs to know to judge a time while a message is dragged.
func TestForbiddenTimes(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	b.submits("m", "+1h")
	b.submits("n", "+2h")
	answer := b.get("/user/forbidden?name=alice&id=m", script()).json(ok)
	require.InDelta(t, began().UnixMilli(), answer["now"], 0)
	require.InDelta(t, began().UnixMilli(), answer["from"], 0, "not in the past")
	list, isList := answer["stretches"].([]any)
	require.True(t, isList)
	require.Len(t, list, 1, "its own time is free for it")
	stretch, _ := list[0].(map[string]any)
	require.Equal(t, "the rule 1/minute", stretch["why"])
	require.InDelta(t, began().UnixMilli()+(2*60-1)*60_000+1, stretch["from"], 0)
	require.InDelta(t, began().UnixMilli()+(2*60+1)*60_000, stretch["until"], 0)

	b.done(b.post("/user/settings", "name", "alice", "blocked", "yes", "confirmed", "yes"))
	answer = b.get("/user/forbidden?name=alice&id=m", script()).json(ok)
	require.Contains(t, answer["stretches"], map[string]any{"from": answer["from"], "until": answer["until"], "why": "the user is blocked"})
}

func TestCancelling(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	b.submits("m", "+1h")
	b.logs("cancel message; alice; m; done", func() {
		question, got := b.confirmed("/message/cancel", "user", "alice", "id", "m")
		require.Equal(t, "Cancel the message m to alice? It will not be sent, its content is erased, and its time becomes free.", question)
		require.Equal(t, "The message was cancelled.", b.done(got))
	})
	require.Empty(t, b.shows("/message?user=alice&id=m").find("form", "action", "/message/cancel"))
	b.logs("cancel message; alice; n; refused", func() {
		require.Equal(t, `No pending message "n" of user "alice".`, b.refused(b.post("/message/cancel", "user", "alice", "id", "n", "confirmed", "yes")))
	})
}

func TestSettings(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	fields := b.shows("/user?name=alice").fields("/user/settings")
	for name, value := range map[string]string{
		"limits": "20/calendar_day\r\n3/minute", "categories": "news 1/day\nnews 5/calendar_week", "quiet_hours": "22:00-08:00", "opt_out": "ads",
		"time_zone": "Europe/Berlin", "contact": "alice@example.com",
	} {
		fields.Set(name, value)
	}
	entry := "categories news 1/day, 5/calendar_week; quiet hours 22:00-08:00; time zone Europe/Berlin; limits 20/calendar_day, 3/minute; opt out ads; with contact"
	b.logs("set user settings; alice; "+entry+"; done", func() {
		require.Equal(t, "The settings were saved. They take effect immediately.", b.done(b.send("/user/settings", fields)))
	})
	again := b.shows("/user?name=alice")
	for name, value := range map[string]string{
		"limits": "20/calendar_day\n3/minute", "categories": "news 1/day\nnews 5/calendar_week", "quiet_hours": "22:00-08:00", "opt_out": "ads",
		"time_zone": "Europe/Berlin", "contact": "alice@example.com",
	} {
		require.Equal(t, value, again.value(name), name)
	}
	require.Contains(t, again.plain(), "CET", "times of the page are in the zone of the user")

	// Whoever sends the form again changes nothing.
	saved := again.fields("/user/settings")
	b.done(b.send("/user/settings", saved))
	require.Equal(t, saved, b.shows("/user?name=alice").fields("/user/settings"))
}

func TestSettingsThatAreWrong(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	for name, value := range map[string]string{
		"limits": "20/eon", "categories": "news", "quiet_hours": "late", "time_zone": "Mars/Olympus", "contact": "nobody", "opt_out": "A B", "policy": "none", "best_hours": "1 2",
	} {
		fields := form("name", "alice", "limits", "7/hour", "contact", "alice@example.com")
		fields.Set(name, value)
		before := b.entries()
		got := b.send("/user/settings", fields)
		require.Equal(t, invalid, got.status, "%s: %s", name, got.body)
		shown := got.page()
		require.Equal(t, []string{name}, shown.marked())
		for field := range fields {
			if field != "name" {
				require.Equal(t, fields.Get(field), shown.value(field), "the form is as it was filled in")
			}
		}
		require.NotEmpty(t, shown.find("p", "role", "alert"))
		require.Len(t, b.entries(), len(before)+1)
		require.Equal(t, audit.Refused, b.entries()[0].Outcome)
	}
	require.Empty(t, b.shows("/user?name=alice").value("limits"))
}

func TestBlockingAsks(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	b.logs("set user settings; alice; limits 7/hour; blocked; done", func() {
		question, got := b.confirmed("/user/settings", "name", "alice", "limits", "7/hour", "blocked", "yes", "back", "/user?name=alice&span=7d")
		require.Contains(t, question, "Block the user?")
		b.done(got)
		require.Equal(t, "/user?name=alice&span=7d", got.to())
	})
	require.Contains(t, b.shows("/user?name=alice").plain(), "The user is blocked: no message is accepted, and none is sent.")
	require.Contains(t, b.refused(b.post("/user/submit", "name", "alice", "title", "Hi", "send_at", "2026-11-22T10:00")), "blocked")
}

// Settings that scheduled messages do not fit say how many, and what becomes of them.
func TestSettingsSayWhatTheyDo(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	b.submits("m", "+1h")
	b.submits("n", "+2h")
	for then, says := range map[string]string{
		"": "each waits at its time", "keep": "each is sent as planned", "shift": "each moves to its next free time", "drop": "each is dropped",
	} {
		got := b.post("/user/settings", "name", "alice", "do_not_disturb_until", "2026-11-21T11:30:00Z", "then", then)
		require.Contains(t, got.page().plain(), "1 scheduled message would not fit the new settings: "+says)
	}
	require.Empty(t, b.entries(), "nothing was changed")
	_, got := b.confirmed("/user/settings", "name", "alice", "do_not_disturb_until", "2026-11-21T11:30:00Z", "then", "shift")
	require.Contains(t, b.done(got), "Of 1 scheduled message that did not fit, 1 moved")
	require.Contains(t, b.shows("/message?user=alice&id=m").plain(), "2026-11-21 11:30:00 UTC")
	question, got := b.confirmed("/user/settings", "name", "alice", "blocked", "yes", "then", "drop")
	require.Equal(t, "Block the user? New messages will be refused, and 2 scheduled messages dropped now.", question)
	b.done(got)
}

func TestDevices(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	b.logs("add device; alice; phone; channel fcm; done", func() {
		got := b.post("/user/device", "name", "alice", "device", "phone", "channel", "fcm", "token", "very-secret-token")
		require.Equal(t, "The device phone is added.", b.done(got))
	})
	shown := b.shows("/user?name=alice")
	require.Contains(t, shown.plain(), "phonefcm")
	require.NotContains(t, shown.text, "very-secret-token")
	b.logs("add device; alice; tablet; channel pigeon; refused", func() {
		require.Contains(t, b.refused(b.post("/user/device", "name", "alice", "device", "tablet", "channel", "pigeon", "token", "x")), "pigeon")
	})
	b.logs("remove device; alice; phone; done", func() {
		_, got := b.confirmed("/user/device", "name", "alice", "device", "phone", "do", "remove")
		require.Equal(t, "The device was removed.", b.done(got))
	})
	require.NotContains(t, b.shows("/user?name=alice").plain(), "phonefcm")
	require.NotContains(t, b.shows("/audit").text, "very-secret-token")
}

func TestErasing(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	b.submits("m", "+1h")
	b.submits("n", "+2h")
	b.done(b.post("/message/move", "user", "alice", "id", "m", "send_at", "2026-11-21T11:30"))
	question, fields := b.asks(b.post("/user/erase", "name", "alice"))
	require.Contains(t, question, "Erase all data of alice? This removes 2 messages with their records")
	require.Equal(t, url.Values{"name": {"alice"}, "confirmed": {"yes"}}, fields)
	got := b.send("/user/erase", fields)
	require.Equal(t, "All data of the user was erased: 2 messages.", b.done(got))
	require.Equal(t, "/users", got.to())
	require.Equal(t, notFound, b.get("/message?user=alice&id=m").status)
	for _, e := range b.entries() {
		require.NotContains(t, strings.Join([]string{e.User, e.Message, e.Object, e.Detail, e.Answer}, " "), "alice", "the log forgets the user too")
	}
	require.Equal(t, "erase user", b.entries()[0].Action)
	require.Equal(t, audit.Done, b.entries()[0].Outcome)
	require.NotContains(t, b.shows("/audit").plain(), "alice")
}

func TestCampaigns(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	b := locked(t).operator()
	b.key("own", accounts.ScopeSubmit)
	for _, user := range []string{"alice", "bob"} {
		b.acceptsOf("own", map[string]any{"user": user, "id": "m", "title": "Hi", "send_at": "+1h", "campaign": "spring"})
	}
	require.Equal(t, "/campaign?account=own&name=spring", b.get("/campaigns?name=+spring+&account=own").to())
	require.Contains(t, b.shows("/campaign?name=spring&account=own").plain(), "scheduled2")
	b.logs("pause campaign; spring; account own; done", func() {
		require.Contains(t, b.done(b.post("/campaign", "name", "spring", "account", "own", "do", "pause")), "The campaign is paused.")
	})
	require.Contains(t, b.shows("/campaign?name=spring&account=own").plain(), "Paused since 2026-11-21 10:00:00 UTC")
	b.logs("resume campaign; spring; account own; done", func() {
		require.Equal(t, "The campaign was resumed.", b.done(b.post("/campaign", "name", "spring", "account", "own", "do", "resume")))
	})
	b.logs("cancel campaign; spring; account own; done", func() {
		question, got := b.confirmed("/campaign", "name", "spring", "do", "cancel", "account", "own")
		require.Contains(t, question, "It has 2 messages not sent yet.")
		require.Equal(t, "Cancelled: 2 messages.", b.done(got))
	})
	page := b.shows("/campaign?name=spring&account=own").plain()
	require.Contains(t, page, "cancelled2")
	require.Contains(t, page, "it accepts no messages")
	b.logs("reopen campaign; spring; account own; done", func() {
		b.done(b.post("/campaign", "name", "spring", "account", "own", "do", "reopen"))
	})
	require.NotContains(t, b.shows("/campaign?name=spring&account=own").plain(), "it accepts no messages")
	require.Contains(t, b.refused(b.post("/campaign", "name", "spring", "do", "explode")), "pause, resume, cancel or reopen")

	// Links lead to the campaign of the message's account, or to what is in one of any account.
	require.Equal(t, "/campaign?account=own&name=spring", b.shows("/message?user=alice&id=m").link("spring"))
	require.Equal(t, "/messages?campaign=spring", b.shows("/messages").link("spring"))
	b.accepts(map[string]any{"user": "carol", "id": "m", "title": "Hi", "send_at": "+1h", "campaign": "autumn"})
	require.Contains(t, b.shows(b.shows("/message?user=carol&id=m").link("autumn")).plain(), "carol")
}
