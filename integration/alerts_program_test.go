package integration_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

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
