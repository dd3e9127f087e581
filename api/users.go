package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

func (s *server) listUsersRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "listUsers", Method: http.MethodGet, Path: "/v1/users", Tags: []string{"users"},
			Summary:     "List users with settings",
			Description: "In the order of the store, which is not by name, and is the same each time. Users without settings are not listed.",
			Parameters: append([]*huma.Param{
				{
					Name: "blocked", In: "query", Description: "Only blocked users.",
					Schema: &huma.Schema{Type: huma.TypeBoolean, Default: false},
				},
				{
					Name: "policy", In: "query", Example: "vip", Description: "Only users whose settings name this policy.",
					Schema: parameterSchema("policy"),
				},
			}, pageParameters("Users a page.")...),
			Responses: responses[message.Users](s, "A page of them."),
		},
		scope: accounts.ScopeAdmin, do: s.listUsers,
	}
}

func (s *server) listUsers(r *http.Request, q web.Query) (web.Answer, error) {
	blocked, err := q.Flag("blocked")
	if err != nil {
		return web.Answer{}, err
	}
	named, given := q["policy"]
	if given && !keyspace.ValidName(named) { // an empty one would be any
		return web.Answer{}, &fault.InvalidError{Field: "policy", Value: named, Want: keyspace.WantName}
	}
	request := settings.ListRequest{Blocked: blocked, Policy: named}
	if request.Limit, err = q.Count("limit", usualPage, largestPage); err != nil {
		return web.Answer{}, err
	}
	if request.After, err = q.UserCursor(); err != nil {
		return web.Answer{}, err
	}
	users, next, err := s.users.List(r.Context(), request)
	if err != nil {
		return web.Answer{}, err
	}
	page := message.Users{Users: make([]message.ListedUser, len(users)), NextCursor: s.sealed(r.Context(), web.UserCursor(next))}
	for i, user := range users {
		page.Users[i] = message.ListedUserOf(user.User, user.Settings, user.Unreadable)
	}
	return web.Done(page), nil
}
