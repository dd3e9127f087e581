package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
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
	o, err := c.outcome(ctx, call{doing: doing, method: http.MethodPost, path: path, body: body}, outcomeAccepted)
	return o.accepted(), err
}

// Cancel takes a message back, until it is being sent. To cancel twice is no
// error.
func (c *Client) Cancel(ctx context.Context, user, id string) (Cancelled, error) {
	o, err := c.aboutMessage(ctx, call{doing: "cancelling a message", method: http.MethodDelete}, user, id, outcomeCancelled)
	return Cancelled{ID: o.ID, User: o.User, Replayed: o.Replayed}, err
}

// Move gives a message another send time, until it is being sent; a zero time
// means now. The old time is kept when the new one is refused.
func (c *Client) Move(ctx context.Context, user, id string, at time.Time) (Moved, error) {
	const doing = "moving a message"
	body, err := json.Marshal(struct {
		SendAt string `json:"send_at"`
	}{spellSendAt(at, at.IsZero())})
	if err != nil {
		return Moved{}, fmt.Errorf("%s: %w", doing, err)
	}
	o, err := c.aboutMessage(ctx, call{doing: doing, method: http.MethodPatch, body: body}, user, id, outcomeMoved)
	return Moved{ID: o.ID, User: o.User, SendAt: o.SendAt, MovedFrom: o.MovedFrom, RequestedAt: o.RequestedAt}, err
}

// aboutMessage does something to a user's message.
func (c *Client) aboutMessage(ctx context.Context, what call, user, id, success string) (outcome, error) {
	path, err := messagePath(user, "messages", id)
	if err != nil {
		return outcome{}, fmt.Errorf("%s: %w", what.doing, err)
	}
	what.path = path
	return c.outcome(ctx, what, success)
}

// outcome asks for something that ends in an outcome. It is empty beside an
// error.
func (c *Client) outcome(ctx context.Context, what call, success string) (outcome, error) {
	var o outcome
	err := c.do(ctx, what, &o)
	if err == nil {
		err = o.must(success)
	}
	if err != nil {
		return outcome{}, err
	}
	return o, nil
}
