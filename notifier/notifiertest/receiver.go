package notifiertest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
)

// Request is one request to a Receiver.
type Request struct {
	Arrived time.Time // when its headers were read
	Method  string
	URI     string // path and query
	Header  http.Header
	Body    []byte
}

// Payload decodes the body of a webhook.
func (r Request) Payload() (notifier.Payload, error) {
	var p notifier.Payload
	if err := json.Unmarshal(r.Body, &p); err != nil {
		return notifier.Payload{}, fmt.Errorf("decode the body of a webhook: %w", err)
	}
	return p, nil
}

// Answer is a Receiver's answer to one request.
type Answer struct {
	Status int // 200 to 999; zero means 200
	Header http.Header
	Body   string
	Delay  time.Duration // before the answer begins
}

// Receiver is the server of a webhook, on a free loopback port. Make one with NewReceiver,
// and Close it.
type Receiver struct {
	server   *httptest.Server
	now      func() time.Time
	requests *journal[Request]
	closed   chan struct{}
	close    sync.Once

	mu     sync.Mutex
	script []Answer
	answer func(Request) Answer
}

// NewReceiver starts a Receiver that gets times from now and answers 200.
func NewReceiver(now func() time.Time) *Receiver {
	r := &Receiver{now: now, requests: newJournal[Request](), closed: make(chan struct{})}
	r.server = httptest.NewServer(http.HandlerFunc(r.serve))
	return r
}

// URL returns the Receiver's address, without a path: "http://127.0.0.1:40123".
func (r *Receiver) URL() string { return r.server.URL }

// Close stops the server. Delayed requests get no answer.
func (r *Receiver) Close() {
	r.close.Do(func() {
		close(r.closed)
		r.server.Close()
	})
}

// Script adds answers for the next requests, in the order they arrive. They come after
// those already scripted and before AnswerWith.
func (r *Receiver) Script(answers ...Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.script = append(r.script, answers...)
}

// AnswerWith calls answer for every request without a scripted answer, concurrently. Nil
// answers 200.
func (r *Receiver) AnswerWith(answer func(Request) Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// Requests returns the requests so far, in the order they came.
func (r *Receiver) Requests() []Request { return r.requests.all() }

// Wait returns the requests so far once there are at least n. The error is ctx's, with the
// number that came.
func (r *Receiver) Wait(ctx context.Context, n int) ([]Request, error) {
	return r.requests.wait(ctx, n)
}

func (r *Receiver) serve(w http.ResponseWriter, req *http.Request) {
	arrived := r.now()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the sender hung up
	}
	request := Request{
		Arrived: arrived,
		Method:  req.Method,
		URI:     req.URL.RequestURI(),
		Header:  req.Header.Clone(),
		Body:    body,
	}
	r.requests.add(request)
	answer := r.next(request)
	if answer.Delay > 0 && !r.pause(req.Context(), answer.Delay) {
		// A return would answer 200.
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), answer.Header)
	if answer.Status != 0 {
		w.WriteHeader(answer.Status)
	}
	_, _ = io.WriteString(w, answer.Body) // a sender that hung up needs none
}

func (r *Receiver) next(request Request) Answer {
	r.mu.Lock()
	if len(r.script) > 0 {
		defer r.mu.Unlock()
		answer := r.script[0]
		r.script = r.script[1:]
		return answer
	}
	answer := r.answer
	r.mu.Unlock()
	if answer == nil {
		return Answer{}
	}
	return answer(request)
}

func (r *Receiver) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	case <-r.closed:
		return false
	}
}
