package integration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/traffic"
)

// dashboardFolder has the stories of the dashboard, and what runs them in a browser.
const dashboardFolder = "testdata/dashboard"

// writeScreenshots makes the stories write the screenshots of the pages for users into a folder.
const writeScreenshots = "SENDLIMIT_WRITE_SCREENSHOTS"

// dashboardPlan is what the stories are told.
type dashboardPlan struct {
	URL      string            `json:"url"`
	Chromium string            `json:"chromium"`
	Keys     map[string]string `json:"keys"` // by the largest scope
	Operator string            `json:"operator"`
	// User has messages, of which Message has a title. Other is a message of another account.
	User        string            `json:"user"`
	At          string            `json:"at"`
	Message     string            `json:"message"`
	Title       string            `json:"title"`
	Other       map[string]string `json:"other"`
	Expected    expectedNumbers   `json:"expected"`
	Screenshots string            `json:"screenshots,omitempty"`
	Half        int               `json:"half"` // which pages are looked at in both schemes: 0 or 1
}

// expectedNumbers are what the overview has to show.
type expectedNumbers struct {
	Accepted    int            `json:"accepted"`
	Refused     int            `json:"refused"`
	ByRule      map[string]int `json:"byRule"`
	Pending     int            `json:"pending"`
	DeadLetters int            `json:"deadLetters"`
}

// dashboardLines is how many lines of the traffic the dashboard shows.
const dashboardLines = 600

// A person goes through every page of the dashboard with a real browser, on a real Redis with
// traffic, and sees the store's numbers.
func TestTheDashboardInABrowser(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	plan := dashboardPlan{Chromium: needProgram(t, "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"), Keys: map[string]string{}, Operator: "ops", Half: drawn(t, 2)}
	installTools(t, dashboardFolder)
	server := redistest.Shared(t)
	environ := []string{"REDIS_URL=" + server.URL()}
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var pushed struct {
			User string `json:"user"`
		}
		if json.NewDecoder(r.Body).Decode(&pushed) == nil && strings.HasPrefix(pushed.User, "broken-") {
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
	}))
	t.Cleanup(broken.Close)
	w := p.worker(t, environ, "--push-url", broken.URL, "--require-keys", "--base-path", []string{"", "/push"}[plan.Half])
	w.delivers(t)
	plan.URL = "http://" + w.apiAddress(t)

	for _, account := range []string{"acme", "zeta", plan.Operator} {
		p.answers(t, p.workerCommand(t, environ, "account", "create", account, "--json"))
	}
	for name, of := range map[string][2]string{
		"submit": {"acme", "submit"}, "read": {"acme", "read"}, "admin": {plan.Operator, "admin"}, "content": {plan.Operator, "admin,content"},
	} {
		key := p.answers(t, p.workerCommand(t, environ, "account", "add-key", of[0], "--scopes", of[1], "--json"))
		plan.Keys[name], _ = key["key"].(string)
		require.NotEmpty(t, plan.Keys[name], "%v", key)
	}
	plan.loadTraffic(t, p, environ)
	plan.addMessages(t, p, environ)
	require.Eventually(t, func() bool {
		listed := p.workerCommand(t, environ, "dead-letters", "list", "--json")
		return strings.Count(listed.stdout, `"status":"failed"`) == plan.Expected.DeadLetters
	}, time.Minute, 200*time.Millisecond, "dead letters")

	plan.Screenshots = os.Getenv(writeScreenshots)
	plan.run(t)
}

// loadTraffic submits sends, real ones if they are there, and notes what became of them.
func (plan *dashboardPlan) loadTraffic(t *testing.T, p programs, environ []string) {
	t.Helper()
	trace, err := traffic.Load(dashboardLines)
	require.NoError(t, err)
	t.Log(trace.Source)
	start := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 2)
	var file bytes.Buffer
	for i, send := range trace.Sends {
		line, err := json.Marshal(message.Draft{
			ID: fmt.Sprintf("line-%d", i+1), User: send.User, SendAt: message.When{Text: start.Add(send.Offset % (90 * 24 * time.Hour)).Format(time.RFC3339)}, Title: "Traffic",
		})
		require.NoError(t, err)
		file.Write(append(line, '\n'))
	}
	name := filepath.Join(t.TempDir(), "traffic.ndjson")
	require.NoError(t, os.WriteFile(name, file.Bytes(), 0o600))
	done := p.enqueue(t, environ, "bulk", name, "--results", "-")
	require.Contains(t, []int{0, 3}, done.status, done.stderr)
	plan.Expected.ByRule = make(map[string]int)
	for line := range strings.Lines(done.stdout) {
		var o message.Outcome
		require.NoError(t, json.Unmarshal([]byte(line), &o))
		if o.Outcome == message.Accepted {
			plan.Expected.Accepted++
			plan.Expected.Pending++
			continue
		}
		require.Equal(t, message.Refused, o.Outcome, line)
		plan.Expected.Refused++
		plan.Expected.ByRule[o.RefusedBy()]++
	}
	require.NotZero(t, plan.Expected.Accepted)
	require.NotZero(t, plan.Expected.Refused)
}

// addMessages submits what the stories name.
func (plan *dashboardPlan) addMessages(t *testing.T, p programs, environ []string) {
	t.Helper()
	push := func(account string, args ...string) {
		t.Helper()
		p.answers(t, p.enqueue(t, environ, append([]string{"push", "--json", "--account", account}, args...)...))
		plan.Expected.Accepted++
	}
	noon := time.Now().UTC().Truncate(24 * time.Hour).Add(36 * time.Hour)
	plan.User, plan.Message, plan.Title, plan.At = "alice", "order-1", "Your table is ready", noon.Format(time.RFC3339)
	for i := range 9 {
		at := noon.Add(time.Duration(i*i*7) * time.Minute)
		push("acme", "--user", plan.User, "--id", fmt.Sprintf("order-%d", i+1), "--title", plan.Title, "--at", at.Format(time.RFC3339), "--campaign", "autumn")
		plan.Expected.Pending++
	}
	plan.Other = map[string]string{"user": "zoe", "id": "secret"}
	push("zeta", "--user", "zoe", "--id", "secret", "--title", "Of another account", "--at", noon.Format(time.RFC3339))
	plan.Expected.Pending++
	plan.Expected.DeadLetters = 5
	for i := range plan.Expected.DeadLetters {
		push("acme", "--user", fmt.Sprintf("broken-%d", i), "--id", fmt.Sprintf("fails-%d", i), "--title", "Never arrives", "--at", "now")
	}
}

// answers returns the JSON that a program has printed.
func (p programs) answers(t *testing.T, r result) map[string]any {
	t.Helper()
	require.Zero(t, r.status, r.stderr)
	var answer map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &answer), r.stdout)
	return answer
}

// run runs the stories.
func (plan *dashboardPlan) run(t *testing.T) {
	t.Helper()
	text, err := json.Marshal(plan)
	require.NoError(t, err)
	stories := exec.CommandContext(t.Context(), needProgram(t, "node"), "run.mjs", os.Getenv("SENDLIMIT_TEST_STORY"))
	stories.Dir, stories.WaitDelay = dashboardFolder, 10*time.Second
	stories.Env = append(os.Environ(), "SENDLIMIT_PLAN="+string(text))
	said, err := stories.CombinedOutput()
	require.NoError(t, err, string(said))
	t.Log(string(said))
}
