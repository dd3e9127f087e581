package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/sendlimit/sendlimiter/message"
)

// UsersRequest selects users with settings. The zero value selects all.
type UsersRequest struct {
	Blocked  bool   // only blocked ones
	Policy   string // only those whose settings name this policy
	PageSize int    // users per request, 1 to 1,000; zero means the API's default
}

// ListedUser is a user with settings.
type ListedUser = message.ListedUser

// Users yields the users with settings, in the order of the store. It asks for the next
// page when one is used up. An error is the last thing that it yields.
func (c *Client) Users(ctx context.Context, r UsersRequest) iter.Seq2[ListedUser, error] {
	blocked := ""
	if r.Blocked {
		blocked = "true"
	}
	what := call{
		doing: "listing users", method: http.MethodGet, path: "/v1/users",
		query: values("blocked", blocked, "policy", r.Policy, "limit", count(r.PageSize)),
	}
	return pages(ctx, what, func(ctx context.Context, what call) ([]ListedUser, string, error) {
		var answer message.Users
		err := c.do(ctx, what, &answer)
		return answer.Users, answer.NextCursor, err
	})
}
