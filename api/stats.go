package api

import (
	"context"
	"net/http"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
)

func (s *server) statsRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("getStats", http.MethodGet, "/v1/stats", "operation",
				"Get the state of the queue and the store",
				"A part of /metrics, as JSON."),
			scope: accounts.ScopeAdmin, says: "The state.",
		}, s.showStats),
	}
}

func (s *server) showStats(ctx context.Context, _ nothing) (message.Stats, error) {
	stats, err := s.Stats(ctx)
	if stats.Store == nil {
		stats.Store = []message.StoreMemory{}
	}
	if stats.Queue == nil {
		stats.Queue = map[string]int{}
	}
	return stats, err
}
