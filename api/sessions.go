package api

import (
	"context"
	"net/http"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/session"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const sessionsPath = "/v1/sessions"

type ofSession struct {
	Session string `path:"session"`
}

func (s *server) sessionRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("listSessions", http.MethodGet, sessionsPath, "accounts",
				"List the sessions of the dashboard",
				""),
			scope: accounts.ScopeAdmin, says: "The open sessions.",
		}, func(ctx context.Context, _ nothing) (message.Sessions, error) {
			all, err := s.Sessions.List(ctx, s.Now())
			list := message.Sessions{Sessions: make([]message.Session, len(all))}
			for i, one := range all {
				list.Sessions[i] = message.Session{
					ID: one.ID, Account: one.Account, Key: one.Key, Address: one.Address, Began: message.Time{Time: one.Began}, Ends: message.Time{Time: one.Ends},
				}
			}
			return list, err
		}),
		operation(s, route{
			Operation: named("endSession", http.MethodDelete, sessionsPath+"/{session}", "accounts",
				"End a session of the dashboard",
				"Every process follows within a second."),
			scope: accounts.ScopeAdmin, says: "Ended.", refuses: []int{http.StatusNotFound},
		}, func(ctx context.Context, in ofSession) (message.SessionEnd, error) {
			ended, err := s.Sessions.Revoke(ctx, s.Now(), func(one session.Session) bool { return one.ID == in.Session })
			if err == nil && ended == 0 {
				err = &fault.NoSuchError{What: "session", Name: in.Session}
			}
			return message.SessionEnd{Outcome: message.SessionEnded, Session: in.Session}, err
		}),
	}
}
