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

// Limits bound what callers can take up. The zero value of each means its
// default.
type Limits struct {
	Body     int64         // bytes of a request's body, a batch's apart; DefaultBody
	InFlight int           // requests answered at a time, batches apart; DefaultInFlight
	Streams  int           // batches answered at a time, and previews and refits; DefaultStreams
	Timeout  time.Duration // to read a request and to answer it, a batch apart; DefaultTimeout
}

// The limits where none are set.
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

// semaphore has as many places as can be held at a time; nil has no end of them.
type semaphore chan struct{}

// try takes a place, if one is free.
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

// bounded has a route answer as many requests at a time as the limits say, each
// for as long as they say.
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
		// Where the connection has no deadlines, as in some tests, there are none.
		_ = control.SetReadDeadline(deadline)
		// What ran into the first one is still to be told.
		_ = control.SetWriteDeadline(deadline.Add(lastAnswerWithin))
		// A client that has closed its half of the connection, as one may that has
		// sent everything, would end the context; it gets its answer all the same.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), s.limits.Timeout)
		defer cancel()
		rt.handle(w, r.WithContext(ctx))
	}
}

// lastAnswerWithin is how long an answer may take after its request ran out of
// time.
const lastAnswerWithin = 5 * time.Second
