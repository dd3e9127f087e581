package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Limits bound what callers can use. Zero means the default.
type Limits struct {
	Body     int64         // bytes of a request's body, except a batch's
	InFlight int           // requests at a time, except streams
	Streams  int           // streams at a time: batches, previews and refits
	Timeout  time.Duration // to read a request and to answer it, except streams
}

// The default limits.
const (
	DefaultBody     = 64 << 10
	DefaultInFlight = 256
	DefaultStreams  = 16
	DefaultTimeout  = 30 * time.Second
)

func (l Limits) withDefaults() (Limits, error) {
	for _, limit := range []struct {
		field string
		value int64
	}{
		{"body", l.Body},
		{"in_flight", int64(l.InFlight)},
		{"streams", int64(l.Streams)},
		{"timeout", int64(l.Timeout)},
	} {
		if limit.value < 0 {
			return Limits{}, &fault.InvalidError{
				Field: limit.field, Value: strconv.FormatInt(limit.value, 10), Want: "1 or more, or 0 for the default",
			}
		}
	}
	if l.Body == 0 {
		l.Body = DefaultBody
	}
	if l.InFlight == 0 {
		l.InFlight = DefaultInFlight
	}
	if l.Streams == 0 {
		l.Streams = DefaultStreams
	}
	if l.Timeout == 0 {
		l.Timeout = DefaultTimeout
	}
	return l, nil
}

// bodies returns the limits of a request's body.
func (s *server) bodies() web.BodyLimits {
	return web.BodyLimits{Bytes: s.limits.Body, Time: s.limits.Timeout}
}

// semaphore bounds how much runs at a time. Nil is no bound.
type semaphore chan struct{}

// try takes a place if one is free.
func (s semaphore) try() bool {
	if s == nil {
		return true
	}
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s semaphore) release() {
	if s != nil {
		<-s
	}
}

// bounded returns a handler that limits how many requests a route answers at a time, and
// for how long.
func (s *server) bounded(rt route) http.HandlerFunc {
	places, what := s.requests, "requests"
	switch {
	case rt.streams:
		places, what = s.streams, "batches"
	case rt.monitors:
		places = nil
	}
	pattern := rt.Method + " " + rt.Path
	return func(w http.ResponseWriter, r *http.Request) {
		exchangeOf(r.Context()).route = pattern
		if !places.try() {
			web.WriteProblem(w, message.Outcome{
				Outcome: message.Errored, Code: fault.CodeUnavailable,
				Detail: fmt.Sprintf("%d %s are being answered, and no more are at a time: try again in a moment", cap(places), what),
			})
			return
		}
		defer places.release()
		if rt.attended {
			rt.handle(w, r)
			return
		}
		if rt.streams {
			rt.handle(w, r.WithContext(context.WithoutCancel(r.Context())))
			return
		}
		deadline := s.now().Add(s.limits.Timeout)
		control := http.NewResponseController(w)
		// Some connections of tests have no deadlines.
		_ = control.SetReadDeadline(deadline)
		// Leave time to answer a request that ran into the first deadline.
		_ = control.SetWriteDeadline(deadline.Add(lastAnswerWithin))
		// A client may close its half of the connection after its request. That would
		// end the context, but the client still waits for its answer.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), s.limits.Timeout)
		defer cancel()
		rt.handle(w, r.WithContext(ctx))
	}
}

// lastAnswerWithin is how long an answer may take after its request timed out.
const lastAnswerWithin = 5 * time.Second
