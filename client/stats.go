package client

import (
	"context"
	"net/http"
)

// Stats say how the queue and the store are doing.
type Stats struct {
	Version     string         `json:"version"` // of the program that answers
	Queue       map[string]int `json:"queue"`   // tasks by state: scheduled, pending, active, retry and archived
	DeadLetters int            `json:"dead_letters"`
	// FailedAlerts counts the quota alerts and reports that were given up.
	FailedAlerts int `json:"failed_alerts"`
	// OldestOverdueSeconds is by how much the oldest message that should have
	// gone out is late; zero where none is.
	OldestOverdueSeconds float64       `json:"oldest_overdue_seconds"`
	Store                []StoreMemory `json:"store"` // the store's servers that tell their memory
}

// StoreMemory is the memory of a server of the store.
type StoreMemory struct {
	Server    string `json:"server"` // its address; "" where there is one
	UsedBytes int64  `json:"used_bytes"`
	MaxBytes  int64  `json:"max_bytes"` // zero where it has no limit
}

// Stats says how the queue and the store are doing.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	var s Stats
	err := c.do(ctx, call{doing: "asking for the stats", method: http.MethodGet, path: "/v1/stats"}, &s)
	return s, err
}
