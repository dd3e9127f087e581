package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/bulk"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// ndjson is a JSON value a line, in a batch and in its answer.
const ndjson = "application/x-ndjson"

// What a batch has in hand at most, so that some 10 MB are enough for it.
const (
	batchLanes  = 16
	batchWindow = 1024
)

// lingerWithin is how long what a client still sends is taken, after the last
// line of an answer that came early: a connection that is closed over unread
// data may lose what the client has not read.
const lingerWithin = time.Second

var errStopping = errors.New("this server stops")

func (s *server) batchRoute() route {
	all := s.problems(http.StatusBadRequest, http.StatusRequestTimeout, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity)
	all[strconv.Itoa(http.StatusOK)] = &huma.Response{
		Description: "The outcome of each line, in their order, as a JSON object a line; `line` is its number from 1. " +
			"One whose outcome is `error` is the last, and was not judged: go on with its line.",
		Headers: headers(web.RequestIDHeader),
		Content: map[string]*huma.MediaType{ndjson: {Schema: schemaOf[message.Outcome](s)}},
	}
	return route{
		Operation: huma.Operation{
			OperationID: "submitBatch", Method: http.MethodPost, Path: "/v1/messages/batch", Tags: []string{"messages"},
			Summary: "Submit many messages",
			Description: "Takes any number of messages, a JSON object a line (NDJSON), and answers with the outcome of each while " +
				"it still reads. A user's messages are judged in the order of the lines. A line that is no message is answered as " +
				"`invalid`, and the rest go on; blank lines are passed over. The answers have to be read while lines are " +
				"sent, or no more lines are read: a client that takes no answers, or sends no whole line, for 30 seconds is cut off. " +
				"Where messages have ids, the same batch can be sent again, and each message is accepted once. " +
				"An account's batch counts as one of its requests, and each line is charged as one message: a line beyond the quota is " +
				"refused with quota_exceeded, and the rest go on.",
			RequestBody: &huma.RequestBody{
				Required: true, Content: map[string]*huma.MediaType{ndjson: {Schema: schemaOf[message.Draft](s)}},
			},
			Responses: all,
		},
		scope: accounts.ScopeSubmit, handle: s.submitBatch, limited: true, streams: true,
	}
}

// submitBatch submits the messages of a request, a line each, and answers with a
// line for each in their order, while the request is still being read. A client
// that does not read its answers is not read from either.
//
// What the batch is for is known to its connection alone, so it goes on when the
// request's context ends: that a client has closed its half of the connection,
// as one may that has sent everything, ends the context too. One that has gone
// away can be neither read from nor written to.
func (s *server) submitBatch(w http.ResponseWriter, r *http.Request) {
	_, err := web.ParseQuery(r.URL.RawQuery, nil)
	if err == nil {
		err = web.CheckMediaType(r, ndjson)
	}
	if err != nil {
		s.writeError(w, r, err)
		return
	}
	control := http.NewResponseController(w)
	// The one writer that has no such mode is HTTP/2's, which needs none.
	_ = control.EnableFullDuplex()
	// The rest of a request that was not read to its end must not be taken for
	// the next one.
	w.Header().Set("Connection", "close")

	lines := newLines(r.Body, control, s.now, s.limits.Timeout)
	answers := newAnswers(w, control, s.now, s.limits.Timeout)
	ctx, stop := context.WithCancelCause(context.WithoutCancel(r.Context()))
	watched := s.endWhenStopping(ctx, stop, answers)
	err = bulk.Run(ctx, lines.next, s.judgeLine, answers, bulk.Options{Lanes: batchLanes, Window: batchWindow})
	if errors.Is(err, context.Canceled) {
		err = errors.Join(err, context.Cause(ctx))
	}
	stop(nil)
	watched()
	s.endBatch(w, r, lines, answers, err)
}

// endWhenStopping ends a stream when the server is about to end. The function
// returned waits until nothing watches for that any more, once ctx has ended.
func (s *server) endWhenStopping(ctx context.Context, stop context.CancelCauseFunc, answers *answers) func() {
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-s.stopping:
			stop(errStopping)
			answers.hurry()
		case <-ctx.Done():
		}
	})
	return watching.Wait
}

// judgeLine submits a message. It runs in goroutines of the batch, whose panic
// nobody else would catch.
func (s *server) judgeLine(ctx context.Context, m message.Message) (o message.Outcome, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
		}
	}()
	if o, err = s.charging(ctx).Submit(ctx, m); err != nil {
		return message.Outcome{}, err
	}
	return s.concealed(ctx, o)
}

// endBatch says why not every line was judged, if so: in a last line, or in the
// status where none was answered yet.
func (s *server) endBatch(w http.ResponseWriter, r *http.Request, lines *lines, answers *answers, err error) {
	stopped, early := errors.AsType[*bulk.StoppedError](err)
	_, gone := errors.AsType[*answerError](err)
	switch {
	case !early:
		answers.end()
		return
	case gone:
		lines.end(0)
		return
	}
	status, last := s.whyStopped(r.Context(), stopped, err)
	if answers.begun() {
		_ = answers.Emit(last) // who has gone away is told nothing more
		_ = answers.Flush()
	} else {
		web.WriteProblemStatus(w, status, last)
		_ = http.NewResponseController(w).Flush()
	}
	lines.end(lingerWithin)
}

// whyStopped is the outcome that a batch ends with early, and its HTTP status.
func (s *server) whyStopped(ctx context.Context, stopped *bulk.StoppedError, err error) (int, message.Outcome) {
	status, o := http.StatusServiceUnavailable, message.Outcome{Code: fault.CodeUnavailable}
	broken, unreadable := errors.AsType[*bodyError](err)
	switch {
	case errors.Is(err, errStopping):
		o.Detail = errStopping.Error()
	case unreadable && errors.Is(broken.cause, os.ErrDeadlineExceeded):
		status = http.StatusRequestTimeout
		o.Detail = fmt.Sprintf("no whole line came within %s", s.limits.Timeout)
	case unreadable:
		p := web.BadRequest(http.StatusBadRequest, "body", "", "to come whole ("+broken.cause.Error()+")")
		status, o = p.Status, p.Outcome
	default:
		o = s.outcomeOf(ctx, stopped.Err)
		status = web.KindOf(o.Code).Status
	}
	// Whatever the code: this is no line's own outcome.
	o.Outcome, o.Line = message.Errored, stopped.Line
	o.Detail += fmt.Sprintf(": go on with line %d", stopped.Line)
	return status, o
}
