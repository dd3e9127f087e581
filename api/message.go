package api

import (
	"context"
	"net/http"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
)

const messagePattern = "/v1/users/{user}/messages/{id}"

func (s *server) messageRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("getMessage", http.MethodGet, messagePattern, "messages",
				"Get a message and its status",
				"The status is kept for a time after the message ended, by default 7 days. The content, from title to to, is shown "+
					"until the message ends; a dead letter keeps it, and metadata stays. "+operatorsContent),
			scope: accounts.ScopeRead, says: "The message.", refuses: []int{http.StatusNotFound},
		}, s.status),
		operation(s, route{
			Operation: named("showContent", http.MethodGet, messagePattern+"/content", "messages",
				"Show the content of a message",
				"Answers as getMessage does. If a key with the scope admin asks, the look is an entry of the audit log, so that it is known who saw the content."),
			scope: accounts.ScopeRead, reveals: true, says: "The message.", refuses: []int{http.StatusNotFound},
		}, s.status),
		operation(s, route{
			Operation: named("moveMessage", http.MethodPatch, messagePattern, "messages",
				"Move a message, or change its content",
				"Possible until the message is being sent. A move is not possible after a delivery that may have arrived. The body is a JSON merge patch (RFC 7396): absent members stay "+
					"unchanged, and null removes a member, also single entries of data and metadata. With send_at the message moves. If the new "+
					"time is not free, the message does not change; with on_conflict shift it gets the next free time after the new one. "+
					"Without send_at it keeps its place, which costs no quota and is not judged. Submitting the original message again "+
					"is still answered as a repetition. A key with the scope admin changes content and "+
					"metadata of other accounts' messages only with the scope content."),
			scope: accounts.ScopeSubmit, told: true, says: "Moved or changed.", refuses: []int{http.StatusNotFound, http.StatusConflict},
		}, s.move),
		operation(s, route{
			Operation: named("cancelMessage", http.MethodDelete, messagePattern, "messages",
				"Cancel a message",
				"Possible until the message is being sent. Erases its content. If an earlier delivery may have arrived, its place still counts. Cancelling twice is no error, and sets replayed."),
			scope: accounts.ScopeSubmit, told: true, says: "Cancelled.", refuses: []int{http.StatusNotFound, http.StatusConflict},
		}, s.cancel),
	}
}

func (s *server) status(ctx context.Context, in ofMessage) (message.Status, error) {
	status, known, err := s.look(ctx, in.User, in.ID)
	if err == nil && !known {
		err = &refusal{message.NoStatus(in.User, in.ID)}
	}
	if err != nil {
		return status, err
	}
	return s.shown(ctx, status), nil
}

// messageMove is a change of a message.
type messageMove struct {
	ofMessage

	Patch patchBody
}

// patchBody is a body with the changes of a message.
type patchBody struct{ value message.Patch }

func (*patchBody) isJSON() {}

func (b *patchBody) document(s *server, in *inputs) { new(object[message.MoveDraft]).document(s, in) }

func (b *patchBody) read(s *server, r *http.Request) (none message.Faults, err error) {
	text, err := s.bodies().ReadJSON(r)
	if err != nil {
		return none, err
	}
	draft, err := message.DecodeMove(text)
	if err == nil {
		b.value, err = draft.Patch(message.ParseTime)
	}
	return none, err
}

func (s *server) move(ctx context.Context, in messageMove) (message.Outcome, error) {
	submitter, err := s.changing(ctx, in.User, in.ID, in.Patch.value)
	if err != nil {
		return message.Outcome{}, err
	}
	o, err := submitter.Change(ctx, in.User, in.ID, in.Patch.value)
	if err != nil {
		return o, err
	}
	return s.concealed(ctx, o)
}

func (s *server) cancel(ctx context.Context, in ofMessage) (message.Outcome, error) {
	return s.reaching(ctx).Cancel(ctx, in.User, in.ID)
}
