package userdata

import (
	"github.com/sendlimit/sendlimiter/records/audit"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Change is what an operator changed about the user, see audit.Entry.
type Change struct {
	At      message.Time `json:"at"`
	Account string       `json:"account,omitempty"`
	Action  string       `json:"action"`
	ID      string       `json:"id,omitempty"` // of the message
	Object  string       `json:"object,omitempty"`
	Detail  string       `json:"detail,omitempty"`
	Outcome string       `json:"outcome,omitempty"`
	Code    string       `json:"code,omitempty"`
	Answer  string       `json:"answer,omitempty"`
	EndedAt message.Time `json:"ended_at,omitzero"`
}

func changesOf(found []audit.Entry) []Change {
	var all []Change
	for _, e := range found {
		all = append(all, Change{
			At: message.Time{Time: e.At}, Account: e.Account, Action: e.Action, ID: e.Message, Object: e.Object, Detail: e.Detail,
			Outcome: e.Outcome, Code: e.Code, Answer: e.Answer, EndedAt: message.Time{Time: e.EndedAt},
		})
	}
	return all
}
