package web

import (
	"net/http"
	"slices"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Problem is the body of every answer that is not a success. It has the members of RFC
// 9457 and those of the outcome, which include the detail.
type Problem struct {
	Type     string `json:"type" doc:"Names the kind of problem, by its code: /problems/send_limit."`
	Title    string `json:"title" doc:"The kind of problem in a few words."`
	Status   int    `json:"status" doc:"The HTTP status."`
	Instance string `json:"instance,omitempty" doc:"The request's id, as X-Request-Id has it."`
	message.Outcome
}

// RequestIDHeader is the header with the id of a request, in requests and answers.
const RequestIDHeader = "X-Request-Id"

// ProblemType is the media type of a Problem.
const ProblemType = "application/problem+json"

// WriteProblem answers with an outcome that is not a success and with the HTTP status of
// its code. For 408, 429 and 503 it sets Retry-After to one second if it is not set.
func WriteProblem(w http.ResponseWriter, o message.Outcome) {
	WriteProblemStatus(w, KindOf(o.Code).Status, o)
}

// WriteProblemStatus is WriteProblem with another status than that of the outcome's code.
func WriteProblemStatus(w http.ResponseWriter, status int, o message.Outcome) {
	h := w.Header()
	again := []int{http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusServiceUnavailable}
	if slices.Contains(again, status) && h.Get("Retry-After") == "" {
		h.Set("Retry-After", "1")
	}
	WriteJSON(w, ProblemType, status, Problem{
		Type: "/problems/" + string(o.Code), Title: KindOf(o.Code).Title, Status: status,
		Instance: h.Get(RequestIDHeader), Outcome: o,
	})
}

// Error is returned for a wrong request for which HTTP has a special status.
type Error struct {
	Status  int
	Header  http.Header
	Outcome message.Outcome
}

// Error returns the detail of the outcome.
func (e *Error) Error() string { return e.Outcome.Detail }

// BadRequest returns an Error about a part of the request, which it names as a field.
func BadRequest(status int, field, value, want string) *Error {
	wrong := &fault.InvalidError{Field: field, Value: value, Want: want}
	return &Error{Status: status, Outcome: message.OutcomeOf(wrong)}
}

// Incomplete returns an Error about a body whose end is missing. next says what to do: "" or ":
// send it again".
func Incomplete(err error, next string) *Error {
	wrong := fault.Wrong("body", "the body ended too early (%s)%s", Cause(err), next)
	return &Error{Status: http.StatusBadRequest, Outcome: message.OutcomeOf(wrong)}
}
