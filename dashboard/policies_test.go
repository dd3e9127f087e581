package dashboard_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

func TestPolicies(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	shown := b.shows("/policy?name=promo&new=yes")
	fields := shown.fields("/policy/apply")
	require.Equal(t, "1/minute\n5/hour\n10/calendar_day", fields.Get("rules"))
	fields.Set("rules", "2/minute\r\n20/calendar_day")
	fields.Set("quiet_hours", "22:00-08:00")
	fields.Set("category", "news")
	fields.Set("category_rules", "1/calendar_day")
	fields.Set("own_quiet_0", "yes")
	b.logs("apply policy; promo; rules 2/minute, 20/calendar_day; categories news; quiet hours 22:00-08:00; on conflict refuse; done", func() {
		got := b.send("/policy/apply", fields)
		require.Contains(t, b.done(got), "Version 1 of the policy was applied.")
		require.Equal(t, "/policy?name=promo", got.to())
	})

	again := b.shows("/policy?name=promo").fields("/policy/apply")
	require.Equal(t, "2/minute\n20/calendar_day", again.Get("rules"))
	require.Equal(t, []string{"news", ""}, again["category"], "with room for another one")
	require.Equal(t, "yes", again.Get("own_quiet_0"))
	require.Equal(t, "1", again.Get("version"))
	b.logs("apply policy; promo; rules 2/minute, 20/calendar_day; categories news; quiet hours 22:00-08:00; time zone UTC; on conflict refuse; done", func() {
		require.Equal(t, "Nothing has changed.", b.done(b.send("/policy/apply", again)))
	})

	again.Set("rules", "3/minute")
	_, got := b.applies(again)
	b.done(got)
	versions := b.shows("/policy?name=promo").plain()
	require.Contains(t, versions, "Version 2, 2026-11-21 10:00:00 UTC")
	require.Contains(t, versions, `- "2/minute",`)
	require.Contains(t, versions, `+ "3/minute"`)
	require.Contains(t, versions, `Roll back to version 1`)
}

// Who had the form open while somebody else applied another version overwrites nothing.
func TestAPolicyThatHasChangedMeanwhile(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	mine := b.shows("/policy?name=default").fields("/policy/apply")
	theirs := b.shows("/policy?name=default").fields("/policy/apply")
	theirs.Set("rules", "3/minute")
	question, changes := b.applies(theirs)
	require.Equal(t, "Apply this to the policy default? Every program follows within two seconds. Scheduled messages keep their places.", question)
	b.done(changes)
	mine.Set("rules", "4/minute")
	mine.Set("time_zone", "Europe/Berlin")
	b.logs("apply policy; default; rules 4/minute; time zone Europe/Berlin; alert at 80, 100; on conflict refuse; refused", func() {
		got := b.send("/policy/apply", mine)
		require.Equal(t, 412, got.status, got.body)
		shown := got.page()
		require.NotEmpty(t, shown.find("p", "role", "alert"))
		require.Equal(t, mine, shown.fields("/policy/apply"), "the form is as it was filled in")
	})
	require.Equal(t, "3/minute", b.shows("/policy?name=default").value("rules"))

	// The same for a new one that somebody else has made meanwhile.
	fields := form("name", "default", "rules", "5/minute")
	require.Equal(t, 412, b.send("/policy/apply", fields).status)
}

func TestEverythingThatIsWrongWithAPolicy(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	good := b.shows("/policy?name=default").fields("/policy/apply")
	for field, value := range map[string]string{
		"rules": "1/eon", "quiet_hours": "late", "only": "sometimes", "blackouts": "2026-13-01", "time_zone": "Mars/Olympus", "reach": "far",
		"alert_at": "often", "alert_to": "nobody", "calendars": "[]", "changes": "{",
	} {
		fields := url.Values{}
		for name := range good {
			fields[name] = good[name]
		}
		fields.Set(field, value)
		got := b.send("/policy/apply", fields)
		require.Equal(t, invalid, got.status, field)
		shown := got.page()
		require.Contains(t, shown.plain(), "The policy was not applied: see the marked fields.")
		require.Equal(t, []string{field}, shown.marked(), "%s: %s", field, shown.plain())
		require.Equal(t, fields, shown.fields("/policy/apply"), field)
		wrong, isMap := b.send("/policy/check", fields, script()).json(ok)["wrong"].(map[string]any)
		require.True(t, isMap)
		require.Len(t, wrong, 1)
		require.Contains(t, wrong, field)
		require.Equal(t, invalid, b.send("/policy/dry-run", fields, script()).status)
	}
	// Of several, all are said, and what is wrong with a category.
	fields := form("name", "default", "rules", "1/eon\n2/hour\nx", "quiet_hours", "late", "category", "News!", "category_rules", "1/day",
		"category", "", "category_rules", "1/day", "category", "ads", "category", "ads", "unknown_categories", "maybe", "on_conflict", "fight")
	got := b.send("/policy/apply", fields)
	require.Equal(t, invalid, got.status)
	plain := got.page().plain()
	for _, part := range []string{"1/eon", "late", "News!", "A category has rules but no name.", "Duplicate category ads.", "maybe", "fight"} {
		require.Contains(t, plain, part)
	}
	require.Empty(t, b.about("apply policy"), "nothing was asked of the API")
}

// What is wrong only for the store is said on the form too.
func TestAPolicyThatTheStoreRefuses(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	got := b.post("/policy/apply", "name", "No Name", "rules", "1/minute")
	require.Equal(t, invalid, got.status, got.body)
	require.Equal(t, "1/minute", got.page().value("rules"))
}

func TestRollingBackAndDeleting(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	b.done(b.post("/policy/apply", "name", "promo", "rules", "1/minute"))
	_, got := b.applies(form("name", "promo", "rules", "2/minute", "version", "1"))
	b.done(got)
	b.logs("rollback policy; promo; version 1; done", func() {
		question, fields := b.asks(b.post("/policy/rollback", "name", "promo", "version", "1"))
		require.Contains(t, question, "Store version 1 of the policy promo again?")
		require.Equal(t, "2", fields.Get("present"), "it is rolled back only from there")
		got := b.send("/policy/rollback", fields)
		require.Equal(t, "The policy was rolled back to version 1.", b.done(got))
	})
	require.Equal(t, "1/minute", b.shows("/policy?name=promo").value("rules"))
	_, fields := b.asks(b.post("/policy/rollback", "name", "promo", "version", "2"))
	_, got = b.applies(form("name", "promo", "rules", "4/minute", "version", "3"))
	b.done(got)
	require.Contains(t, b.refused(b.send("/policy/rollback", fields)), "is at version 4, not at 3")
	_, fields = b.asks(b.post("/policy/rollback", "name", "promo", "version", "1"))
	b.done(b.send("/policy/rollback", fields))
	require.Equal(t, "The version is not a number.", b.refused(b.post("/policy/rollback", "name", "promo", "version", "x")))

	b.done(b.post("/user/settings", "name", "alice", "policy", "promo"))
	b.logs("delete policy; promo; refused", func() {
		_, got := b.confirmed("/policy/delete", "name", "promo")
		require.NotEmpty(t, b.refused(got))
	})
	b.done(b.post("/user/settings", "name", "alice"))
	b.logs("delete policy; promo; done", func() {
		_, got := b.confirmed("/policy/delete", "name", "promo")
		require.Equal(t, "The policy was deleted.", b.done(got))
		require.Equal(t, "/policies", got.to())
	})
	require.Equal(t, notFound, b.get("/policy?name=promo").status)
}

// Messages that would not fit a policy are counted before, and moved after it.
func TestWhatWouldNotFit(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	b := locked(t).operator()
	for i := range 3 {
		b.submits(strconv.Itoa(i), "+"+strconv.Itoa(60+2*i)+"m")
	}
	preview := b.post("/policy/dry-run", "name", "default", "rules", "1/hour")
	require.Equal(t, ok, preview.status)
	require.Equal(t, "application/x-ndjson", preview.header.Get("Content-Type"))
	require.Contains(t, last(preview.body), `"misfits":2`, preview.body[max(0, len(preview.body)-400):])
	require.Empty(t, b.entries())

	fields := b.shows("/policy?name=default").fields("/policy/apply")
	fields.Set("rules", "1/hour")
	asked := b.send("/policy/apply", fields).page()
	require.Contains(t, asked.plain(), "2 of 3 scheduled messages, to 1 user, would no longer fit.")
	require.Contains(t, asked.plain(), `- "5/hour",`)
	require.Contains(t, asked.plain(), `+ "1/hour"`)
	require.Empty(t, b.entries(), "it is only asked")
	_, got := b.applies(fields)
	b.done(got)
	b.logs("refit policy; default; then shift; done", func() {
		require.Equal(t, ok, b.post("/policy/refit", "name", "default", "then", "shift").status)
	})
	require.Contains(t, b.shows("/message?user=alice&id=2").plain(), "Moved from")
	b.logs("refit policy; default; then explode; refused", func() {
		got := b.post("/policy/refit", "name", "default", "then", "explode")
		require.Equal(t, invalid, got.status)
		require.Contains(t, string(got.body), "Not done", "a problem is shown as everywhere")
	})
}

// applies requires that a form of a policy is applied only after a question, and applies it.
func (b *browser) applies(fields url.Values) (question string, got answer) {
	b.Helper()
	question, all := b.asks(b.send("/policy/apply", fields))
	return question, b.send("/policy/apply", all)
}

// last returns the last line of an answer.
func last(body string) string {
	lines := strings.Split(strings.TrimSpace(body), "\n")
	return lines[len(lines)-1]
}
