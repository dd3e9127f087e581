package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
)

func (s *server) statsRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "getStats", Method: http.MethodGet, Path: "/v1/stats", Tags: []string{"operation"},
			Summary:     "Get the state of the queue and the store",
			Description: "A part of /metrics, as JSON.",
			Responses:   responses[message.Stats](s, "How they are doing."),
		},
		scope: accounts.ScopeAdmin, do: s.showStats,
	}
}

func (s *server) showStats(r *http.Request, _ web.Query) (web.Answer, error) {
	stats, err := s.stats(r.Context())
	if err != nil {
		return web.Answer{}, err
	}
	if stats.Store == nil {
		stats.Store = []message.StoreMemory{}
	}
	if stats.Queue == nil {
		stats.Queue = map[string]int{}
	}
	return web.Done(stats), nil
}
