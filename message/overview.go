package message

// Overview says how the whole system is doing.
type Overview struct {
	At      Time             `json:"at" doc:"When, by the store's clock."`
	Hour    Activity         `json:"hour" doc:"What became of messages in the last 60 minutes."`
	Minutes []ActivityMinute `json:"minutes" doc:"The same by minute, the present one last."`

	BehindMS     int64          `json:"behind_ms" doc:"For how many milliseconds the oldest message has been due and is not delivered; 0 if none is."`
	DeadLetters  int            `json:"dead_letters" doc:"Messages that were given up."`
	FailedAlerts int            `json:"failed_alerts" doc:"Alerts and reports that were given up."`
	Queue        map[string]int `json:"queue" doc:"How many tasks the queue has in each state."`
	Workers      []Worker       `json:"workers" doc:"The workers, by host and process."`
	Unread       string         `json:"unread,omitempty" doc:"Why a part could not be read: it is as it was. Absent if all could."`
}

// Activity counts what became of messages in a span of time.
type Activity struct {
	Accepted  int64            `json:"accepted" doc:"Submits that were accepted."`
	Delivered int64            `json:"delivered" doc:"Messages that were delivered, late ones included."`
	Late      int64            `json:"late" doc:"Messages that were delivered after the tolerance."`
	Postponed int64            `json:"postponed" doc:"Late messages that got a later time."`
	Cancelled int64            `json:"cancelled" doc:"Messages that were cancelled."`
	Retried   int64            `json:"retried" doc:"Dead letters that wait again."`
	Refused   map[string]int64 `json:"refused" doc:"Submits that were refused, by rule, or by code if it was no rule."`
	Dropped   map[string]int64 `json:"dropped" doc:"Messages that ended unsent, by reason."`
	Failed    map[string]int64 `json:"failed" doc:"Messages that were given up, by reason."`

	LateHalfMS *int64 `json:"late_half_ms,omitempty" doc:"How late half of the delivered messages were at most, in milliseconds; absent without any."`
	LateMostMS *int64 `json:"late_most_ms,omitempty" doc:"The same of 99 % of them."`
}

// ActivityMinute is the Activity of a minute.
type ActivityMinute struct {
	Start Time `json:"start" doc:"When the minute began."`
	Activity
}

// Worker is a process that delivers.
type Worker struct {
	Host      string `json:"host" doc:"The name of its machine."`
	PID       int    `json:"pid" doc:"The id of its process."`
	StartedAt Time   `json:"started_at" doc:"When it started."`
	Active    int    `json:"active" doc:"How many tasks it is working on. A task may be for several messages."`
	Status    string `json:"status" doc:"active, or stopped while it ends."`
}

// Forecast says how many pending messages are due when.
type Forecast struct {
	CountedAt      Time        `json:"counted_at,omitzero" doc:"When it was counted, by the store's clock; absent until then. The first request has it counted."`
	Pending        int         `json:"pending" doc:"Messages that have not ended."`
	Overdue        int         `json:"overdue" doc:"Those whose send time had passed."`
	Minutes        []int       `json:"minutes" doc:"How many are due in each of 60 minutes, from that of counted_at on."`
	Hours          []int       `json:"hours" doc:"How many are due in each of 24 hours of UTC, from that of counted_at on."`
	Later          []HourCount `json:"later" doc:"The hours after those in which some are due, up to 400 days ahead."`
	LaterCountedAt Time        `json:"later_counted_at,omitzero" doc:"When the later hours were counted; absent until then."`
}

// HourCount is how many messages are due in an hour.
type HourCount struct {
	Start Time `json:"start" doc:"When the hour begins."`
	Count int  `json:"count" doc:"How many are due."`
}
