package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// progressEvery is the least time between two progress lines.
const progressEvery = time.Second

// lines documents an answer of lines of these kinds.
func (s *server) lines(kinds ...func(*server) *huma.Schema) func() map[string]*huma.Response {
	return s.linesOf("One JSON object a line; `outcome` is its kind.", func(s *server) *huma.Schema {
		var each []*huma.Schema
		for _, kind := range append(kinds, schemaOf[message.Outcome]) {
			each = append(each, kind(s))
		}
		return &huma.Schema{AnyOf: each}
	})
}

// linesOf documents an answer of lines with a schema.
func (s *server) linesOf(description string, schema func(*server) *huma.Schema) func() map[string]*huma.Response {
	return func() map[string]*huma.Response {
		return map[string]*huma.Response{strconv.Itoa(http.StatusOK): {
			Description: description, Headers: headers(web.RequestIDHeader), Content: map[string]*huma.MediaType{ndjson: {Schema: schema(s)}},
		}}
	}
}

// lineAnswer is an answer whose lines are written while the work for it runs.
type lineAnswer struct {
	*answers

	stop context.CancelCauseFunc // ends the work
	told time.Time               // when progress was last told
}

// progress writes the added lines and the progress, at most once a second.
func (a *lineAnswer) progress(line any) error {
	now := a.now()
	if now.Sub(a.told) < progressEvery {
		return nil
	}
	a.told = now
	return errors.Join(a.line(line), a.Flush())
}

// send writes the lines that were added. If adding them failed with err, or writing fails, it ends
// the work, since the client is gone.
func (a *lineAnswer) send(err error) {
	if err = errors.Join(err, a.Flush()); err != nil {
		a.stop(err)
	}
}

// answerLines answers with the lines of some work while it runs, if it gets a turn. Work returns
// the last line, nil for none. If it stops early, the outcome of its error follows that line.
func (s *server) answerLines(
	w http.ResponseWriter, r *http.Request, kind *slots, work func(context.Context, *lineAnswer) (last any, err error),
) {
	who := callerOf(r.Context()).holder()
	if err := kind.take(who); err != nil {
		s.writeError(w, r, err)
		return
	}
	defer kind.leave(who)
	ctx, stop := context.WithCancelCause(r.Context())
	out := &lineAnswer{answers: s.newAnswers(w, ndjson), stop: stop}
	// The request was read. A read deadline that passes would look like the end of the connection.
	_ = out.control.SetReadDeadline(time.Time{})
	watched := s.endEarly(ctx, stop, out.hurry)
	last, err := work(ctx, out)
	if err != nil {
		err = errors.Join(err, context.Cause(ctx))
	}
	stop(nil)
	watched()
	s.endLines(w, r, out.answers, last, err)
}

// endLines ends an answer with the last line, nil for none. If the work stopped early, it also
// reports why: in one more line, or in the status if there is no line yet.
func (s *server) endLines(w http.ResponseWriter, r *http.Request, out *answers, last any, err error) {
	if _, gone := errors.AsType[*answerError](err); gone || r.Context().Err() != nil {
		exchangeOf(r.Context()).failed = &message.Outcome{Outcome: message.Errored, Code: fault.CodeUnavailable, Detail: "the client disconnected before the end"}
		return
	}
	if errors.Is(err, errStopping) {
		err = &fault.UnavailableError{Detail: errStopping.Error()}
	}
	if err != nil && !out.begun() {
		s.writeError(w, r, err)
		return
	}
	// A client that is gone needs no answer.
	if last != nil {
		_ = out.line(last)
	}
	if err != nil {
		why := s.outcomeOf(r.Context(), err)
		if ended, is := errors.AsType[*web.Error](err); is {
			why = ended.Outcome
		}
		why.Outcome = message.Errored
		exchangeOf(r.Context()).failed = &why
		_ = out.line(why)
	}
	_ = out.Flush()
}
