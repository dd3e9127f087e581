package api

import (
	"cmp"
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

func (s *server) submitRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("submitMessage", http.MethodPost, "/v1/messages", "messages",
				"Submit a message",
				"Accepts a message if its send time is free under the user's rules. An accepted message is sent even if this "+
					"server ends right after. With an id the request can be repeated, and the message is accepted once. Without an "+
					"id the server generates one."),
			scope: accounts.ScopeSubmit, submits: true, told: true, says: "Accepted: the message is stored, and sent at send_at.", refuses: []int{http.StatusConflict},
		}, s.submit),
		operation(s, route{
			Operation: named("checkMessage", http.MethodPost, "/v1/messages/dry-run", "messages",
				"Dry run of a message",
				"Answers like a submit, or with replace like putMessage, but stores nothing. The time is not reserved."),
			scope: accounts.ScopeSubmit, submits: true, looks: true, says: "The message would be accepted.", refuses: []int{http.StatusConflict},
		}, s.dryRun),
	}
}

// submitted is the answer to a submit: 201 if the message was accepted now.
type submitted message.Outcome

func (o *submitted) answer() web.Answer {
	a := web.Answer{Status: http.StatusOK, Body: (*message.Outcome)(o)}
	if o.Outcome == message.Accepted && !o.Replayed {
		a.Status, a.Location = http.StatusCreated, messagePath(o.User, o.ID)
	}
	return a
}

func (*submitted) document(s *server, rt route) map[string]*huma.Response {
	accepted := jsonResponse[message.Outcome](s, rt.says)
	accepted.Headers = headers(web.RequestIDHeader, "Location")
	return map[string]*huma.Response{
		strconv.Itoa(http.StatusOK):      jsonResponse[message.Outcome](s, "Accepted before: the same request gets its first answer again."),
		strconv.Itoa(http.StatusCreated): accepted,
	}
}

func (s *server) submit(ctx context.Context, in newMessage) (submitted, error) {
	o, err := s.judge(ctx, in, s.Submitter.Submit)
	return submitted(o), err
}

func (s *server) dryRun(ctx context.Context, in checkedMessage) (message.Outcome, error) {
	if in.Replace {
		return s.judge(ctx, in.newMessage, func(ctx context.Context, m message.Message) (message.Outcome, error) {
			return s.Submitter.CheckPut(ctx, m, submit.PutAlways)
		})
	}
	return s.judge(ctx, in.newMessage, s.Submitter.Check)
}

// judge passes a message to put, which submits or checks it. It charges the caller's account.
func (s *server) judge(ctx context.Context, in newMessage, put func(context.Context, message.Message) (message.Outcome, error)) (message.Outcome, error) {
	m := in.Message.value
	m.Account = cmp.Or(callerOf(ctx).account(), m.Account)
	o, err := put(ctx, m)
	if err != nil {
		return message.Outcome{}, err
	}
	if day := o.Day; day != nil {
		header := exchangeOf(ctx).Header()
		counters.AddRateLimit(header, "messages_per_day", day.Limit, max(day.Limit-day.Used, 0), day.Length, day.ResetsIn)
	}
	return unlessRefused(s.concealed(ctx, o))
}

type newMessage struct{ Message messageBody }

// checkedMessage is the message of a dry run.
type checkedMessage struct {
	newMessage

	Replace bool `query:"replace" doc:"true for the dry run of putMessage, which may replace the pending message with the id."`
}

// messageBody is the message of a request, with the id from its header.
type messageBody struct{ value message.Message }

func (*messageBody) isJSON() {}

func (b *messageBody) document(s *server, in *inputs) {
	in.parameters = append(in.parameters, idempotencyKeyParameter())
	new(object[message.Draft]).document(s, in)
}

func (b *messageBody) read(s *server, r *http.Request) (none message.Faults, err error) {
	text, err := s.bodies().ReadText(r)
	if err != nil {
		return none, err
	}
	draft, err := message.DecodeDraft(text)
	if err != nil {
		if malformed := web.CheckJSON(text); malformed != nil {
			return none, malformed
		}
		return none, err
	}
	wrongKey := cmp.Or(takePath(&draft, r), takeIdempotencyKey(&draft, r.Header))
	b.value, err = draft.Message(message.ParseTime)
	if wrongKey == nil {
		return none, err
	}
	if err == nil {
		err = b.value.Validate() // or Submit would
	}
	var wrong fault.InvalidErrors
	wrong.Add(wrongKey)
	wrong.Add(err)
	return none, wrong.Err()
}

func messagePath(user, id string) string {
	return "/v1/users/" + message.PathSegment(user) + "/messages/" + message.PathSegment(id)
}
