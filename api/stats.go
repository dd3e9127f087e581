package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
)

// Stats say how the queue and the store are doing.
type Stats struct {
	Version      string         `json:"version" doc:"Of the program that answers."`
	Queue        map[string]int `json:"queue" doc:"Tasks in the queue by state: scheduled, pending, active, retry and archived."`
	DeadLetters  int            `json:"dead_letters" doc:"Messages that were given up; may count a few that are none any more."`
	FailedAlerts int            `json:"failed_alerts" doc:"Quota alerts and reports that were given up."`
	// OldestOverdueSeconds is zero where nothing is overdue.
	OldestOverdueSeconds float64       `json:"oldest_overdue_seconds" doc:"By how much the oldest message that should have gone out is late; 0 where none is."`
	Store                []StoreMemory `json:"store" doc:"The store's servers that tell their memory."`
}

// StoreMemory is the memory of a server of the store.
type StoreMemory struct {
	Server    string `json:"server" doc:"Its address; empty where there is one server."`
	UsedBytes int64  `json:"used_bytes" doc:"What counts towards its limit."`
	MaxBytes  int64  `json:"max_bytes,omitempty" doc:"Its limit; absent where it has none."`
}

func (s *server) statsRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "getStats", Method: http.MethodGet, Path: "/v1/stats", Tags: []string{"operation"},
			Summary:     "See how the queue and the store are doing",
			Description: "What /metrics tells of them, as JSON.",
			Responses:   responses[Stats](s, "How they are doing."),
		},
		scope: accounts.ScopeAdmin, do: s.showStats,
	}
}

func (s *server) showStats(r *http.Request, _ query) (answer, error) {
	stats, err := s.stats(r.Context())
	if err != nil {
		return answer{}, err
	}
	if stats.Store == nil {
		stats.Store = []StoreMemory{}
	}
	if stats.Queue == nil {
		stats.Queue = map[string]int{}
	}
	return done(stats), nil
}
