package integration_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/mail"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/email"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// python is the system's own Python, which has the system's packages.
const python = "/usr/bin/python3"

// mailbox is aiosmtpd in a separate process, which writes accepted mails to a maildir.
type mailbox struct {
	address, folder string
}

// startMailbox skips the test if aiosmtpd is not installed, unless everything must be
// installed.
func startMailbox(t *testing.T) mailbox {
	t.Helper()
	if err := exec.CommandContext(t.Context(), python, "-c", "import aiosmtpd").Run(); err != nil {
		if os.Getenv("CI") == "true" {
			require.NoError(t, err, "aiosmtpd is missing: tools/install-packages.sh")
		}
		t.Skip("aiosmtpd is not installed: tools/install-packages.sh")
	}
	m := mailbox{address: freeAddress(t), folder: filepath.Join(t.TempDir(), "maildir")}
	var said bytes.Buffer
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	server := exec.CommandContext(ctx, python, "-m", "aiosmtpd", "-n", "-l", m.address,
		"-c", "aiosmtpd.handlers.Mailbox", m.folder)
	server.Stderr = &said
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		stop()
		_ = server.Wait()
	})
	require.Eventually(t, func() bool {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.address)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	}, time.Minute, 20*time.Millisecond, "aiosmtpd does not start")
	return m
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// letter is a mail as its reader sees it.
type letter struct {
	header              mail.Header
	subject, text, html string
}

func (m mailbox) letters(t *testing.T) []letter {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(m.folder, "new", "*"))
	require.NoError(t, err)
	var all []letter
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		all = append(all, readLetter(t, data))
	}
	return all
}

func readLetter(t *testing.T, data []byte) letter {
	t.Helper()
	message, err := mail.ReadMessage(bytes.NewReader(data))
	require.NoError(t, err)
	kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	require.NoError(t, err)
	require.Equal(t, "multipart/alternative", kind)
	l := letter{header: message.Header}
	l.subject, err = new(mime.WordDecoder).DecodeHeader(message.Header.Get("Subject"))
	require.NoError(t, err)
	parts := multipart.NewReader(message.Body, parameters["boundary"])
	for _, want := range []struct {
		kind string
		into *string
	}{{"text/plain", &l.text}, {"text/html", &l.html}} {
		part, err := parts.NextRawPart()
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(part.Header.Get("Content-Type"), want.kind))
		content, err := io.ReadAll(quotedprintable.NewReader(part))
		require.NoError(t, err)
		*want.into = string(content)
	}
	return l
}

// Every kind of notice, and names that try to add a header or an element, pass through
// another product's mail server and are read from its maildir.
func TestNoticesArriveInAMailbox(t *testing.T) {
	t.Parallel()
	box := startMailbox(t)
	announcer, err := email.Open(email.Options{
		URL: "smtp://" + box.address, From: "Alerts <alerts@sender.example>", Now: time.Now,
	})
	require.NoError(t, err)
	require.NoError(t, announcer.Check(t.Context()))
	require.Empty(t, box.letters(t), "a check sends nothing")

	notices := notifiertest.Notices()
	for name, n := range notices {
		result := announcer.Announce(t.Context(), "ops@receiver.example", n)
		require.Equal(t, notifier.Delivered, result.Status, "%s: %v", name, result.Err)
	}
	letters := box.letters(t)
	require.Len(t, letters, len(notices))
	ids := make(map[string]bool)
	for _, l := range letters {
		ids[l.header.Get("Message-ID")] = true
		require.Empty(t, l.header.Get("Bcc"))
		require.Equal(t, "ops@receiver.example", l.header.Get("X-RcptTo"), "one receiver")
		require.Equal(t, "auto-generated", l.header.Get("Auto-Submitted"))
		require.NotContains(t, l.subject, "\n")
		require.NotEmpty(t, l.text)
		require.NotContains(t, l.html, "<script")
		date, err := l.header.Date()
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), date, time.Minute)
	}
	require.Len(t, ids, len(notices), "each has an id of its own")

	// Its id identifies a second copy.
	require.Equal(t, notifier.Delivered, announcer.Announce(t.Context(), "ops@receiver.example", notices["account"]).Status)
	again := box.letters(t)
	require.Len(t, again, len(notices)+1)
	for _, l := range again {
		require.True(t, ids[l.header.Get("Message-ID")])
	}
}

func TestWorkerChecksItsServers(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	mails, err := notifiertest.NewMailServer(t.Context(), notifiertest.MailServerOptions{
		TLS: true, Users: map[string]string{"robot": "hunter2"},
	})
	require.NoError(t, err)
	t.Cleanup(mails.Close)
	push := notifiertest.NewReceiver(time.Now)
	t.Cleanup(push.Close)
	roots := filepath.Join(t.TempDir(), "roots.pem")
	require.NoError(t, os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: mails.Root().Raw}), 0o600))
	environ := []string{
		"REDIS_URL=" + redistest.Shared(t).URL(), "SENDLIMIT_PUSH_URL=" + push.URL(), "SSL_CERT_FILE=" + roots,
		"SENDLIMIT_EMAIL_URL=smtp://robot@" + mails.Address(), "SENDLIMIT_EMAIL_TLS=mandatory",
		"SENDLIMIT_EMAIL_FROM=alerts@sender.example",
	}

	good := p.workerCommand(t, append(environ, "SENDLIMIT_SMTP_PASSWORD=hunter2"), "check")
	require.Equal(t, 0, good.status, "%s%s", good.stdout, good.stderr)
	require.Equal(t, 3, strings.Count(good.stdout, "ok "), good.stdout)
	require.Contains(t, good.stdout, "logged in")

	bad := p.workerCommand(t, append(environ, "SENDLIMIT_SMTP_PASSWORD=wrong"), "check", "--json")
	require.Equal(t, 1, bad.status, "%s%s", bad.stdout, bad.stderr)
	require.Contains(t, bad.stdout, "535")
	require.NotContains(t, bad.stdout+bad.stderr, "wrong")

	require.Empty(t, mails.Mails(), "no mail")
	require.Empty(t, push.Requests(), "no push")

	environ[0] = "REDIS_URL=redis://" + freeAddress(t)
	gone := p.workerCommand(t, append(environ, "SENDLIMIT_SMTP_PASSWORD=hunter2"), "check")
	require.Equal(t, 5, gone.status, "%s%s", gone.stdout, gone.stderr)
	require.Equal(t, 2, strings.Count(gone.stdout, "ok "), "the others are looked at all the same: %s", gone.stdout)
}

// alertPrograms is a worker that sends mail to another product's mail server, and what
// its operator and its callers do, with the built programs only.
type alertPrograms struct {
	programs

	worker *workerProcess
	store  []string // the environment that names the store
	box    mailbox
	noon   time.Time // of the day of all messages
}

func startAlertPrograms(t *testing.T) *alertPrograms {
	t.Helper()
	box, p, server := startMailbox(t), buildPrograms(t), redistest.Shared(t)
	a := &alertPrograms{programs: p, box: box, store: []string{"REDIS_URL=" + server.URL()}, noon: noon()}
	a.worker = p.worker(t, append(a.store,
		"SENDLIMIT_EMAIL_URL=smtp://"+box.address, "SENDLIMIT_EMAIL_FROM=Alerts <alerts@sender.example>"), "--push-url", "log:")
	a.worker.delivers(t)
	return a
}

// operator runs a subcommand of the worker, which must succeed, and returns its output.
func (a *alertPrograms) operator(t *testing.T, args ...string) string {
	t.Helper()
	done := a.workerCommand(t, a.store, args...)
	require.Zero(t, done.status, done.stderr)
	return strings.TrimSpace(done.stdout)
}

// push submits a message over the API, for a time in minutes past noon, and returns the
// status.
func (a *alertPrograms) push(t *testing.T, key, user, id string, minutes int) int {
	t.Helper()
	body := fmt.Sprintf(`{"id":%q,"user":%q,"send_at":%q,"title":"Hello"}`,
		id, user, a.noon.Add(time.Duration(minutes)*time.Minute).Format(time.RFC3339))
	api, err := url.Parse(a.worker.logged(t, "API endpoint", "url"))
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+api.Host+"/v1/messages", strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	response, err := client.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

// awaitLetters waits until n mails have arrived, and returns those to an address, as
// they were sent.
func (a *alertPrograms) awaitLetters(t *testing.T, n int, to string) []letter {
	t.Helper()
	var found []letter
	require.Eventually(t, func() bool {
		found = a.box.letters(t)
		return len(found) >= n
	}, time.Minute, 20*time.Millisecond, "%d mails; the worker says:\n%s", n, &a.worker.stderr)
	found = slices.DeleteFunc(found, func(l letter) bool { return l.header.Get("X-RcptTo") != to })
	slices.SortFunc(found, func(one, other letter) int { return strings.Compare(one.text, other.text) })
	return found
}

// requireLetter requires that all parts of a mail say how many of the day's messages
// are used.
func (a *alertPrograms) requireLetter(t *testing.T, l letter, name string, percent, used, limit int) {
	t.Helper()
	day := a.noon.Format(time.DateOnly)
	require.Contains(t, l.subject, fmt.Sprintf("%s has used %d %% of", name, percent))
	require.Contains(t, l.subject, fmt.Sprintf("%s (%d of %d)", day, used, limit))
	for _, body := range []string{l.text, l.html} {
		require.Contains(t, body, name)
		require.Contains(t, body, day)
		require.Contains(t, body, fmt.Sprintf("%d %%", percent))
		require.Equal(t, percent == 100, strings.Contains(body, "Nothing more is accepted"), "%s", body)
	}
	require.Contains(t, l.text, fmt.Sprintf("%s has %d messages", name, used))
	require.Contains(t, l.html, fmt.Sprintf("<strong>%d</strong> messages", used))
	require.NotContains(t, l.text, "<p>")
	require.Equal(t, `"Alerts" <alerts@sender.example>`, l.header.Get("From"))
	require.Regexp(t, `^<[0-9a-f]{32}@sender\.example>$`, l.header.Get("Message-ID"))
	require.Equal(t, "auto-generated", l.header.Get("Auto-Submitted"))
	date, err := l.header.Date()
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), date, 5*time.Minute)
}

// An account and a user reach 80 and 100 % of their day: two mails each, and none for
// messages that are cancelled and submitted again. Only the programs, a Redis and a
// mail server take part.
func TestQuotaMailsByThePrograms(t *testing.T) {
	t.Parallel()
	a := startAlertPrograms(t)

	a.operator(t, "tier", "set", "small", "--messages-per-day", "5")
	key := a.operator(t, "account", "create", "acme", "--tier", "small", "--contact", "ops@receiver.example")
	for i := range 5 {
		require.Equal(t, http.StatusCreated, a.push(t, key, fmt.Sprintf("user-%d", i), "m", 0), "message %d", i+1)
		if i == 3 {
			a.awaitLetters(t, 1, "ops@receiver.example") // else the mail of 100 % may be first, and drop this one
		}
	}
	// 429 if the day ends within an hour.
	require.Contains(t, []int{http.StatusConflict, http.StatusTooManyRequests}, a.push(t, key, "user-5", "m", 0), "the quota is used up")
	require.Equal(t, http.StatusUnauthorized, a.push(t, key+"x", "user-6", "m", 0))
	letters := a.awaitLetters(t, 2, "ops@receiver.example")
	require.Len(t, letters, 2)
	a.requireLetter(t, letters[0], "acme", 80, 4, 5)
	a.requireLetter(t, letters[1], "acme", 100, 5, 5)

	a.operator(t, "user", "set", "alice", "--contact", "ada@receiver.example")
	push := func(n int) {
		t.Helper()
		done := a.enqueue(t, a.store, "push", "--user", "alice", "--id", fmt.Sprint("m", n), "--title", "Hello",
			"--at", a.noon.Add(time.Duration(20*n)*time.Minute).Format(time.RFC3339))
		require.Zero(t, done.status, done.stderr)
	}
	for n := range 8 {
		push(n)
	}
	letters = a.awaitLetters(t, 3, "ada@receiver.example")
	require.Len(t, letters, 1)
	push(8)
	push(9)
	letters = a.awaitLetters(t, 4, "ada@receiver.example")
	require.Len(t, letters, 2)
	slices.SortFunc(letters, func(one, other letter) int { return strings.Compare(other.subject, one.subject) })
	a.requireLetter(t, letters[0], "alice", 80, 8, 10)
	a.requireLetter(t, letters[1], "alice", 100, 10, 10)
	require.Contains(t, letters[0].text, "10/calendar_day")

	// Back to 7, and to 8 again.
	for n := range 3 {
		done := a.enqueue(t, a.store, "cancel", "--user", "alice", fmt.Sprint("m", n))
		require.Zero(t, done.status, done.stderr)
	}
	push(10)
	// The mail of another user, raised later, has arrived, so no earlier one is still
	// on its way.
	a.operator(t, "user", "set", "bob", "--contact", "bob@receiver.example")
	for n := range 8 {
		require.Equal(t, http.StatusCreated, a.push(t, "", "bob", fmt.Sprint("m", n), 20*n))
	}
	require.Len(t, a.awaitLetters(t, 5, "bob@receiver.example"), 1)
	require.Zero(t, a.worker.end(t))
	all := a.box.letters(t)
	require.Len(t, all, 5, "none for alice since")
	ids := make(map[string]bool)
	for _, l := range all {
		ids[l.header.Get("Message-ID")] = true
	}
	require.Len(t, ids, 5)
}
