package message

// Stats is the state of the queue and the store.
type Stats struct {
	Version              string         `json:"version" doc:"The version of the program that answers."`
	Pending              int            `json:"pending" doc:"Messages that have not ended, in the schedule and in the queue."`
	Queue                map[string]int `json:"queue" doc:"Tasks in the queue by state: scheduled, pending, active, retry and archived. A message is in the queue when it is due soon."`
	DeadLetters          int            `json:"dead_letters" doc:"Messages that were given up. It may include a few that are none any more."`
	FailedAlerts         int            `json:"failed_alerts" doc:"Quota alerts and reports that were given up."`
	OldestOverdueSeconds float64        `json:"oldest_overdue_seconds" doc:"Seconds since the oldest entry of the schedule was due to be handed over to the queue, or to be checked; 0 for none. More than half the horizon means that messages may be late."`
	Store                []StoreMemory  `json:"store" doc:"The store's servers that report their memory."`
}

// StoreMemory is the memory of one server of the store.
type StoreMemory struct {
	Server    string `json:"server" doc:"Its address; empty if there is only one server."`
	UsedBytes int64  `json:"used_bytes" doc:"Memory in use that counts towards the limit."`
	MaxBytes  int64  `json:"max_bytes,omitempty" doc:"Its limit; absent if it has none."`
}
