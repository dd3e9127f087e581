package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/tasks/message"
)

// ListRequest selects messages of a user. With only User set it selects all.
type ListRequest struct {
	User     string
	From, To time.Time // without To; zero means no bound
	PageSize int       // messages per request, 1 to 1,000; zero means the API's default
}

// Listed is a message of a list. Status says more about one message.
type Listed = message.Listed

// List yields a user's messages by their send times. It asks for the next page when
// one is used up. An error is the last thing that it yields.
func (c *Client) List(ctx context.Context, r ListRequest) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		const doing = "listing messages"
		path, err := userPath(r.User, "messages")
		if err != nil {
			yield(Listed{}, fmt.Errorf("%s: %w", doing, err))
			return
		}
		what := call{
			doing: doing, method: http.MethodGet, path: path,
			query: values("from", spell(r.From), "to", spell(r.To), "limit", count(r.PageSize)),
		}
		pages(ctx, what, func(ctx context.Context, what call) (page []Listed, next string, err error) {
			var answer message.Messages
			err = c.do(ctx, what, &answer)
			return answer.Messages, answer.NextCursor, err
		})(yield)
	}
}
