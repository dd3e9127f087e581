package integration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks/message"
)

// crashEvent is a line of a journal that several processes write. Each line is one
// append, which survives the process: only a crash of the machine could lose it.
type crashEvent struct {
	At      time.Time `json:"at"`
	Process string    `json:"process"` // "worker 2"
	Event   string    `json:"event"`

	Call  string      `json:"call,omitempty"`  // for called
	Point *crashPoint `json:"point,omitempty"` // for died

	User  string `json:"user,omitempty"` // "" for a notice
	ID    string `json:"id,omitempty"`
	Nonce string `json:"nonce,omitempty"` // for claims and free

	Lane    int              `json:"lane,omitempty"` // for begins and ends
	Step    int              `json:"step,omitempty"`
	SendAt  time.Time        `json:"send_at,omitzero"` // for begins: the requested time
	Outcome *message.Outcome `json:"outcome,omitempty"`
	Detail  string           `json:"detail,omitempty"`
}

// The events. A message that a process claims and does not settle before it dies is in
// doubt: it may or may not have been delivered. A notice is in doubt only if the
// process has begun to send it.
const (
	eventCalled = "called" // a call, the first time a process makes it
	eventDied   = "died"   // a crash point is reached; nothing follows
	eventClaims = "claims" // is about to claim a message
	eventFree   = "free"   // has settled it, or did not get it
	eventTells  = "tells"  // is about to hand a claimed notice to the mail server
	eventDoubts = "doubts" // the provider did not answer, or another took the message over
	eventBegins = "begins" // a submitter is about to ask
	eventEnds   = "ends"   // and has its answer
	eventFails  = "fails"  // or an error: it may have been done
)

// crashJournal appends the events of one process.
type crashJournal struct {
	process string

	mu   sync.Mutex
	file *os.File
}

func openJournal(path, process string) (*crashJournal, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	return &crashJournal{process: process, file: file}, nil
}

// write panics if it fails: a journal with gaps proves nothing.
func (j *crashJournal) write(e crashEvent) {
	e.At, e.Process = time.Now(), j.process
	line, err := json.Marshal(e)
	if err == nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		_, err = j.file.Write(append(line, '\n'))
	}
	if err != nil {
		panic(err)
	}
}

// readJournal reads what has been written so far. It leaves out a line without its end,
// which is still being written.
func readJournal(t *testing.T, path string) []crashEvent {
	t.Helper()
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	var events []crashEvent
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var e crashEvent
		require.NoError(t, json.Unmarshal(line, &e), "%s", line)
		events = append(events, e)
	}
	return events
}

// messageName identifies a message; a notice, which has no user, has only the id.
type messageName struct{ user, id string }

// doubts counts for each message and notice how many deliveries are in doubt.
func doubts(events []crashEvent) map[messageName]int {
	type hand struct {
		messageName

		process, nonce string
	}
	claimed := make(map[hand]bool) // true if it may have been delivered
	count := make(map[messageName]int)
	for _, e := range events {
		name := messageName{e.User, e.ID}
		switch e.Event {
		case eventClaims:
			claimed[hand{name, e.Process, e.Nonce}] = e.User != ""
		case eventTells:
			for h := range claimed {
				claimed[h] = claimed[h] || h.messageName == name && h.process == e.Process
			}
		case eventFree:
			delete(claimed, hand{name, e.Process, e.Nonce})
		case eventDoubts:
			count[name]++
		}
	}
	for h, out := range claimed {
		if out {
			count[h.messageName]++
		}
	}
	return count
}
