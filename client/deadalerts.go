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
	// DeadAlert is an alert or a report that could not be delivered to its contact.
	DeadAlert = message.DeadAlert
	// AlertDone is the answer to one that was retried or purged.
	AlertDone = message.AlertDone
)

const deadAlertsPath = "/v1/dead-alerts"

// DeadAlerts yields the alerts and reports that could not be delivered, in the order in which
// they ended. An error is the last thing that it yields. All calls about them need a key with
// the scope admin.
func (c *Client) DeadAlerts(ctx context.Context, r PageRequest) iter.Seq2[DeadAlert, error] {
	return pagesOf(ctx, c, "listing dead alerts", deadAlertsPath, r, func(a message.DeadAlerts) ([]DeadAlert, string) {
		return a.DeadAlerts, a.NextCursor
	})
}

// DeadAlert returns an alert or report that could not be delivered. The error is ErrNotFound
// if there is none with this id.
func (c *Client) DeadAlert(ctx context.Context, alert string) (DeadAlert, error) {
	return callAlert[DeadAlert](ctx, c, call{doing: "asking for a dead alert", method: http.MethodGet}, alert, "")
}

// RetryDeadAlert delivers an alert or report after all. ErrNotFound may mean that an earlier
// try, whose answer got lost, did that.
func (c *Client) RetryDeadAlert(ctx context.Context, alert string) (AlertDone, error) {
	return callAlert[AlertDone](ctx, c, call{doing: "retrying a dead alert", method: http.MethodPost}, alert, "/retry")
}

// PurgeDeadAlert deletes the content of an alert or report, which is not raised again.
// ErrNotFound may mean that an earlier try, whose answer got lost, did that.
func (c *Client) PurgeDeadAlert(ctx context.Context, alert string) (AlertDone, error) {
	return callAlert[AlertDone](ctx, c, call{doing: "purging a dead alert", method: http.MethodDelete}, alert, "")
}

// PurgeDeadAlerts deletes alerts and reports as PurgeDeadLetters deletes dead letters.
func (c *Client) PurgeDeadAlerts(ctx context.Context, olderThan time.Duration, most int) (DeadPurge, error) {
	return c.purgeOlder(ctx, "purging old dead alerts", deadAlertsPath, olderThan, most)
}

func callAlert[T any](ctx context.Context, c *Client, what call, alert, below string) (T, error) {
	if alert == "" {
		var none T
		return none, fmt.Errorf("%s: %w", what.doing, invalid("alert", "is missing"))
	}
	what.path = deadAlertsPath + "/" + segment(alert) + below
	return answerTo[T](ctx, c, what, nil)
}
