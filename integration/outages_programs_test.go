package integration_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks/message"
)

// enqueueUnavailable is the exit status of enqueue if there is no store.
const enqueueUnavailable = 5

// byProgram reports whether the program submits a planned message. It asks the relay to
// look after a message a minute after its time: a story in which the queue loses its keys
// does not wait for that.
func (p outagesPlan) byProgram(number int) bool {
	for _, a := range p.away {
		if a.what == queueLost {
			return false
		}
	}
	return number%5 == 0
}

// programLine spells a message as a line of a file to submit.
func programLine(m message.Message) map[string]string {
	line := map[string]string{
		"id": m.ID, "user": m.User, "title": m.Title, "on_conflict": "shift",
		"send_at": m.SendAt.Format(time.RFC3339Nano), "shift_until": m.ShiftUntil.Format(time.RFC3339Nano),
	}
	if m.Category != "" {
		line["category"] = m.Category
	}
	if !m.ExpiresAt.IsZero() {
		line["expires_at"] = m.ExpiresAt.Format(time.RFC3339Nano)
	}
	return line
}

// submitFile submits messages by one run of enqueue bulk, while nothing is away.
func (o *outages) submitFile(all []message.Message) {
	o.Helper()
	if len(all) == 0 {
		return
	}
	var text bytes.Buffer
	for _, m := range all {
		require.NoError(o, json.NewEncoder(&text).Encode(programLine(m)))
	}
	folder := o.TempDir()
	path, results := filepath.Join(folder, "messages.ndjson"), filepath.Join(folder, "results.ndjson")
	require.NoError(o, os.WriteFile(path, text.Bytes(), 0o600))
	told := o.programs.bulk(o.T, o.environ, path, "--results", results)
	outcomes, err := os.ReadFile(results)
	require.NoError(o, err)
	lines := strings.Split(strings.TrimSpace(string(outcomes)), "\n")
	require.Len(o, lines, len(all))
	accepted := 0
	for i, line := range lines {
		if o.told(all[i], line) {
			accepted++
		}
	}
	require.Equal(o, []int{len(all), accepted, len(all) - accepted}, []int{told.Lines, told.Accepted, told.Refused})
}

// push submits a message by enqueue push until there is an answer.
func (o *outages) push(m message.Message) {
	args := []string{"push", "--json"}
	for name, value := range programLine(m) {
		if name == "send_at" {
			name = "at"
		}
		args = append(args, "--"+strings.ReplaceAll(name, "_", "-"), value)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		done := o.programs.enqueue(o.T, o.environ, args...)
		if done.status != enqueueUnavailable {
			accepted := o.told(m, done.stdout)
			if want := map[bool]int{true: 0, false: 3}[accepted]; done.status != want {
				o.Errorf("pushing %s/%s: exit status %d: %s%s", m.User, m.ID, done.status, done.stdout, done.stderr)
			}
			return
		}
		if time.Now().After(end) {
			o.Errorf("pushing %s/%s: %s", m.User, m.ID, done.stdout+done.stderr)
			return
		}
	}
}

// told notes what the program said of a message: accepted or refused.
func (o *outages) told(m message.Message, line string) (accepted bool) {
	var outcome struct {
		Outcome string    `json:"outcome"`
		ID      string    `json:"id"`
		User    string    `json:"user"`
		SendAt  time.Time `json:"send_at"`
	}
	err := json.Unmarshal([]byte(line), &outcome)
	accepted = outcome.Outcome == message.Accepted
	if err != nil || outcome.ID != m.ID || outcome.User != m.User || !accepted && outcome.Outcome != message.Refused {
		o.Errorf("submitting %s/%s: %q, %v", m.User, m.ID, line, err)
		return false
	}
	if accepted {
		o.accept(promise{Message: m, at: outcome.SendAt}) // no story has the program and a queue that loses its keys
	}
	return accepted
}
