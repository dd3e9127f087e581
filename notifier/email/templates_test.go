package email_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/email"
	"github.com/sendlimit/sendlimiter/notifier/notice"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

// folder has templates by name.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return dir
}

func render(t *testing.T, n notifier.Notice) email.Content {
	t.Helper()
	templates, err := email.LoadTemplates("")
	require.NoError(t, err)
	content, err := templates.Render(n)
	require.NoError(t, err)
	return content
}

func sample(t *testing.T, kind notifier.NoticeKind) notifier.Notice {
	t.Helper()
	n, ok := email.Sample(kind, "")
	require.True(t, ok)
	return n
}

func TestSubjects(t *testing.T) {
	t.Parallel()
	for kind, want := range map[notifier.NoticeKind]string{
		notifier.NoticeAccountQuota:    "acme has used 80 % of its messages of 2026-11-22 (8,000 of 10,000)",
		notifier.NoticeUserQuota:       "alice has used 100 % of the messages of 2026-11-22 (10 of 10)",
		notifier.NoticeUserQuotaDigest: "5 users are near or at a daily limit (policy default)",
		notifier.NoticeEventLimit:      "acme has used 80 % of the limit of submit (400 of 500 per day)",
		notifier.NoticeDailyReport:     "acme on 2026-11-22: 7,912 sent, 131 refused, 3 dropped, 17 late",
		notifier.NoticeCallbackChanged: "Events of acme are posted to hooks.example.com now",
		notifier.NoticeKeysChanged:     "A key of acme was added",
	} {
		require.Equal(t, want, render(t, sample(t, kind)).Subject)
	}
	jumped := sample(t, notifier.NoticeAccountQuota)
	jumped.Used = 9_500
	require.Contains(t, render(t, jumped).Subject, "has used 95 %", "what is used, rather than the threshold passed")
}

func TestBodiesSayWhatHappensNext(t *testing.T) {
	t.Parallel()
	account := sample(t, notifier.NoticeAccountQuota)
	text := render(t, account).Text
	require.Contains(t, text, "2,000 more will be accepted for that day")
	require.Contains(t, text, "quota_exceeded")
	require.Contains(t, text, "It begins at 2026-11-23 00:00 Europe/Berlin.")

	account.Used, account.Threshold = account.Limit, 100
	for _, body := range []string{render(t, account).Text, render(t, account).HTML} {
		require.Contains(t, body, "Nothing more is accepted for that day")
		require.NotContains(t, body, "more will be accepted")
	}
	sliding := sample(t, notifier.NoticeUserQuota)
	sliding.Rule = "10/day"
	require.Contains(t, render(t, sliding).Text, "Each message counts for 24 hours")

	event := sample(t, notifier.NoticeEventLimit)
	text = render(t, event).Text
	require.Contains(t, text, "The event submit of the key acme has happened 400 times in the day from 2026-11-22 00:00 Europe/Berlin, 80 % of the 500 that its limit allows.")
	require.Contains(t, text, "100 more are allowed in that day.")
	require.Contains(t, text, "The next day begins at 2026-11-23 00:00 Europe/Berlin.")
	event.Used, event.Rule, event.Since, event.TimeZone = 520, "500/calendar_hour", "2026-11-22T11:00:00Z", ""
	for _, body := range []string{render(t, event).Text, render(t, event).HTML} {
		require.Contains(t, body, "104 % of the 500", "a limit that was lowered")
		require.Contains(t, body, "in the hour from 2026-11-22 11:00 UTC")
		require.Contains(t, body, "Nothing more is allowed in that hour")
		require.NotContains(t, body, "more are allowed")
	}

	callback := sample(t, notifier.NoticeCallbackChanged)
	for change, says := range map[string]string{
		notice.CallbackSet: "was set to hooks.example.com at 2026-11-22 12:00 Europe/Berlin:", notice.CallbackSecret: "got a new secret at", notice.CallbackRemoved: "was removed at",
	} {
		callback.Change = change
		require.Contains(t, render(t, callback).Text, says)
	}

	key := sample(t, notifier.NoticeKeysChanged)
	require.Contains(t, render(t, key).Text, "A key was added to the account acme at 2026-11-22 12:00 Europe/Berlin. It allows: submit, read.")
	for change, says := range map[string]string{notice.KeyReplaced: "The key 1a2b3c4d of the account acme was replaced", notice.KeyRemoved: "It no longer works."} {
		key.Change, key.Key, key.Scopes = change, "1a2b3c4d", nil
		require.Contains(t, render(t, key).Text, says)
	}

	report := render(t, sample(t, notifier.NoticeDailyReport)).Text
	require.Contains(t, report, "  - by 1/minute: 96\n  - by 10/calendar_day: 31\n  - by quota_exceeded: 4\n", "most first")
	require.Contains(t, render(t, sample(t, notifier.NoticeUserQuotaDigest)).Text,
		"- alice: 10 of 10 messages on 2026-11-22 (100 %)\n- bob: 8 of 10 messages on 2026-11-22 (80 %)\n- and 3 more\n")
}

// A limit may be one message.
func TestOneMessageIsNoMessages(t *testing.T) {
	t.Parallel()
	for kind, want := range map[notifier.NoticeKind][2]string{
		notifier.NoticeAccountQuota: {"has 1 message on", "has <strong>1</strong> message on"},
		notifier.NoticeUserQuota:    {"has 1 message on", "has <strong>1</strong> message"},
		notifier.NoticeEventLimit:   {"has happened 1 time in", "has happened <strong>1</strong> time\n"},
	} {
		n := sample(t, kind)
		n.Used, n.Limit, n.Threshold = 1, 1, 100
		require.Contains(t, render(t, n).Text, want[0])
		require.Contains(t, render(t, n).HTML, want[1])
		require.NotContains(t, render(t, n).HTML, "</strong> messages")
	}
	digest := sample(t, notifier.NoticeUserQuotaDigest)
	digest.Users[0].Used, digest.Users[0].Limit = 1, 1
	require.Contains(t, render(t, digest).Text, "1 of 1 message on")
}

func TestADayBeginsWhereTheClocksSaySo(t *testing.T) {
	t.Parallel()
	n := sample(t, notifier.NoticeAccountQuota)
	for _, row := range []struct{ day, zone, want string }{
		{"2026-12-31", "", "2027-01-01 00:00 UTC"},
		{"2026-10-25", "Europe/Berlin", "2026-10-26 00:00 Europe/Berlin"},         // 25 hours long
		{"2018-11-03", "America/Sao_Paulo", "2018-11-04 01:00 America/Sao_Paulo"}, // midnight was skipped
	} {
		n.Day, n.TimeZone = row.day, row.zone
		require.Contains(t, render(t, n).Text, row.want)
	}
}

func TestNamesCannotAddLinesOrElements(t *testing.T) {
	t.Parallel()
	for _, n := range []notifier.Notice{notifiertest.Notices()["hostile"], notifiertest.Notices()["hostile event"], notifiertest.Notices()["digest"]} {
		content := render(t, n)
		require.NotContains(t, content.Subject, "\n")
		for line := range strings.Lines(content.Text) {
			require.False(t, strings.HasPrefix(line, "Bcc:"), content.Text)
			require.NotEqual(t, ".\n", line)
		}
		require.NotContains(t, content.Text, "\r")
		require.NotContains(t, content.Text, "\u2028")
		require.NotContains(t, content.Text, "\u202E")
		require.Contains(t, content.Text, "Jörg", "umlauts stay")
		require.NotContains(t, content.HTML, "<script")
		require.NotContains(t, content.HTML, "<b onclick")
		require.Contains(t, content.HTML, "&lt;script&gt;")
	}
}

func TestTemplatesOfOnesOwn(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"account_quota.subject.tmpl": "Quota:\n {{.Name}}\n",
		"account_quota.html.tmpl":    `{{template "top" .}}<a title="{{.Name}}">{{number .Used}}</a>{{template "bottom" .}}`,
		"README":                     "not a template",
	})
	templates, err := email.LoadTemplates(dir)
	require.NoError(t, err)
	n := notifiertest.Notices()["hostile"]
	n.Kind = notifier.NoticeAccountQuota
	content, err := templates.Render(n)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(content.Subject, "Quota: Jörg"), content.Subject)
	require.Contains(t, content.HTML, `<a title="Jörg &#34;Q&#34;`, "templates of one's own are escaped too")
	require.Contains(t, content.Text, "daily quota", "what is not there is the built-in one")
}

func TestTemplatesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, content, says string }{
		{"account_quota.txt.tmpl", "one\n{{if}}\n", "account_quota.txt.tmpl:2"},
		{"account_quota.subject.tmpl", "{{.Title}}{{.Nothing}}", "account_quota.subject.tmpl:1"}, // only using it shows
		{"daily_report.html.tmpl", "\n\n{{.Report.Sold}}", "daily_report.html.tmpl:3"},
		{"user_quota.html.tmpl", "<a href='{{if .Full}}'{{end}}>", "user_quota.html.tmpl"}, // HTML that can't be escaped
		{"user_quota.subject.tmpl", " \n", "gives no text"},
		{"frame.html.tmpl", `{{define "top"}}`, "frame.html.tmpl:1"},
		{"acount_quota.txt.tmpl", "typing error", "acount_quota.txt.tmpl"},
	} {
		dir := folder(t, map[string]string{row.name: row.content})
		_, err := email.LoadTemplates(dir)
		var invalid *notifier.InvalidError
		require.ErrorAs(t, err, &invalid, row.name)
		require.Equal(t, "email_templates", invalid.Field)
		require.Contains(t, invalid.Value+invalid.Want, row.says)
		require.Contains(t, err.Error(), dir, row.name)
	}
	_, err := email.LoadTemplates(filepath.Join(t.TempDir(), "none"))
	require.ErrorContains(t, err, "no such file")
}

func TestSettingsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	good := email.Options{URL: "smtp://robot:hunter2@mail.example.com", From: sender, Now: noon}
	_, err := email.Open(good)
	require.NoError(t, err)
	for _, row := range []struct {
		field  string
		change func(*email.Options)
	}{
		{"email_url", func(o *email.Options) { o.URL = "" }},
		{"email_url", func(o *email.Options) { o.URL = "http://mail.example.com" }},
		{"email_url", func(o *email.Options) { o.URL = "smtp://robot:hunter2@" }},
		{"email_url", func(o *email.Options) { o.URL = "smtp://mail.example.com:0" }},
		{"email_url", func(o *email.Options) { o.URL = "smtp://mail.example.com:" }},
		{"email_url", func(o *email.Options) { o.URL = "smtp://mail.example.com/hunter2" }},
		{"email_url", func(o *email.Options) { o.URL = "smtp://robot:hunter2@mail.example.com?x" }},
		{"email_url", func(o *email.Options) { o.URL = "smtp://:hunter2@mail.example.com" }},
		{"smtp_password", func(o *email.Options) { o.Password = "hunter2" }}, // twice
		{"smtp_password", func(o *email.Options) { o.URL = "smtp://robot@mail.example.com" }},
		{"smtp_password", func(o *email.Options) { o.URL, o.Password = "smtp://mail.example.com", "hunter2" }},
		{"email_from", func(o *email.Options) { o.From = "" }},
		{"email_from", func(o *email.Options) { o.From = "a@b.example, c@d.example" }},
		{"email_from", func(o *email.Options) { o.From = "A\r\nBcc: x@y.example <a@b.example>" }},
		{"email_tls", func(o *email.Options) { o.TLS = "starttls" }},
		{"email_tls", func(o *email.Options) { o.URL, o.TLS = "smtps://mail.example.com", email.TLSNone }},
		{"email_templates", func(o *email.Options) { o.Templates = "/does/not/exist" }},
	} {
		o := good
		row.change(&o)
		_, err := email.Open(o)
		var invalid *notifier.InvalidError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, row.field, invalid.Field, "%v", err)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
