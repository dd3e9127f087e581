package client

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// Submit submits a message. If it has no id it gets a UUIDv7, which the answer has. The
// error is a *Refusal if it was refused, an *InvalidError if it is not valid.
func (c *Client) Submit(ctx context.Context, m Message) (Outcome, error) {
	const doing = "submitting a message"
	m, err := m.withID()
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", doing, err)
	}
	return c.submit(ctx, doing, "/v1/messages", m)
}

// DryRun returns what Submit would return. Nothing is stored.
func (c *Client) DryRun(ctx context.Context, m Message) (Outcome, error) {
	return c.submit(ctx, "trying a message out", "/v1/messages/dry-run", m)
}

func (c *Client) submit(ctx context.Context, doing, path string, m Message) (Outcome, error) {
	body, err := m.encode()
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", doing, err)
	}
	return c.outcome(ctx, call{doing: doing, method: http.MethodPost, path: path, body: body}, message.Accepted)
}

// Cancel cancels a message, until it is being sent. To cancel twice is not an error.
func (c *Client) Cancel(ctx context.Context, user, id string) (Outcome, error) {
	return c.callMessage(ctx, call{doing: "cancelling a message", method: http.MethodDelete}, user, id, message.Cancelled)
}

// Move changes the send time of a message, until it is being sent; a zero time means
// now. If the new time is refused, the message keeps the old one.
func (c *Client) Move(ctx context.Context, user, id string, at time.Time) (Outcome, error) {
	return c.Change(ctx, user, id, MessageChange{SendAt: &at})
}

// MoveOrShift is Move that takes the next free time, up to and including until, if the new
// one is not free. A zero until means the API's default.
func (c *Client) MoveOrShift(ctx context.Context, user, id string, at, until time.Time) (Outcome, error) {
	return c.Change(ctx, user, id, MessageChange{SendAt: &at, OnConflict: OnConflictShift, ShiftUntil: until})
}

// callMessage makes a call about a user's message.
func (c *Client) callMessage(ctx context.Context, what call, user, id, success string) (Outcome, error) {
	path, err := messagePath(user, "messages", id)
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", what.doing, err)
	}
	what.path = path
	return c.outcome(ctx, what, success)
}

// outcome makes a call that returns an outcome. With an error the outcome is empty.
func (c *Client) outcome(ctx context.Context, what call, success string) (Outcome, error) {
	var o Outcome
	err := c.do(ctx, what, &o)
	if err == nil {
		err = must(o, success)
	}
	if err != nil {
		return Outcome{}, err
	}
	return o, nil
}
