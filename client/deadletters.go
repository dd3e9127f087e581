package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/sendlimit/sendlimiter/tasks/message"
)

// DeadLetter is a message that was given up, with its content if that was asked for.
type DeadLetter = message.DeadLetter

// DeadLettersRequest asks for dead letters. The zero value asks for all.
type DeadLettersRequest struct {
	User     string // "" for all users
	PageSize int    // as in ListRequest
}

// DeadLetters gives the messages that were given up, without their content, the
// one that ended first coming first. An error is the last thing it gives.
func (c *Client) DeadLetters(ctx context.Context, r DeadLettersRequest) iter.Seq2[Status, error] {
	return func(yield func(Status, error) bool) {
		what := call{
			doing: "listing dead letters", method: http.MethodGet, path: "/v1/dead-letters",
			query: values("user", r.User, "limit", count(r.PageSize)),
		}
		pages(ctx, what, func(ctx context.Context, what call) (page []Status, next string, err error) {
			var answer message.DeadLetters
			err = c.do(ctx, what, &answer)
			return answer.DeadLetters, answer.NextCursor, err
		})(yield)
	}
}

// DeadLetter returns a dead letter, with title, body and data if they are asked
// for. The error is ErrNotFound where the message is none.
func (c *Client) DeadLetter(ctx context.Context, user, id string, content bool) (DeadLetter, error) {
	const doing = "asking for a dead letter"
	path, err := messagePath(user, "dead-letters", id)
	if err != nil {
		return DeadLetter{}, fmt.Errorf("%s: %w", doing, err)
	}
	what := call{doing: doing, method: http.MethodGet, path: path}
	if content {
		what.query = values("content", "true")
	}
	var letter DeadLetter
	err = c.do(ctx, what, &letter)
	return letter, err
}

// RetryDeadLetter has a dead letter sent after all, at the next time that is
// free for its user. Where the answer to a first try got lost, ErrNotFound may
// mean that the dead letter is one no more because of it.
func (c *Client) RetryDeadLetter(ctx context.Context, user, id string) (Retried, error) {
	o, err := c.aboutDeadLetter(ctx, call{doing: "retrying a dead letter", method: http.MethodPost}, message.Retried, user, id, "retry")
	return Retried{ID: o.ID, User: o.User, SendAt: o.SendAt.Time, RequestedAt: o.RequestedAt.Time}, err
}

// PurgeDeadLetter forgets a dead letter: its content, its record and its id.
// ErrNotFound may mean that a first try, whose answer got lost, has done it.
func (c *Client) PurgeDeadLetter(ctx context.Context, user, id string) error {
	_, err := c.aboutDeadLetter(ctx, call{doing: "purging a dead letter", method: http.MethodDelete}, message.Purged, user, id)
	return err
}

func (c *Client) aboutDeadLetter(ctx context.Context, what call, success, user, id string, rest ...string) (message.Outcome, error) {
	path, err := messagePath(user, "dead-letters", id, rest...)
	if err != nil {
		return message.Outcome{}, fmt.Errorf("%s: %w", what.doing, err)
	}
	what.path = path
	return c.outcome(ctx, what, success)
}
