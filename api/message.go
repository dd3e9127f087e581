package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
)

const messagePattern = "/v1/users/{user}/messages/{id}"

func (s *server) statusRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "getMessage", Method: http.MethodGet, Path: messagePattern, Tags: []string{"messages"},
			Summary: "Get a message and its status",
			Description: "The status is kept for a while after the message ended, by default 7 days. The content, from title to to, is shown " +
				"until the message ends; a dead letter keeps it, and metadata stays. " + operatorsContent,
			Parameters: []*huma.Param{userParameter(), idParameter()},
			Responses:  responses[message.Status](s, "What became of it.", http.StatusNotFound),
		},
		scope: accounts.ScopeRead, do: s.status,
	}
}

func (s *server) status(r *http.Request, _ web.Query) (web.Answer, error) {
	user, id := r.PathValue("user"), r.PathValue("id")
	status, known, err := s.look(r.Context(), user, id)
	if err != nil {
		return web.Answer{}, err
	}
	if !known {
		return web.Answer{}, &refusal{message.NoStatus(user, id)}
	}
	return web.Done(s.shown(r.Context(), status)), nil
}

func (s *server) moveRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "moveMessage", Method: http.MethodPatch, Path: messagePattern, Tags: []string{"messages"},
			Summary: "Move a message to another send time, or change what it says",
			Description: "Possible until the message is being sent, and a move not after a delivery that may have arrived. The body is a JSON merge patch (RFC 7396): what is absent stays " +
				"as it is, and null removes it, also single entries of data and metadata. With send_at the message moves. If the new " +
				"time is not free, the message stays as it is; with on_conflict shift it gets the next free time after the new one. " +
				"Without send_at it keeps its place, which costs no quota and is judged by no rule. A submit with its id that is the " +
				"same as the first one is still answered as its repetition. A key with the scope admin changes content and " +
				"metadata of other accounts' messages only with the scope content.",
			Parameters:  []*huma.Param{userParameter(), idParameter()},
			RequestBody: jsonBody[message.MoveDraft](s),
			Responses:   responses[message.Outcome](s, "Moved or changed.", bodyProblems(http.StatusNotFound, http.StatusConflict)...),
		},
		scope: accounts.ScopeSubmit, do: s.move, told: true,
	}
}

func (s *server) move(r *http.Request, _ web.Query) (web.Answer, error) {
	text, err := s.bodies().ReadJSON(r)
	if err != nil {
		return web.Answer{}, err
	}
	draft, err := message.DecodeMove(text)
	if err != nil {
		return web.Answer{}, err
	}
	patch, err := draft.Patch(message.ParseTime)
	if err != nil {
		return web.Answer{}, err
	}
	user, id := r.PathValue("user"), r.PathValue("id")
	submitter, err := s.changing(r.Context(), user, id, patch)
	if err != nil {
		return web.Answer{}, err
	}
	o, err := submitter.Change(r.Context(), user, id, patch)
	if err != nil {
		return web.Answer{}, err
	}
	return doneUnlessRefused(s.concealed(r.Context(), o))
}

func (s *server) cancelRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "cancelMessage", Method: http.MethodDelete, Path: messagePattern, Tags: []string{"messages"},
			Summary:     "Cancel a message",
			Description: "Possible until the message is being sent. This erases its content. If an earlier delivery may have arrived, its place still counts. Cancelling twice is no error, and sets replayed.",
			Parameters:  []*huma.Param{userParameter(), idParameter()},
			Responses:   responses[message.Outcome](s, "Cancelled: it is not sent.", http.StatusNotFound, http.StatusConflict),
		},
		scope: accounts.ScopeSubmit, do: s.cancel, told: true,
	}
}

func (s *server) cancel(r *http.Request, _ web.Query) (web.Answer, error) {
	return doneUnlessRefused(s.reaching(r.Context()).Cancel(r.Context(), r.PathValue("user"), r.PathValue("id")))
}

// doneUnlessRefused returns the answer with an outcome, or the error that stands for it.
func doneUnlessRefused(o message.Outcome, err error) (web.Answer, error) {
	if o, err = unlessRefused(o, err); err != nil {
		return web.Answer{}, err
	}
	return web.Done(o), nil
}
