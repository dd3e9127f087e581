package dashboard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
)

func TestAccounts(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	b.done(b.post("/tiers", "tier", "gold"))
	b.logs("create account; acme; time zone Europe/Berlin; tier gold; with contact; done", func() {
		got := b.post("/accounts", "account", " acme ", "tier", "gold", "contact", "ops@example.com", "time_zone", "Europe/Berlin")
		require.Equal(t, "The account acme was created. Add a key next.", b.done(got))
		require.Equal(t, "/account?name=acme", got.to())
	})
	b.logs("create account; acme; refused", func() {
		require.Contains(t, b.refused(b.post("/accounts", "account", "acme")), "acme")
	})
	fields := b.shows("/account?name=acme").fields("/account/change")
	require.Equal(t, form("name", "acme", "tier", "gold", "contact", "ops@example.com", "time_zone", "Europe/Berlin", "report_at", ""), fields)
	fields.Set("tier", "")
	fields.Set("report_at", "08:00")
	b.logs("change account; acme; time zone Europe/Berlin; report at 08:00; no tier; not disabled; with contact; done", func() {
		require.Equal(t, "The account was changed.", b.done(b.send("/account/change", fields)))
	})
	again := b.shows("/account?name=acme").fields("/account/change")
	require.Equal(t, fields, again)

	fields.Set("contact", "nobody")
	b.logs("change account; acme; time zone Europe/Berlin; report at 08:00; no tier; not disabled; with contact; refused", func() {
		require.Contains(t, b.refused(b.send("/account/change", fields)), "nobody")
	})
	require.Equal(t, again, b.shows("/account?name=acme").fields("/account/change"))
	b.logs("change account; acme; no time zone; no report at; no tier; disabled; no contact; done", func() {
		question, got := b.confirmed("/account/change", "name", "acme", "tier", "", "contact", "", "time_zone", "", "report_at", "", "disabled", "yes")
		require.Contains(t, question, "Disable the account acme?")
		b.done(got)
	})
	require.Contains(t, b.shows("/accounts").plain(), "disabled")
}

func TestKeys(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	b.done(b.post("/accounts", "account", "acme"))
	secretOf := func(got answer) string {
		t.Helper()
		require.Equal(t, ok, got.status, got.body)
		require.Equal(t, "no-store", got.header.Get("Cache-Control"))
		shown := got.page().find("code", "class", "secret")
		require.Len(t, shown, 1)
		return textOf(shown[0])
	}
	var secret, rotated string
	b.logs("add account key; acme; expires at 2026-12-01T10:00:00Z; scopes submit, read; done", func() {
		secret = secretOf(b.post("/account/key", "name", "acme", "do", "add", "scope", "submit", "scope", "read", "expires_at", "2026-12-01T10:00:00"))
	})
	require.Contains(t, b.shows("/account?name=acme").plain(), "2026-12-01 10:00:00 UTC")
	acme := b.loggedIn(secret)
	b.logs("rotate account key; acme; key "+keyID(secret)+"; overlap 1d; done", func() {
		rotated = secretOf(b.post("/account/key", "name", "acme", "do", "rotate", "key", keyID(secret), "overlap", "1d"))
	})
	require.NotEqual(t, secret, rotated)
	b.passes(time.Second)
	acme.shows("/")
	b.logs("remove account key; acme; key "+keyID(rotated)+"; done", func() {
		_, got := b.confirmed("/account/key", "name", "acme", "do", "remove", "key", keyID(rotated))
		b.done(got)
	})
	require.Equal(t, 401, b.browser().post("/login", "key", rotated).status)
	b.logs("add account key; acme; scopes content; refused", func() {
		require.Contains(t, b.refused(b.post("/account/key", "name", "acme", "do", "add", "scope", "content")), "without admin")
	})
	for _, text := range []string{b.shows("/audit").text, b.shows("/account?name=acme").text, b.log.String(), b.store.Dump(), fmt.Sprint(b.entries())} {
		require.NotContains(t, text, secret, "a secret is shown once")
		require.NotContains(t, text, rotated)
	}
}

func TestTiers(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	b.logs("set tier; gold; messages per hour 100; messages per day 1000; devices 20; alert at 50, 90; done", func() {
		got := b.post("/tiers", "tier", "gold", "messages_per_day", "1000", "messages_per_hour", "100", "requests_per_minute", "", "devices", "20", "alert_at", "50%, 90")
		require.Equal(t, "The tier gold was saved. It takes effect immediately.", b.done(got))
	})
	fields := b.shows("/tiers").fields("/tiers")
	require.Equal(t, form("tier", "gold", "messages_per_day", "1000", "messages_per_hour", "100", "requests_per_minute", "0", "requests_per_day", "0",
		"lines_per_minute", "0", "devices", "20", "alert_at", "50, 90"), fields)
	b.done(b.send("/tiers", fields))
	require.Equal(t, fields, b.shows("/tiers").fields("/tiers"))
	for field, value := range map[string]string{"messages_per_day": "-1", "requests_per_day": "many", "lines_per_minute": "1.5", "messages_per_hour": "99999999999999999999", "alert_at": "often"} {
		before := len(b.entries())
		require.Contains(t, b.refused(b.post("/tiers", "tier", "gold", field, value)), value)
		require.Len(t, b.entries(), before, "nothing was asked of the API")
	}
	require.Equal(t, fields, b.shows("/tiers").fields("/tiers"))
	b.done(b.post("/accounts", "account", "acme", "tier", "gold"))
	b.logs("remove tier; gold; refused", func() {
		_, got := b.confirmed("/tiers", "tier", "gold", "do", "remove")
		require.Contains(t, b.refused(got), "acme")
	})
	b.done(b.post("/account/change", "name", "acme", "tier", ""))
	b.logs("remove tier; gold; done", func() {
		_, got := b.confirmed("/tiers", "tier", "gold", "do", "remove")
		require.Equal(t, "The tier was removed.", b.done(got))
	})
}

func TestPace(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	require.Contains(t, b.shows("/workers").plain(), "Workers deliver as fast as possible.")
	b.logs("set pace; rate 100/second; burst 7; done", func() {
		require.Contains(t, b.done(b.post("/workers/pace", "rate", "100/second", "burst", "7")), "The pace is 100/second.")
	})
	b.passes(3 * time.Second)
	require.Contains(t, b.shows("/workers").plain(), "at most 100/second")
	require.Equal(t, "7", b.shows("/workers").value("burst"))
	b.logs("set pace; rate fast; refused", func() {
		require.Contains(t, b.refused(b.post("/workers/pace", "rate", "fast")), "fast")
	})
	require.Contains(t, b.refused(b.post("/workers/pace", "rate", "100/second", "burst", "some")), "enter a whole number")
	b.logs("clear pace; done", func() {
		_, got := b.confirmed("/workers/pace", "do", "remove")
		b.done(got)
	})
	b.passes(3 * time.Second)
	require.Contains(t, b.shows("/workers").plain(), "Workers deliver as fast as possible.")
}

func TestChannels(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	states := channels.NewStore(b.client, keyspace.KeysUnder(""))
	stopped, err := states.Stop(t.Context(), "fcm", channels.Stop{Reason: channels.Unauthorized, Detail: "<b>401</b>"})
	require.NoError(t, err)
	require.True(t, stopped)
	paces, err := rate.NewPaces(b.client, keyspace.KeysUnder(""), deliver.ChannelPace("fcm"))
	require.NoError(t, err)
	_, err = paces.Refused(t.Context(), rate.Refusal{Calls: 40, Pause: time.Second})
	require.NoError(t, err)
	shown := b.shows("/workers").plain()
	require.Contains(t, shown, "<b>401</b>")
	require.Contains(t, shown, "as fast as possible (learned: 20 calls in a second, since the target refused some at 40 in a second)")
	require.Equal(t, "fcm", b.shows("/workers").fields("/workers/channel").Get("channel"))
	b.logs("resume channel; fcm; done", func() {
		_, got := b.confirmed("/workers/channel", "channel", "fcm")
		require.Equal(t, "The channel fcm was resumed. Workers follow within two seconds.", b.done(got))
	})
	b.logs("resume channel; fcm; done", func() {
		require.Equal(t, "The channel fcm was not stopped.", b.done(b.post("/workers/channel", "channel", "fcm", "confirmed", "yes")))
	})
	b.logs("resume channel; No Name; refused", func() {
		b.refused(b.post("/workers/channel", "channel", "No Name", "confirmed", "yes"))
	})
	b.passes(3 * time.Second)
	require.NotContains(t, b.shows("/workers").plain(), "<b>401</b>")
}

// While all sending is stopped, every page says so: to operators with who and why, and a way to
// start.
func TestAllSendingIsStoppedOnTheDashboard(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	require.Contains(t, b.shows("/").plain(), "Stop all sending")
	b.logs("stop sending; refused", func() {
		require.Contains(t, b.refused(b.post("/sending", "do", "stop", "reason", "")), "use 1 to 500 bytes")
	})
	b.logs("stop sending; reason <b>wrong</b> text; done", func() {
		require.Equal(t, "All sending is stopped. Workers follow within two seconds.", b.done(b.post("/sending", "do", "stop", "reason", "<b>wrong</b> text")))
	})
	require.Equal(t, "All sending was stopped already, and keeps the first reason.", b.done(b.post("/sending", "do", "stop", "reason", "another")))
	for _, path := range []string{"/", "/workers", "/users", "/plan"} {
		shown := b.shows(path)
		require.Regexp(t, `All sending is stopped since .* by account \S+: <b>wrong</b> text`, shown.plain(), path)
		require.Equal(t, "start", shown.fields("/sending").Get("do"), path)
	}
	b.logs("start sending; done", func() {
		_, got := b.confirmed("/sending", "do", "start")
		require.Equal(t, "Sending goes on. Workers follow within two seconds.", b.done(got))
	})
	require.Equal(t, "Sending was not stopped.", b.done(b.post("/sending", "do", "start", "confirmed", "yes")))
	require.NotContains(t, b.shows("/workers").plain(), "All sending is stopped")
}
