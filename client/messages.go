package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
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

// Put submits a message, or replaces the pending message with its id by it: Outcome.Outcome is
// OutcomeAccepted or OutcomeReplaced. The same Put again is Replayed. IfNone only creates a message,
// and IfExists only replaces one. The code of the *Refusal is CodeTooLate if the message is being
// sent, has reached a device, may have arrived or was delivered.
func (c *Client) Put(ctx context.Context, m Message, conditions ...Condition) (Outcome, error) {
	return c.submit(ctx, call{
		doing: "put a message", method: http.MethodPut, path: "/v1/users/{user}/messages/{id}", segments: []string{m.User, m.ID},
		header: headerOf(conditions), or: message.Replaced,
	}, m)
}

// DryRunPut returns what Put would return. Nothing is stored.
func (c *Client) DryRunPut(ctx context.Context, m Message) (Outcome, error) {
	return c.submit(ctx, call{
		doing: "check a message", path: "/v1/messages/dry-run", query: url.Values{"replace": {"true"}}, or: message.Replaced,
	}, m)
}

func (c *Client) submit(ctx context.Context, what call, m Message) (Outcome, error) {
	body, err := m.encode()
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", what.doing, err)
	}
	what.method, what.body, what.success = cmp.Or(what.method, http.MethodPost), json.RawMessage(body), message.Accepted
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
