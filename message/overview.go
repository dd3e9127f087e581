package message

// Overview is the state of the whole system.
type Overview struct {
	At      Time             `json:"at" doc:"When, by the store's clock."`
	Hour    Activity         `json:"hour" doc:"What became of messages in the last 60 minutes."`
	Minutes []ActivityMinute `json:"minutes" doc:"The same by minute, the present one last."`

	BehindMS     int64          `json:"behind_ms" doc:"The queue lag: for how many milliseconds the oldest undelivered message has been due; 0 if none is."`
	DeadLetters  int            `json:"dead_letters" doc:"Messages that were given up."`
	FailedAlerts int            `json:"failed_alerts" doc:"Alerts and reports that were given up."`
	Queue        map[string]int `json:"queue" doc:"How many tasks the queue has in each state."`
	Sending      Sending        `json:"sending" doc:"Whether an operator has stopped all sending."`
	Workers      []Worker       `json:"workers" doc:"The workers, by host and process."`
	Unread       string         `json:"unread,omitempty" doc:"Why a part could not be read: that part is out of date. Absent if everything was read."`
}

// Activity counts outcomes of messages in a span of time.
type Activity struct {
	Accepted  int64            `json:"accepted" doc:"Submits that were accepted."`
	Delivered int64            `json:"delivered" doc:"Messages that were delivered, late ones included."`
	Late      int64            `json:"late" doc:"Messages that were delivered after the tolerance."`
	Postponed int64            `json:"postponed" doc:"Late messages that got a later time."`
	Cancelled int64            `json:"cancelled" doc:"Messages that were cancelled."`
	Retried   int64            `json:"retried" doc:"Dead letters that were retried."`
	Refused   map[string]int64 `json:"refused" doc:"Submits that were refused, by rule, or by code if no rule refused them."`
	Dropped   map[string]int64 `json:"dropped" doc:"Messages that ended unsent, by reason."`
	Failed    map[string]int64 `json:"failed" doc:"Messages that were given up, by reason."`

	LateHalfMS *int64 `json:"late_half_ms,omitempty" doc:"The p50 of the lateness of delivered messages, in milliseconds; absent if there are none."`
	LateMostMS *int64 `json:"late_most_ms,omitempty" doc:"The p99 of the lateness."`
}

// ActivityMinute is the Activity of a minute.
type ActivityMinute struct {
	Start Time `json:"start" doc:"When the minute began."`
	Activity
}

// Worker is a worker process.
type Worker struct {
	Host      string `json:"host" doc:"The name of its machine."`
	PID       int    `json:"pid" doc:"The id of its process."`
	StartedAt Time   `json:"started_at" doc:"When it started."`
	Active    int    `json:"active" doc:"Running tasks. A task may have several messages."`
	Status    string `json:"status" doc:"active, or stopped while it shuts down."`
}

// Forecast counts pending messages by send time.
type Forecast struct {
	CountedAt      Time        `json:"counted_at,omitzero" doc:"When it was counted, by the store's clock; absent before the first count, which the first request starts."`
	Pending        int         `json:"pending" doc:"Messages that have not ended."`
	Overdue        int         `json:"overdue" doc:"Of these, messages whose send time had passed."`
	Minutes        []int       `json:"minutes" doc:"Due messages in each of 60 minutes, beginning with that of counted_at."`
	Hours          []int       `json:"hours" doc:"Due messages in each of 24 hours in UTC, beginning with that of counted_at."`
	Later          []HourCount `json:"later" doc:"Later hours with due messages, up to 400 days ahead."`
	LaterCountedAt Time        `json:"later_counted_at,omitzero" doc:"When the later hours were counted; absent before the first count."`
}

// HourCount is the number of messages due in an hour.
type HourCount struct {
	Start Time `json:"start" doc:"When the hour begins."`
	Count int  `json:"count" doc:"Due messages."`
}
