package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// FindMessage yields the messages with an id, of all users, and what became of them: by default
// 10 a page, at most 100. It asks for the next page when one is used up. An error is the last thing that it yields; it is a
// *Refusal with CodeNotFound if there is no such message.
func (c *Client) FindMessage(ctx context.Context, id string, r PageRequest) iter.Seq2[Status, error] {
	return func(yield func(Status, error) bool) {
		const doing = "finding a message"
		if id == "" {
			yield(Status{}, fmt.Errorf("%s: %w", doing, invalid("id", "is missing")))
			return
		}
		what := call{doing: doing, method: http.MethodGet, path: "/v1/messages/" + segment(id), query: values("limit", count(r.PageSize))}
		pages(ctx, what, func(ctx context.Context, what call) (page []Status, next string, err error) {
			var answer message.Found
			err = c.do(ctx, what, &answer)
			return answer.Messages, answer.NextCursor, err
		})(yield)
	}
}

// MessagesRequest selects messages of all users: those to which all of it applies. The zero
// value selects all.
type MessagesRequest struct {
	Campaign, Category string
	Status             string    // one of the Status words, such as StatusScheduled
	From, Until        time.Time // send times, without Until; zero means no bound
	User               string
	UserPrefix         string // what the user begins with; not with User
	Account            string // with the scope admin: of this account
	PageSize           int    // messages per request, 1 to 1,000; zero means the API's default
}

// Messages yields messages of all users, in no particular order, without their contents and
// histories. It asks for the next page when one is used up. A message that is known from the first page to the last is yielded once,
// whatever becomes of it meanwhile. An error is the last thing that it yields.
func (c *Client) Messages(ctx context.Context, r MessagesRequest) iter.Seq2[Status, error] {
	what := call{
		doing: "finding messages", method: http.MethodGet, path: "/v1/messages",
		query: values("campaign", r.Campaign, "category", r.Category, "status", r.Status, "from", spell(r.From), "until", spell(r.Until),
			"user", r.User, "user_prefix", r.UserPrefix, "account", r.Account, "limit", count(r.PageSize)),
	}
	return pages(ctx, what, func(ctx context.Context, what call) (page []Status, next string, err error) {
		var answer message.Messages
		err = c.do(ctx, what, &answer)
		return answer.Messages, answer.NextCursor, err
	})
}
