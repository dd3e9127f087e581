package message

// Stats says how the queue and the store are doing.
type Stats struct {
	Version      string         `json:"version" doc:"Of the program that answers."`
	Queue        map[string]int `json:"queue" doc:"Tasks in the queue by state: scheduled, pending, active, retry and archived."`
	DeadLetters  int            `json:"dead_letters" doc:"Messages that were given up; may count a few that are none any more."`
	FailedAlerts int            `json:"failed_alerts" doc:"Quota alerts and reports that were given up."`
	// OldestOverdueSeconds is zero if nothing is overdue.
	OldestOverdueSeconds float64       `json:"oldest_overdue_seconds" doc:"By how much the oldest message that should have gone out is late; 0 where none is."`
	Store                []StoreMemory `json:"store" doc:"The store's servers that tell their memory."`
}

// StoreMemory is the memory of one server of the store.
type StoreMemory struct {
	Server    string `json:"server" doc:"Its address; empty where there is one server."`
	UsedBytes int64  `json:"used_bytes" doc:"What counts towards its limit."`
	MaxBytes  int64  `json:"max_bytes,omitempty" doc:"Its limit; absent where it has none."`
}
