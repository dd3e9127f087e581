package overview

import (
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/activity"
	"github.com/sendlimit/sendlimiter/records/forecast"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// Overview is the state of the whole system. Do not change it: many may have the same.
type Overview struct {
	At time.Time // by the store's clock

	// Minutes are the last 60 minutes, the present one last; LastHour is their sum.
	Minutes  []activity.Span
	LastHour activity.Counts

	// Forecast says what is due when. It is zero until it is counted: the first one
	// who looks has that done.
	Forecast forecast.Forecast

	// Behind is how long the oldest entry of the schedule has been due: how far hand-over to
	// the queue, or the delivery, is behind. Zero for not at all.
	Behind  time.Duration
	Horizon time.Duration // how long before their time messages go to the queue

	DeadLetters  int // messages that were given up
	FailedAlerts int // alerts and reports that were given up
	Queue        map[string]int
	Memory       []message.StoreMemory

	Workers  []queue.ServerInfo
	Pace     Pace // of all messages
	Channels []Channel

	// Failed says what could not be read: the parts that it concerns are as they were.
	Failed error
}

// Channel is the state of a channel that has delivered something, or is stopped.
type Channel struct {
	Name    string
	Stopped bool
	Reason  string // why it is stopped
	Detail  string // what its provider said
	Since   time.Time
	Pace    Pace
}

// Pace is how fast all workers together deliver.
type Pace struct {
	Rate        string // "" for as fast as they can
	Burst       int64
	PausedUntil time.Time // zero if the target has not asked for a pause
}
