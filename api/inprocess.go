package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/records/accounts"
)

// Hand is a person who sends requests within this process, and needs no key. All changes of a Hand
// are in the audit log.
type Hand struct {
	// Identity is the login; the zero value for an operator.
	Identity accounts.Identity
	// Operator has all scopes, and no limit of requests. It is for people who can reach the store,
	// or the dashboard of a server that requires no keys.
	Operator bool
	// By is an operator's name in the audit log and in versions of policies.
	By string
	// Account is charged for an operator's submits. If it is set, only its messages can be reached.
	Account string
	// Address is the client's address, for the audit log and for counts of failed logins; "" for
	// this machine.
	Address string
	// Note is for the audit log, if the request does not say what is done.
	Note string

	first *atomic.Bool // of a command, see caller
}

// As returns a context for requests of a Hand.
func As(ctx context.Context, who Hand) context.Context {
	c := caller{identity: who.Identity, keyless: who.Operator, hand: true, by: who.By, note: who.Note, first: who.first}
	if who.Operator {
		c.identity.Account.Name = who.Account
	}
	return context.WithValue(ctx, callerKey{}, c)
}

type callerKey struct{}

// InProcess is a transport for requests to an API in this process, without a connection. It streams
// answers. Its zero value is not usable.
type InProcess struct {
	api http.Handler
	who Hand
}

// NewInProcess returns a transport that sends the requests of a Hand to the API.
func NewInProcess(api http.Handler, who Hand) *InProcess {
	if who.By != "" {
		who.first = new(atomic.Bool)
	}
	return &InProcess{api: api, who: who}
}

// RoundTrip sends a request to the API, and returns when the answer has begun. Closing the answer's
// body ends the request, and waits for its end.
func (p *InProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(As(r.Context(), p.who))
	reading, writing := io.Pipe()
	a := &pipedAnswer{header: http.Header{}, begun: make(chan struct{}), body: writing}
	asked := r.Clone(ctx)
	if asked.Body == nil {
		asked.Body = http.NoBody
	}
	asked.Host, asked.RequestURI, asked.RemoteAddr = r.URL.Host, r.URL.RequestURI(), p.who.Address
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer cancel()
		broken := serve(p.api, a, asked)
		a.WriteHeader(http.StatusOK)
		_ = writing.CloseWithError(broken) // never fails; nil is the end of the body
		_ = asked.Body.Close()             // as every transport does
	}()
	body := &answerBody{reading, func() {
		cancel()
		_ = asked.Body.Close() // who reads it goes on
		<-ended
	}}
	select {
	case <-a.begun:
	case <-r.Context().Done():
	}
	if r.Context().Err() != nil { // also if the answer has begun: it may be that of a request that was given up
		_ = body.Close() // never fails
		return nil, fmt.Errorf("asking the API of this process: %w", context.Cause(r.Context()))
	}
	return &http.Response{
		Status: strconv.Itoa(a.status) + " " + http.StatusText(a.status), StatusCode: a.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.sent, Body: body, ContentLength: -1, Request: r,
	}, nil
}

// errCutOff is the end of an answer that broke off.
var errCutOff = fmt.Errorf("the answer was cut off: %w", io.ErrUnexpectedEOF)

// serve answers a request. It returns an error if the answer broke off.
func serve(api http.Handler, w http.ResponseWriter, r *http.Request) (broken error) {
	defer func() {
		if reason := recover(); reason != nil {
			if err, ok := reason.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
				panic(reason)
			}
			broken = errCutOff
		}
	}()
	api.ServeHTTP(w, r)
	return nil
}

// answerBody is the body of an answer. Closing it ends the request.
type answerBody struct {
	*io.PipeReader

	end func()
}

// Close ends the request.
func (b *answerBody) Close() error {
	defer b.end()
	return b.PipeReader.Close()
}

// pipedAnswer passes an answer on while it is written. It is an http.ResponseWriter.
type pipedAnswer struct {
	header, sent http.Header
	status       int
	begun        chan struct{} // closed when status and sent are known
	body         *io.PipeWriter
}

// Header returns the header of the answer.
func (a *pipedAnswer) Header() http.Header { return a.header }

// WriteHeader begins the answer.
func (a *pipedAnswer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK { // what comes before is only informational
		a.status, a.sent = status, a.header.Clone()
		close(a.begun)
	}
}

// Write passes on a part of the body.
func (a *pipedAnswer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

// Flush, SetReadDeadline, SetWriteDeadline and EnableFullDuplex are for streamed answers. There is
// no connection: each part is passed on at once.
func (a *pipedAnswer) Flush() { a.WriteHeader(http.StatusOK) }

// SetReadDeadline does nothing.
func (a *pipedAnswer) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (a *pipedAnswer) SetWriteDeadline(time.Time) error { return nil }

// EnableFullDuplex does nothing.
func (a *pipedAnswer) EnableFullDuplex() error { return nil }
