package api

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Problem is the body of every answer that is not a success.
type Problem = web.Problem

// WriteProblem answers with an outcome that is not a success and with the HTTP status of
// its code. For 408, 429 and 503 it sets Retry-After to one second if it is not set.
func WriteProblem(w http.ResponseWriter, o message.Outcome) { web.WriteProblem(w, o) }

// WriteJSON answers with a status and a value that can be encoded.
func WriteJSON(w http.ResponseWriter, status int, value any) {
	web.WriteJSON(w, "application/json", status, value)
}

// writeError answers with an error. An error without a code is logged, and the caller gets no
// details.
func (s *server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	e := exchangeOf(r.Context())
	if p, ok := errors.AsType[*web.Error](err); ok {
		e.failed = &p.Outcome
		maps.Copy(w.Header(), p.Header)
		web.WriteProblemStatus(w, p.Status, p.Outcome)
		return
	}
	o := s.outcomeOf(r.Context(), err)
	e.failed = &o
	if o.Code == fault.CodeQuotaExceeded {
		s.writeQuotaExceeded(w, o)
		return
	}
	if o.Code == fault.CodeRateLimited && o.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", retryAfter(time.Duration(o.RetryAfterSeconds)*time.Second))
	}
	web.WriteProblem(w, o)
}

// longestWait is the longest Retry-After for a quota.
const longestWait = time.Hour

// writeQuotaExceeded answers that the quota of an hour or a day is used up. If that period ends
// soon, the answer is 429 with Retry-After. Otherwise it is 409, like other refusals of a send
// time: a client that waits could wait for months.
func (s *server) writeQuotaExceeded(w http.ResponseWriter, o message.Outcome) {
	wait := cmp.Or(time.Duration(o.RetryAfterSeconds)*time.Second, o.ResetsAt.Sub(s.Now()))
	if wait > longestWait {
		web.WriteProblemStatus(w, http.StatusConflict, o)
		return
	}
	w.Header().Set("Retry-After", retryAfter(wait))
	web.WriteProblem(w, o)
}

// outcomeOf returns the outcome of an error, which always has a code. Only operators see the
// address of a store that is away.
func (s *server) outcomeOf(ctx context.Context, err error) message.Outcome {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return refused.outcome
	}
	if missing, ok := errors.AsType[*fault.NoSuchError](err); ok {
		return message.Outcome{Outcome: message.Refused, Code: missing.Code(), Field: missing.What, Detail: missing.Error()}
	}
	o := message.OutcomeOf(err)
	if away, ok := errors.AsType[*fault.UnavailableError](err); ok && callerOf(ctx).confined() {
		if o.Detail = away.Public(); o.Detail != away.Detail {
			s.Logger.DebugContext(ctx, "the store does not answer", "error", err)
		}
	}
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
			Detail: "no answer in time: send the request again with the same id",
		}
	case callerOf(ctx).hand && callerOf(ctx).keyless: // who can reach the store, and has no log
		return message.Outcome{Outcome: message.Errored, Code: fault.CodeInternal, Detail: err.Error()}
	default:
		s.Logger.ErrorContext(ctx, "a request failed unexpectedly", "error", err)
		return internalError()
	}
}

// StatusOf returns the usual HTTP status of a code.
func StatusOf(code fault.Code) int { return web.KindOf(code).Status }

func internalError() message.Outcome {
	return message.Outcome{
		Outcome: message.Errored, Code: fault.CodeInternal,
		Detail: "internal error: see the log under the id of the request",
	}
}

// refusal is returned for an outcome that is not a success.
type refusal struct{ outcome message.Outcome }

func (r *refusal) Error() string { return r.outcome.Detail }

// Code returns the outcome's code.
func (r *refusal) Code() fault.Code { return r.outcome.Code }

// unlessRefused returns an outcome that is a success, and every other one as an error.
func unlessRefused(o message.Outcome, err error) (message.Outcome, error) {
	if err != nil {
		return message.Outcome{}, err
	}
	if o.Code != "" {
		return message.Outcome{}, &refusal{o}
	}
	return o, nil
}
