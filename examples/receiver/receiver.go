package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// maxBody is the largest size of a request, in bytes. No message is larger.
const maxBody = 64 << 10

// Receiver handles each message once: it writes a line to a journal. Create one with Open.
type Receiver struct {
	verifier *standardwebhooks.Webhook

	mu      sync.Mutex
	journal *os.File
	had     map[string]bool // ids of the messages in the journal
	size    int64           // of the journal, in bytes
}

// entry is a line of the journal. The id and the message are written together, so that a crash
// leaves both or neither. With a database, use one transaction and make the id a unique key.
type entry struct {
	ID      string          `json:"id"`
	Message json.RawMessage `json:"message"`
}

// Open opens a journal, which may have lines of an earlier run. secret is the worker's push_secret.
func Open(path, secret string) (*Receiver, error) {
	if secret == "" {
		return nil, errors.New("WEBHOOK_SECRET is required: the push_secret of the worker")
	}
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return nil, errors.New("WEBHOOK_SECRET is not whsec_ followed by base64")
	}
	journal, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	r := &Receiver{verifier: verifier, journal: journal, had: make(map[string]bool)}
	if err := r.read(); err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	return r, nil
}

// read loads the ids in the journal. It ignores a last line that a crash cut off: that message was
// not answered, and comes again.
func (r *Receiver) read() error {
	in := bufio.NewReader(r.journal)
	whole := int64(0)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		var e entry
		if err == nil {
			err = json.Unmarshal(line, &e)
		}
		if err != nil {
			return fmt.Errorf("read the journal: %w", err)
		}
		r.had[e.ID] = true
		whole += int64(len(line))
	}
	r.size = whole
	return r.cut()
}

// cut removes the data after the last whole line.
func (r *Receiver) cut() error {
	if err := r.journal.Truncate(r.size); err != nil {
		return fmt.Errorf("cut the journal: %w", err)
	}
	return nil
}

// Close closes the journal.
func (r *Receiver) Close() error { return r.journal.Close() }

// ServeHTTP answers a worker:
//
//	204  the message is handled, now or before
//	400  the body is not a message: the worker gives it up
//	401  the signature is wrong: the worker keeps all messages until the secret is corrected
//	500  it can't be handled now: the worker tries again
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxBody))
	if err != nil {
		http.Error(w, "the body did not arrive, or is too large", http.StatusBadRequest)
		return
	}
	// The timestamp is verified, too: it is at most five minutes away.
	if err := r.verifier.Verify(body, request.Header); err != nil {
		http.Error(w, "the signature is wrong", http.StatusUnauthorized)
		return
	}
	if !json.Valid(body) {
		http.Error(w, "the body is no JSON", http.StatusBadRequest)
		return
	}
	if err := r.handle(entry{ID: request.Header.Get(standardwebhooks.HeaderWebhookID), Message: body}); err != nil {
		http.Error(w, "try again", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// handle writes a message to the journal, unless it is already there.
func (r *Receiver) handle(e entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.had[e.ID] {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	line = append(line, '\n')
	_, err = r.journal.Write(line)
	if err == nil {
		err = r.journal.Sync()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the journal: %w", err), r.cut())
	}
	r.size += int64(len(line))
	r.had[e.ID] = true
	return nil
}
