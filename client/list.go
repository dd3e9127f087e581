package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// ListRequest selects messages of a user. With only User set it selects all.
type ListRequest struct {
	User     string
	From, To time.Time // without To; zero means no bound
	Titles   bool      // adds the titles of messages whose content the key may see
	PageSize int       // messages per request, 1 to 1,000; zero means the API's default
}

// List yields a user's messages by their send times, without their histories. Of the contents it
// has at most the titles. It asks for the next page when one is used up. An error is the last
// thing that it yields.
func (c *Client) List(ctx context.Context, r ListRequest) iter.Seq2[Status, error] {
	return func(yield func(Status, error) bool) {
		const doing = "listing messages"
		path, err := userPath(r.User, "messages")
		if err != nil {
			yield(Status{}, fmt.Errorf("%s: %w", doing, err))
			return
		}
		what := call{
			doing: doing, method: http.MethodGet, path: path,
			query: values("from", spell(r.From), "to", spell(r.To), "limit", count(r.PageSize)),
		}
		if r.Titles {
			what.query.Set("titles", "true")
		}
		pages(ctx, what, func(ctx context.Context, what call) (page []Status, next string, err error) {
			var answer message.Messages
			err = c.do(ctx, what, &answer)
			return answer.Messages, answer.NextCursor, err
		})(yield)
	}
}
