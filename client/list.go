package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"time"
)

// ListRequest asks for a user's messages. The zero value of all but User asks
// for everything.
type ListRequest struct {
	User     string
	From, To time.Time // half-open; zero for no end
	PageSize int       // messages asked for at a time, 1 to 1,000; zero means the API's default
}

// List gives a user's messages by their send times, asking for a page when the
// one before is used up: of each the ID, User, SendAt and Status. An error is
// the last thing it gives.
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
		pages(ctx, what, func(ctx context.Context, what call) (page []Status, next string, err error) {
			var answer struct {
				Messages   []Status `json:"messages"`
				NextCursor string   `json:"next_cursor"`
			}
			err = c.do(ctx, what, &answer)
			return answer.Messages, answer.NextCursor, err
		})(yield)
	}
}
