package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Submit submits a message. One without an id gets a UUIDv7 first, which
// Accepted tells. What is refused is a *Refusal, what is wrong an
// *InvalidError.
func (c *Client) Submit(ctx context.Context, m Message) (Accepted, error) {
	const doing = "submitting a message"
	m, err := m.withID()
	if err != nil {
		return Accepted{}, fmt.Errorf("%s: %w", doing, err)
	}
	return c.submit(ctx, doing, "/v1/messages", m)
}

// DryRun says what Submit would answer, and leaves nothing behind.
func (c *Client) DryRun(ctx context.Context, m Message) (Accepted, error) {
	return c.submit(ctx, "trying a message out", "/v1/messages/dry-run", m)
}

func (c *Client) submit(ctx context.Context, doing, path string, m Message) (Accepted, error) {
	body, err := m.encode()
	if err != nil {
		return Accepted{}, fmt.Errorf("%s: %w", doing, err)
	}
	o, err := c.outcome(ctx, call{doing: doing, method: http.MethodPost, path: path, body: body}, message.Accepted)
	return acceptedOf(o), err
}

// Cancel takes a message back, until it is being sent. To cancel twice is no
// error.
func (c *Client) Cancel(ctx context.Context, user, id string) (Cancelled, error) {
	o, err := c.aboutMessage(ctx, call{doing: "cancelling a message", method: http.MethodDelete}, user, id, message.Cancelled)
	return Cancelled{ID: o.ID, User: o.User, Replayed: o.Replayed}, err
}

// Move gives a message another send time, until it is being sent; a zero time
// means now. The old time is kept when the new one is refused.
func (c *Client) Move(ctx context.Context, user, id string, at time.Time) (Moved, error) {
	const doing = "moving a message"
	body, err := json.Marshal(message.MoveDraft{SendAt: spellSendAt(at, at.IsZero())})
	if err != nil {
		return Moved{}, fmt.Errorf("%s: %w", doing, err)
	}
	o, err := c.aboutMessage(ctx, call{doing: doing, method: http.MethodPatch, body: body}, user, id, message.Moved)
	return Moved{ID: o.ID, User: o.User, SendAt: o.SendAt.Time, MovedFrom: o.MovedFrom.Time, RequestedAt: o.RequestedAt.Time}, err
}

// aboutMessage does something to a user's message.
func (c *Client) aboutMessage(ctx context.Context, what call, user, id, success string) (message.Outcome, error) {
	path, err := messagePath(user, "messages", id)
	if err != nil {
		return message.Outcome{}, fmt.Errorf("%s: %w", what.doing, err)
	}
	what.path = path
	return c.outcome(ctx, what, success)
}

// outcome asks for something that ends in an outcome. It is empty beside an
// error.
func (c *Client) outcome(ctx context.Context, what call, success string) (message.Outcome, error) {
	var o message.Outcome
	err := c.do(ctx, what, &o)
	if err == nil {
		err = must(o, success)
	}
	if err != nil {
		return message.Outcome{}, err
	}
	return o, nil
}
