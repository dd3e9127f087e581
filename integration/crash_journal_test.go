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

// crashEvent is a line of a journal that several processes write. Each line is
// one append, which outlives the process that made it: only a crash of the
// machine could lose it.
type crashEvent struct {
	At      time.Time `json:"at"`
	Process string    `json:"process"` // "worker 2"
	Event   string    `json:"event"`

	Call  string      `json:"call,omitempty"`  // of called
	Point *crashPoint `json:"point,omitempty"` // of died

	User  string `json:"user,omitempty"` // "" of a notice
	ID    string `json:"id,omitempty"`
	Nonce string `json:"nonce,omitempty"` // of claims, free

	Lane    int              `json:"lane,omitempty"` // of begins, ends
	Step    int              `json:"step,omitempty"`
	SendAt  time.Time        `json:"send_at,omitzero"` // of begins: what is asked for
	Outcome *message.Outcome `json:"outcome,omitempty"`
	Detail  string           `json:"detail,omitempty"`
}

// The events. What a process claims and does not give free before it dies is
// in doubt: nobody knows whether it was delivered. A notice is only once it is
// being told.
const (
	eventCalled = "called" // a call, the first time a process makes it
	eventDied   = "died"   // a crash point is reached; nothing follows
	eventClaims = "claims" // is about to claim a message
	eventFree   = "free"   // has settled it, or was not given it
	eventTells  = "tells"  // is about to hand a claimed notice to the mail server
	eventDoubts = "doubts" // the provider did not answer, or another took the message over
	eventBegins = "begins" // a submitter is about to ask
	eventEnds   = "ends"   // and has its answer
	eventFails  = "fails"  // or an error: it may have been done
)

// crashJournal appends events of one process.
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

// write panics where it can't: a journal with gaps proves nothing.
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

// readJournal reads what has been written so far: a line without its end is still
// being written.
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

// messageName is a message as processes speak of it; of a notice, which has no
// user, the id alone.
type messageName struct{ user, id string }

// doubts counts for each message and notice how often nobody knows whether it was
// delivered.
func doubts(events []crashEvent) map[messageName]int {
	type hand struct {
		messageName

		process, nonce string
	}
	claimed := make(map[hand]bool) // whether it may have gone out
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
