package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/session"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const sessionsPath = "/v1/sessions"

func (s *server) listSessionsRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "listSessions", Method: http.MethodGet, Path: sessionsPath, Tags: []string{"accounts"},
			Summary:   "List who is logged in to the dashboard",
			Responses: responses[message.Sessions](s, "Those that have not ended."),
		},
		scope: accounts.ScopeAdmin, do: func(r *http.Request, _ web.Query) (web.Answer, error) {
			all, err := s.sessions.List(r.Context(), s.now())
			if err != nil {
				return web.Answer{}, err
			}
			list := message.Sessions{Sessions: make([]message.Session, len(all))}
			for i, one := range all {
				list.Sessions[i] = message.Session{
					ID: one.ID, Account: one.Account, Key: one.Key, Address: one.Address, Began: message.Time{Time: one.Began}, Ends: message.Time{Time: one.Ends},
				}
			}
			return web.Done(list), nil
		},
	}
}

func (s *server) endSessionRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "endSession", Method: http.MethodDelete, Path: sessionsPath + "/{session}", Tags: []string{"accounts"},
			Summary:     "End a session of the dashboard",
			Description: "Within a second every process knows.",
			Parameters: []*huma.Param{{
				Name: "session", In: "path", Required: true, Example: "3fa91c02b7d86e54", Description: "The session's id, as listSessions has it.",
				Schema: &huma.Schema{Type: huma.TypeString, Pattern: "^[0-9a-f]{16}$"},
			}},
			Responses: responses[message.SessionEnd](s, "Ended.", http.StatusNotFound),
		},
		scope: accounts.ScopeAdmin, do: func(r *http.Request, _ web.Query) (web.Answer, error) {
			id := r.PathValue("session")
			ended, err := s.sessions.Revoke(r.Context(), s.now(), func(one session.Session) bool { return one.ID == id })
			if err == nil && ended == 0 {
				err = &fault.NoSuchError{What: "session", Name: id}
			}
			return done(message.SessionEnd{Outcome: message.SessionEnded, Session: id}, err)
		},
	}
}
