package integration_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
)

// orderReminder is the running example examples/order-reminder.
type orderReminder struct {
	url     string
	command *exec.Cmd
	said    output.Buffer
}

func startOrderReminder(t *testing.T, p programs, key string, args ...string) *orderReminder {
	t.Helper()
	o := &orderReminder{}
	o.command = exec.CommandContext(t.Context(), filepath.Join(p.folder, "order-reminder"), append([]string{"-listen", "127.0.0.1:0"}, args...)...)
	o.command.Env = []string{"API_KEY=" + key}
	o.command.Stdout, o.command.Stderr = &o.said, &o.said
	require.NoError(t, o.command.Start())
	require.Eventually(t, func() bool {
		_, rest, found := strings.Cut(o.said.String(), "listening on ")
		o.url, _, _ = strings.Cut(rest, "\n")
		return found && strings.Contains(rest, "\n")
	}, time.Minute, 10*time.Millisecond)
	return o
}

// ask sends a request to the shop, and returns its answer.
func (o *orderReminder) ask(t *testing.T, method, path string, body map[string]any) (status int, answer map[string]any) {
	t.Helper()
	encoded, err := json.Marshal(body)
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), method, o.url+path, bytes.NewReader(encoded))
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	}
	return response.StatusCode, answer
}

// The shop of the example schedules, refuses, shifts, moves and cancels reminders with a key of
// its account, and hears of a delivery.
func TestOrderReminder(t *testing.T) {
	t.Parallel()
	p := pagesPrograms(t)
	settings := filepath.Join(t.TempDir(), "sendlimit.yaml")
	require.NoError(t, os.WriteFile(settings, []byte("accounts: {operator: {keys: [{scopes: [admin], key_sha256: "+
		"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae}]}}\n"), 0o600)) // of foo
	worker := p.worker(t, nil, "--require-keys", "--config", settings)
	worker.delivers(t)
	made := p.command(t, "sendlimit-worker", append(worker.environ(t), "SENDLIMIT_API_KEY=foo"), []string{"account", "create", "shop", "--json"})
	require.Zero(t, made.status, made.stderr)
	var account struct {
		Key string `json:"key"`
	}
	require.NoError(t, json.Unmarshal([]byte(made.stdout), &account))
	require.NotEmpty(t, account.Key)
	shop := startOrderReminder(t, p, account.Key, "-api", "http://"+worker.apiAddress(t), "-before", "1m")
	reminder := func(answer map[string]any) map[string]any {
		t.Helper()
		r, ok := answer["reminder"].(map[string]any)
		require.True(t, ok, "%v", answer)
		return r
	}

	noon := time.Now().UTC().AddDate(0, 0, 2).Truncate(24 * time.Hour).Add(12 * time.Hour)
	at := func(after time.Duration) string { return noon.Add(after).Format(time.RFC3339) }
	status, _ := shop.ask(t, http.MethodPost, "/orders", map[string]any{"id": "o1", "customer": "alice", "pick_up_at": at(time.Minute)})
	require.Equal(t, http.StatusCreated, status)
	status, answer := shop.ask(t, http.MethodPost, "/orders", map[string]any{"id": "o2", "customer": "alice", "pick_up_at": at(90 * time.Second)})
	require.Equal(t, http.StatusCreated, status, "an order whose reminder is refused is an order all the same")
	require.Equal(t, "refused", reminder(answer)["status"])
	require.Equal(t, at(time.Minute), reminder(answer)["next_free_at"])

	status, answer = shop.ask(t, http.MethodPatch, "/orders/o2", map[string]any{"pick_up_at": at(90 * time.Second), "shift": true})
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, at(time.Minute), reminder(answer)["send_at"])
	status, answer = shop.ask(t, http.MethodPatch, "/orders/o1", map[string]any{"pick_up_at": at(2*time.Minute + time.Second)})
	require.Equal(t, http.StatusConflict, status, "%v", answer)
	require.NotEmpty(t, answer["next_free_at"])
	status, answer = shop.ask(t, http.MethodPatch, "/orders/o1", map[string]any{"pick_up_at": at(time.Hour)})
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, at(59*time.Minute), reminder(answer)["send_at"])

	for range 2 {
		status, _ = shop.ask(t, http.MethodDelete, "/orders/o1", nil)
		require.Equal(t, http.StatusNoContent, status)
	}
	status, _ = shop.ask(t, http.MethodGet, "/orders/o1", nil)
	require.Equal(t, http.StatusNotFound, status)
	status, _ = shop.ask(t, http.MethodPost, "/orders", map[string]any{"id": "o3", "customer": "bob", "pick_up_at": "2020-01-01T00:00:00Z"})
	require.Equal(t, http.StatusUnprocessableEntity, status)

	soon := time.Now().Add(time.Minute + 2500*time.Millisecond).UTC().Format(time.RFC3339Nano)
	status, _ = shop.ask(t, http.MethodPost, "/orders", map[string]any{"id": "o4", "customer": "bob", "pick_up_at": soon})
	require.Equal(t, http.StatusCreated, status)
	require.Eventually(t, func() bool {
		return strings.Contains(shop.said.String(), "the reminder of o4 was delivered")
	}, time.Minute, 20*time.Millisecond)
	_, answer = shop.ask(t, http.MethodGet, "/orders/o4", nil)
	require.Equal(t, "delivered", reminder(answer)["status"])

	worker.signal(t, os.Kill)
	<-worker.ended
	require.NoError(t, shop.command.Process.Signal(syscall.SIGTERM))
	require.NoError(t, shop.command.Wait(), "%s", &shop.said)
}
