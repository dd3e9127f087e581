package api

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Problem is the body of every answer that is not a success, as RFC 9457 has
// it: its own members, and beside them those of the outcome, which also has the
// detail.
type Problem struct {
	Type     string `json:"type" doc:"Names the kind of problem, by its code: /problems/send_limit."`
	Title    string `json:"title" doc:"The kind of problem in a few words."`
	Status   int    `json:"status" doc:"The HTTP status."`
	Instance string `json:"instance,omitempty" doc:"The request's id, as X-Request-Id has it."`
	message.Outcome
}

const problemType = "application/problem+json"

// WriteProblem answers a request with an outcome that is not a success, with
// the HTTP status of its code. For 429 and 503 it sets a Retry-After of a second
// where there is none.
func WriteProblem(w http.ResponseWriter, r *http.Request, o message.Outcome) {
	writeProblem(w, r, kindOf(o.Code).status, o)
}

// writeProblem answers with a status that is not that of the outcome's code: of
// a request that already HTTP has a word for.
func writeProblem(w http.ResponseWriter, r *http.Request, status int, o message.Outcome) {
	h := w.Header()
	retry := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
	if retry && h.Get("Retry-After") == "" {
		h.Set("Retry-After", "1")
	}
	writeJSON(w, problemType, status, Problem{
		Type: "/problems/" + string(o.Code), Title: kindOf(o.Code).title, Status: status,
		Instance: requestID(r.Context()), Outcome: o,
	})
}

// writeError answers with what an error means to the caller: no more than its
// code says of an error that has none, which goes to the log.
func (s *server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	if p, ok := errors.AsType[*httpError](err); ok {
		maps.Copy(w.Header(), p.header)
		writeProblem(w, r, p.status, p.outcome)
		return
	}
	o := s.outcomeOf(r.Context(), err)
	if o.Code == fault.CodeQuotaExceeded {
		// Until the hour or day has ended nothing changes by waiting, be it the
		// present one or one to come.
		wait := time.Duration(o.RetryAfterSeconds) * time.Second
		w.Header().Set("Retry-After", retryAfter(cmp.Or(wait, o.ResetsAt.Sub(s.now()))))
	}
	WriteProblem(w, r, o)
}

// outcomeOf makes an outcome of an error, as the other surfaces do, but one
// that has a code in any case.
func (s *server) outcomeOf(ctx context.Context, err error) message.Outcome {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return refused.outcome
	}
	if missing, ok := errors.AsType[*fault.NoSuchError](err); ok {
		return message.Outcome{Outcome: message.Refused, Code: missing.Code(), Field: missing.What, Detail: missing.Error()}
	}
	o := message.OutcomeOf(err)
	if o.Code != "" {
		return o
	}
	var refused interface {
		error
		Code() fault.Code
	}
	switch {
	case errors.As(err, &refused):
		return message.Outcome{Outcome: message.Refused, Code: refused.Code(), Detail: refused.Error()}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return message.Outcome{
			Outcome: message.Errored, Code: fault.CodeUnavailable,
			Detail: "there was no answer in time: the same request with the same id can be sent again",
		}
	default:
		s.logger.ErrorContext(ctx, "a request failed unexpectedly", "error", err, "request_id", requestID(ctx))
		return internalError()
	}
}

func internalError() message.Outcome {
	return message.Outcome{
		Outcome: message.Errored, Code: fault.CodeInternal,
		Detail: "something went wrong here, and not in the request: the log has more under the request's id",
	}
}

// refusal is an outcome that is not a success, on its way to the caller.
type refusal struct{ outcome message.Outcome }

func (r *refusal) Error() string { return r.outcome.Detail }

// unlessRefused returns an outcome that is a success, and others as an error.
func unlessRefused(o message.Outcome, err error) (message.Outcome, error) {
	if err != nil {
		return message.Outcome{}, err
	}
	if o.Code != "" {
		return message.Outcome{}, &refusal{o}
	}
	return o, nil
}

// httpError is what is wrong with a request before it comes to the operation:
// HTTP has a status for it.
type httpError struct {
	status  int
	header  http.Header
	outcome message.Outcome
}

func (e *httpError) Error() string { return e.outcome.Detail }

// badRequest is an httpError about a part of the request, which is named as a
// field.
func badRequest(status int, field, value, want string) *httpError {
	wrong := &fault.InvalidError{Field: field, Value: value, Want: want}
	return &httpError{status: status, outcome: message.OutcomeOf(wrong)}
}

// clip keeps a sentence readable when what is quoted in it is not.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
