package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

type (
	// Callback says where an account's events are posted, and how far that is.
	Callback = message.Callback
	// NewCallback is a callback to set. URL is required. Without a Secret the present one
	// stays, and the first one is made.
	NewCallback = message.CallbackDraft
	// DeadEvent is an event that a callback did not accept for too long.
	DeadEvent = message.DeadEvent
	// DeadEventsRetry says how many dead events were retried.
	DeadEventsRetry = message.DeadEventsRetry
)

// Callback returns where an account's events are posted. The error is ErrNotFound if there is
// no such account, or no callback. The calls about callbacks need a key with the scope admin.
func (c *Client) Callback(ctx context.Context, account string) (Callback, error) {
	var callback Callback
	what := call{doing: "asking for a callback", method: http.MethodGet}
	err := c.callBelowAccounts(ctx, what, nil, &callback, account, "callback")
	return callback, err
}

// SetCallback sets where an account's events are posted. The answer has the secret if the
// request made it. It is not retried: if the answer got lost, RotateCallbackSecret makes a
// secret that you get.
func (c *Client) SetCallback(ctx context.Context, account string, set NewCallback) (Callback, error) {
	var callback Callback
	what := call{doing: "setting a callback", method: http.MethodPut, once: true}
	err := c.callBelowAccounts(ctx, what, set, &callback, account, "callback")
	return callback, err
}

// RemoveCallback ends the posting of an account's events, and returns the account.
func (c *Client) RemoveCallback(ctx context.Context, account string) (Account, error) {
	return c.callAccount(ctx, call{doing: "removing a callback", method: http.MethodDelete}, nil, account, "callback")
}

// RotateCallbackSecret gives a callback a new secret, which the answer has. The old one signs
// too for the overlap, at most 366 days. It is not retried.
func (c *Client) RotateCallbackSecret(ctx context.Context, account string, overlap time.Duration) (Callback, error) {
	var callback Callback
	what := call{doing: "rotating the secret of a callback", method: http.MethodPost, once: true}
	err := c.callBelowAccounts(ctx, what, message.SecretRotation{Overlap: overlap.String()}, &callback, account, "callback", "rotate")
	return callback, err
}

const deadEventsPath = "/v1/dead-events"

// DeadEvents yields the dead events of an account, the oldest first. "" is the account of the
// key; another one needs the scope admin. An error is the last thing that it yields.
func (c *Client) DeadEvents(ctx context.Context, account string, r PageRequest) iter.Seq2[DeadEvent, error] {
	return func(yield func(DeadEvent, error) bool) {
		what := call{
			doing: "listing dead events", method: http.MethodGet, path: deadEventsPath,
			query: values("account", account, "limit", count(r.PageSize)),
		}
		pages(ctx, what, func(ctx context.Context, what call) ([]DeadEvent, string, error) {
			var answer message.DeadEvents
			err := c.do(ctx, what, &answer)
			return answer.DeadEvents, answer.NextCursor, err
		})(yield)
	}
}

// RetryDeadEvents posts dead events of an account again, under new ids: the one with an id,
// or with "" the oldest ones, at most most of them; zero means the API's default. It is not
// retried.
func (c *Client) RetryDeadEvents(ctx context.Context, account, id string, most int) (DeadEventsRetry, error) {
	var answer DeadEventsRetry
	err := c.do(ctx, call{
		doing: "retrying dead events", method: http.MethodPost, path: deadEventsPath + "/retry", once: true,
		query: values("account", account, "id", id, "limit", count(most)),
	}, &answer)
	return answer, err
}

// PurgeDeadEvents removes dead events of an account: the one with an id, or with "" all. It
// returns how many it removed.
func (c *Client) PurgeDeadEvents(ctx context.Context, account, id string) (int, error) {
	var answer message.DeadEventsPurge
	err := c.do(ctx, call{
		doing: "removing dead events", method: http.MethodDelete, path: deadEventsPath,
		query: values("account", account, "id", id),
	}, &answer)
	return answer.Purged, err
}
