package client

import (
	"context"
	"net/http"

	"github.com/sendlimit/sendlimiter/message"
)

type (
	// Stats tells how the queue and the store are doing.
	Stats = message.Stats
	// StoreMemory tells how much memory the store uses, and its limit.
	StoreMemory = message.StoreMemory
)

// Stats returns how the queue and the store are doing.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	var s Stats
	err := c.do(ctx, call{doing: "asking for the stats", method: http.MethodGet, path: "/v1/stats"}, &s)
	return s, err
}
