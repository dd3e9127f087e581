package api

import (
	"context"
	"net/http"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/settings"
)

func (s *server) userSettingsRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("listUsers", http.MethodGet, "/v1/users", "users",
				"List users with settings",
				"In the order of the store: not by name, but the same each time. Users without settings are not listed."),
			scope: accounts.ScopeAdmin, says: "A page of users.",
		}, s.listUsers),
	}
}

type usersPage struct {
	Blocked bool           `query:"blocked" doc:"Only blocked users."`
	Policy  string         `query:"policy" example:"vip" doc:"Only users whose settings name this policy."`
	Limit   int            `query:"limit" usual:"100" most:"1000" doc:"Users a page."`
	Cursor  web.UserCursor `query:"cursor"`
}

func (s *server) listUsers(ctx context.Context, in usersPage) (message.Users, error) {
	users, next, err := s.Users.List(ctx, settings.ListRequest{Blocked: in.Blocked, Policy: in.Policy, Limit: in.Limit, After: string(in.Cursor)})
	page := message.Users{Users: make([]message.ListedUser, len(users)), NextCursor: s.sealed(ctx, web.UserCursor(next).String())}
	for i, user := range users {
		page.Users[i] = message.ListedUserOf(user.User, user.Settings, user.Unreadable)
	}
	return page, err
}
