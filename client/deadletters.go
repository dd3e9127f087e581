package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

type (
	// DeadLetter is a message that was given up, with its content if that was asked for.
	DeadLetter = message.Status
	// DeadPurge says how many dead letters or alerts were removed, and whether there may be
	// more.
	DeadPurge = message.DeadPurge
)

const deadLettersPath = "/v1/dead-letters"

// DeadLettersRequest selects dead letters. The zero value selects all.
type DeadLettersRequest struct {
	User     string // "" for all users
	PageSize int    // as in ListRequest
}

// DeadLetters yields the messages that were given up, without their content, in the order
// in which they ended. An error is the last thing that it yields.
func (c *Client) DeadLetters(ctx context.Context, r DeadLettersRequest) iter.Seq2[Status, error] {
	return func(yield func(Status, error) bool) {
		what := call{
			doing: "listing dead letters", method: http.MethodGet, path: deadLettersPath,
			query: values("user", r.User, "limit", count(r.PageSize)),
		}
		pages(ctx, what, func(ctx context.Context, what call) (page []Status, next string, err error) {
			var answer message.DeadLetters
			err = c.do(ctx, what, &answer)
			return answer.DeadLetters, answer.NextCursor, err
		})(yield)
	}
}

// DeadLetter returns a dead letter; content asks for title, body and data. Those of another
// account's message need a key with the scope content. The error is ErrNotFound if the
// message is not a dead letter.
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

// RetryDeadLetter schedules a dead letter again, at the next time that is free for its
// user. ErrNotFound may mean that an earlier try, whose answer got lost, did that.
func (c *Client) RetryDeadLetter(ctx context.Context, user, id string) (Outcome, error) {
	return c.callDeadLetter(ctx, call{doing: "retrying a dead letter", method: http.MethodPost}, message.Retried, user, id, "retry")
}

// RetryDeadLetters sends dead letters again, as RetryDeadLetter does, all that are dead letters
// when it begins; user "" means those of all users. It yields what became of each, with the code of
// a refusal. If an answer got lost, what that try did is not told. An error is the last thing that
// it yields.
func (c *Client) RetryDeadLetters(ctx context.Context, r DeadLettersRequest) iter.Seq2[Outcome, error] {
	what := call{
		doing: "retrying dead letters", method: http.MethodPost, path: deadLettersPath + "/retry",
		query: values("user", r.User, "limit", count(r.PageSize)),
	}
	return pages(ctx, what, func(ctx context.Context, what call) ([]Outcome, string, error) {
		var done message.DeadRetry
		err := c.do(ctx, what, &done)
		what.query.Set("ended_before", spell(done.EndedBefore.Time))
		return done.Outcomes, done.NextCursor, err
	})
}

// PurgeDeadLetter deletes a dead letter: its content, its record and its id. ErrNotFound
// may mean that an earlier try, whose answer got lost, did that.
func (c *Client) PurgeDeadLetter(ctx context.Context, user, id string) (Outcome, error) {
	return c.callDeadLetter(ctx, call{doing: "purging a dead letter", method: http.MethodDelete}, message.Purged, user, id)
}

// PurgeDeadLetters deletes dead letters that ended longer ago than an age, the oldest first,
// at most most of them; zero means the API's default, 1,000. Call it again while the answer
// has More. If an answer got lost, what that try removed is not counted.
func (c *Client) PurgeDeadLetters(ctx context.Context, olderThan time.Duration, most int) (DeadPurge, error) {
	return c.purgeOlder(ctx, "purging old dead letters", deadLettersPath, olderThan, most)
}

func (c *Client) purgeOlder(ctx context.Context, doing, path string, olderThan time.Duration, most int) (DeadPurge, error) {
	return answerTo[DeadPurge](ctx, c, call{
		doing: doing, method: http.MethodDelete, path: path, query: values("older_than", olderThan.String(), "limit", count(most)),
	}, nil)
}

func (c *Client) callDeadLetter(ctx context.Context, what call, success, user, id string, rest ...string) (Outcome, error) {
	path, err := messagePath(user, "dead-letters", id, rest...)
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", what.doing, err)
	}
	what.path = path
	return c.outcome(ctx, what, success)
}
