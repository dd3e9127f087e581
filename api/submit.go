package api

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

func (s *server) submitRoute() route {
	all := responses[message.Outcome](s, "Accepted before: the same request gets its first answer again.", bodyProblems(http.StatusConflict)...)
	accepted := jsonResponse[message.Outcome](s, "Accepted: the message is stored, and sent at send_at.")
	accepted.Headers = headers(web.RequestIDHeader, "Location")
	all[strconv.Itoa(http.StatusCreated)] = accepted
	return route{
		Operation: huma.Operation{
			OperationID: "submitMessage", Method: http.MethodPost, Path: "/v1/messages", Tags: []string{"messages"},
			Summary: "Submit a message",
			Description: "Accepts a message if its send time is free under the user's rules. An accepted message is sent even if this " +
				"server ends right after. With an id the request can be repeated, and the message is accepted once. Without an " +
				"id the server generates one.",
			Parameters:  []*huma.Param{idempotencyKeyParameter()},
			RequestBody: jsonBody[message.Draft](s),
			Responses:   all,
		},
		scope: accounts.ScopeSubmit, do: s.submit, submits: true, told: true,
	}
}

func (s *server) submit(r *http.Request, _ web.Query) (web.Answer, error) {
	o, err := s.judge(r, s.submitter.Submit)
	if err != nil {
		return web.Answer{}, err
	}
	if o.Replayed {
		return web.Done(o), nil
	}
	exchangeOf(r.Context()).Header().Set("Location", messagePath(o.User, o.ID))
	return web.Answer{Status: http.StatusCreated, Body: o}, nil
}

func (s *server) dryRunRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "checkMessage", Method: http.MethodPost, Path: "/v1/messages/dry-run", Tags: []string{"messages"},
			Summary:     "Check whether a message would be accepted",
			Description: "Answers like a submit, but stores nothing: another message can take the time a moment later.",
			Parameters:  []*huma.Param{idempotencyKeyParameter()},
			RequestBody: jsonBody[message.Draft](s),
			Responses:   responses[message.Outcome](s, "It would be accepted.", bodyProblems(http.StatusConflict)...),
		},
		scope: accounts.ScopeSubmit, do: s.dryRun, submits: true, looks: true,
	}
}

func (s *server) dryRun(r *http.Request, _ web.Query) (web.Answer, error) {
	o, err := s.judge(r, s.submitter.Check)
	if err != nil {
		return web.Answer{}, err
	}
	return web.Done(o), nil
}

// judge reads the message of a request and passes it to put, which submits or checks it. The
// caller's account is charged.
func (s *server) judge(r *http.Request, put func(context.Context, message.Message) (message.Outcome, error)) (message.Outcome, error) {
	m, err := s.readMessage(r)
	if err != nil {
		return message.Outcome{}, err
	}
	m.Account = cmp.Or(callerOf(r.Context()).account(), m.Account)
	o, err := put(r.Context(), m)
	if err != nil {
		return message.Outcome{}, err
	}
	if day := o.Day; day != nil {
		header := exchangeOf(r.Context()).Header()
		counters.AddRateLimit(header, "messages_per_day", day.Limit, max(day.Limit-day.Used, 0), day.Length, day.ResetsIn)
	}
	return unlessRefused(s.concealed(r.Context(), o))
}

// readMessage reads the message of a request, with the id that its header gives.
func (s *server) readMessage(r *http.Request) (message.Message, error) {
	text, err := s.bodies().ReadText(r)
	if err != nil {
		return message.Message{}, err
	}
	draft, err := message.DecodeDraft(text)
	if err != nil {
		if malformed := web.CheckJSON(text); malformed != nil {
			return message.Message{}, malformed
		}
		return message.Message{}, err
	}
	wrongKey := takeIdempotencyKey(&draft, r.Header)
	m, err := draft.Message(message.ParseTime)
	if wrongKey == nil {
		return m, err
	}
	if err == nil {
		err = m.Validate() // or Submit would
	}
	var wrong fault.InvalidErrors
	wrong.Add(wrongKey)
	wrong.Add(err)
	return m, wrong.Err()
}

// messagePath returns the path of a message.
func messagePath(user, id string) string {
	return "/v1/users/" + segment(user) + "/messages/" + segment(id)
}

// segment escapes a name for a path. A name of only dots would be a step in the path.
func segment(name string) string {
	escaped := url.PathEscape(name)
	if strings.Trim(escaped, ".") == "" {
		escaped = strings.ReplaceAll(escaped, ".", "%2E")
	}
	return escaped
}
