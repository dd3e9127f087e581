package serve

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"sync/atomic"
	"time"
)

// What answerFirst reads of a request after its answer, at most. It waits for the rest of an
// ordinary body for restWithin before the answer.
const (
	drainBytes  = 256 << 10
	drainWithin = 2 * time.Second
	restWithin  = 50 * time.Millisecond
)

// answerFirst sends the answer of a handler that has not read the whole request. The server would
// read the rest first, which takes as long as the client likes: a refused stream would get no
// answer.
//
// The rest is read afterwards, within bounds, because closing a connection with unread data may
// lose the answer. The connection is closed then, so that the rest is not taken for the next
// request. It stays open if the body has arrived completely, as most bodies have. Streams of HTTP/2
// end without all this.
func answerFirst(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor > 1 || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		body := &watchedBody{ReadCloser: r.Body}
		r.Body = body
		early := &earlyAnswer{ResponseWriter: w, body: body, later: comesLater(r)}
		next.ServeHTTP(early, r)
		early.finish()
	})
}

// comesLater reports whether a client sends the rest of a body only after it gets an answer: the
// lines of a batch, or a body with Expect.
func comesLater(r *http.Request) bool {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // "" is no batch
	return kind == "application/x-ndjson" || kind == "application/jsonl" || r.Header.Get("Expect") != ""
}

// watchedBody is a body that knows whether it was read completely.
type watchedBody struct {
	io.ReadCloser

	whole, broken atomic.Bool
}

// Read reads the body.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		b.whole.Store(true)
	case err != nil:
		b.broken.Store(true)
	}
	return n, err
}

// earlyAnswer writes an answer that does not wait for the rest of the request.
type earlyAnswer struct {
	http.ResponseWriter

	body    *watchedBody
	later   bool // see comesLater
	written bool
	rest    chan struct{} // closed once readRest reads no more; nil if it was not called
}

// WriteHeader ends the connection after this answer if the request is not read completely. Then the
// server sends the answer without reading.
func (a *earlyAnswer) WriteHeader(status int) {
	if !a.written && status >= http.StatusOK { // lower ones are only informational
		a.written = true
		if !a.body.whole.Load() && !a.readRest() {
			a.Header().Set("Connection", "close")
		}
	}
	a.ResponseWriter.WriteHeader(status)
}

// readRest reads the rest of an ordinary body, and reports whether it was complete. Few clients
// wait between the parts of a small body.
func (a *earlyAnswer) readRest() bool {
	if a.later || a.body.broken.Load() {
		return false
	}
	a.rest = make(chan struct{})
	go func() {
		defer close(a.rest)
		_, _ = io.CopyN(io.Discard, a.body, drainBytes)
	}()
	select {
	case <-a.rest:
	case <-time.After(restWithin):
	}
	return a.body.whole.Load()
}

// Write writes a part of the answer. It writes the status 200 if there was none.
func (a *earlyAnswer) Write(b []byte) (int, error) {
	if !a.written {
		a.WriteHeader(http.StatusOK)
	}
	return a.ResponseWriter.Write(b)
}

// Unwrap returns the writer for http.ResponseController.
func (a *earlyAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// finish sends the answer and then reads the rest of the request.
func (a *earlyAnswer) finish() {
	if a.body.whole.Load() {
		return
	}
	if !a.written {
		a.WriteHeader(http.StatusOK)
	}
	// Every connection of a server supports these, unless it is closed.
	control, now := http.NewResponseController(a.ResponseWriter), time.Now()
	_ = control.Flush()
	_ = control.SetReadDeadline(now.Add(drainWithin))
	if a.rest != nil {
		<-a.rest
	}
	if !a.body.broken.Load() {
		// At the limit, this reader makes the server close the connection gently.
		_, _ = io.Copy(io.Discard, http.MaxBytesReader(a.ResponseWriter, a.body, drainBytes))
	}
	// The server closes the body, and would continue to read.
	_ = control.SetReadDeadline(now)
}
