package api

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
)

// route is an operation of the API: its address, scope, documentation and handler. The rest of the
// documentation is derived from the handler's types. Each route for operators is in the audit log,
// unless it only reads.
type route struct {
	huma.Operation

	// scope is the scope that a key needs. "" is a page for everybody.
	scope accounts.Scope
	// says describes a success in the documentation.
	says string
	// refuses lists the statuses of refusals, beside the common ones and those of its inputs.
	refuses []int
	// makes is set if the status of a success is 201.
	makes bool
	// allows checks whether a caller with the scope may do this to the resource in the path. It may
	// be nil.
	allows func(*http.Request) error
	// once is set if a repeated request is done again. Such a route refuses an Idempotency-Key, on
	// which its caller must not rely.
	once bool
	// submits counts requests as submits of an account. Other requests count as reads or changes.
	submits bool
	// streams is set for a request that lasts as long as the client wants. It counts
	// towards Limits.Streams and sets its own deadlines.
	streams bool
	// attended is set for a stream that is useful only to its caller. It ends when the
	// client closes the connection or its half of it.
	attended bool
	// follows is set for a stream of events. It counts towards Limits.Followers instead of
	// Limits.Streams.
	follows bool
	// looks is set for a request that changes nothing, although it is not a GET.
	looks bool
	// reveals is set for a look at content, which is in the audit log as changes are.
	reveals bool
	// told is set for a change of a message, which is in the message's history and events.
	told bool
	// erases is set for a request after which no record may name the user.
	erases bool
	// monitors is set for a request that monitors this process. No limit counts it, and it is
	// answered while the store is away.
	monitors bool

	in      *inputs // nil for a page
	handle  http.HandlerFunc
	answers func() map[string]*huma.Response // documents its answers
}

// named returns the address and documentation of an operation.
func named(id, method, path, tag, summary, description string) huma.Operation {
	return huma.Operation{OperationID: id, Method: method, Path: path, Tags: []string{tag}, Summary: summary, Description: description}
}

// operation returns a route with a handler that does not know HTTP. ctx has the caller, see
// callerOf. See inputs for In; Out is the answer, or an answering.
func operation[In, Out any](s *server, rt route, do func(ctx context.Context, in In) (Out, error)) route {
	rt.answers = func() map[string]*huma.Response {
		if a, is := any(new(Out)).(answering); is {
			return a.document(s, rt)
		}
		return map[string]*huma.Response{strconv.Itoa(rt.success()): jsonResponse[Out](s, rt.says)}
	}
	in := inputsOf[In]()
	return rt.handled(s, in, func(w http.ResponseWriter, r *http.Request, q web.Query) error {
		var given In
		if err := in.into(s, &given, r, q); err != nil {
			return err
		}
		out, err := do(r.Context(), given)
		if err == nil {
			err = exchangeOf(r.Context()).unsealed
		}
		if err != nil {
			return err
		}
		a := web.Answer{Status: rt.success(), Body: &out}
		switch o := a.Body.(type) {
		case answering:
			if a = o.answer(); a.Location != "" {
				a.Location = s.BasePath + a.Location
			}
		case *message.Outcome:
			if o.Code != "" {
				return &refusal{*o}
			}
		}
		a.WriteUnlessKnown(w, r)
		return nil
	})
}

// stream returns a route that streams its answer while it works. answers documents the answer.
func stream[In any](
	s *server, rt route, answers func() map[string]*huma.Response, do func(w http.ResponseWriter, r *http.Request, in In),
) route {
	rt.streams, rt.answers = true, answers
	in := inputsOf[In]()
	return rt.handled(s, in, func(w http.ResponseWriter, r *http.Request, q web.Query) error {
		if in.json {
			_ = http.NewResponseController(w).SetReadDeadline(s.Now().Add(s.Limits.Timeout)) // there are none in some tests
		}
		var given In
		err := in.into(s, &given, r, q)
		if err == nil {
			do(w, r, given)
		}
		return err
	})
}

// documented returns the operation with the documentation of its inputs and answers.
func (rt route) documented(s *server) huma.Operation {
	rt.in.document(s)
	rt.Parameters, rt.RequestBody = rt.in.parameters, rt.in.body
	rt.Responses = s.problems(slices.Concat(commonProblems(), rt.in.problems, rt.refuses)...)
	if rt.in.versioned {
		addHeader(rt.Responses[strconv.Itoa(http.StatusPreconditionFailed)], "ETag", false) // if there is one
	}
	maps.Copy(rt.Responses, rt.answers())
	return rt.Operation
}

// handled returns the route with its handler. An error becomes a problem. Undocumented parameters
// are refused.
func (rt route) handled(s *server, in *inputs, do func(http.ResponseWriter, *http.Request, web.Query) error) route {
	rt.in = in
	parameters := in.parameterNames()
	rt.handle = func(w http.ResponseWriter, r *http.Request) {
		q, err := web.ParseQuery(r.URL.RawQuery, parameters)
		if err == nil {
			err = s.openCursors(r.Context(), q)
		}
		if err == nil && rt.once {
			err = refuseIdempotencyKey(r.Header)
		}
		if err == nil {
			err = do(w, r, q)
		}
		if err != nil {
			s.writeError(w, r, err)
		}
	}
	return rt
}

func (rt route) success() int {
	if rt.makes {
		return http.StatusCreated
	}
	return http.StatusOK
}

// answering is an Out, by its pointer, with its own headers or status.
type answering interface {
	answer() web.Answer
	document(s *server, rt route) map[string]*huma.Response
}

// tagged is an answer with its version in the header ETag.
type tagged[T any] struct {
	value   T
	version string
}

func (t *tagged[T]) answer() web.Answer {
	return web.Answer{Status: http.StatusOK, Header: web.ETag(t.version), Body: &t.value}
}

func (t *tagged[T]) document(s *server, rt route) map[string]*huma.Response {
	answer := jsonResponse[T](s, rt.says)
	answer.Headers = headers(web.RequestIDHeader, "ETag")
	all := map[string]*huma.Response{strconv.Itoa(http.StatusOK): answer}
	if rt.Method == http.MethodGet {
		all[strconv.Itoa(http.StatusNotModified)] = &huma.Response{
			Description: "It is still at the version that If-None-Match names.", Headers: headers(web.RequestIDHeader, "ETag"),
		}
	}
	return all
}
