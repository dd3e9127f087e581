package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// Submit submits a message. A message without an id gets a UUIDv7, which the answer has. The error
// is a *Refusal if the message was refused, and an *InvalidError if it is not valid.
func (c *Client) Submit(ctx context.Context, m Message) (Outcome, error) {
	m, err := m.withID()
	if err != nil {
		return Outcome{}, fmt.Errorf("submit a message: %w", err)
	}
	return c.submit(ctx, call{doing: "submit a message", path: "/v1/messages"}, m)
}

// DryRun returns what Submit would return. Nothing is stored.
func (c *Client) DryRun(ctx context.Context, m Message) (Outcome, error) {
	return c.submit(ctx, call{doing: "check a message", path: "/v1/messages/dry-run"}, m)
}

func (c *Client) submit(ctx context.Context, what call, m Message) (Outcome, error) {
	body, err := m.encode()
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", what.doing, err)
	}
	what.method, what.body, what.success = http.MethodPost, json.RawMessage(body), message.Accepted
	return value[Outcome](ctx, c, what)
}

// Move changes the send time of a message until it is being sent; a zero time means now. If the new
// time is refused, the message keeps the old one.
func (c *Client) Move(ctx context.Context, user, id string, at time.Time) (Outcome, error) {
	return c.Change(ctx, user, id, MessageChange{SendAt: &at})
}

// MoveOrShift is Move, but uses the next free time up to and including until if the new one is not
// free. A zero until means the API's default.
func (c *Client) MoveOrShift(ctx context.Context, user, id string, at, until time.Time) (Outcome, error) {
	return c.Change(ctx, user, id, MessageChange{SendAt: &at, OnConflict: OnConflictShift, ShiftUntil: until})
}
