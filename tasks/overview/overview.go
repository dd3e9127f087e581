package overview

import (
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/activity"
	"github.com/sendlimit/sendlimiter/records/forecast"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// Overview is the state of the whole system. Do not change it: callers share it.
type Overview struct {
	At time.Time // by the store's clock

	// Minutes are the last 60 minutes, the present one last; LastHour is their sum.
	Minutes  []activity.Span
	LastHour activity.Counts

	// Forecast counts due messages. It is zero until the first count has ended.
	Forecast forecast.Forecast

	// Behind is how long the oldest entry of the schedule has been due: the lag of hand-over to
	// the queue, or of delivery. Zero for none.
	Behind  time.Duration
	Horizon time.Duration // how long before their time messages go to the queue

	DeadLetters  int // messages that were given up
	FailedAlerts int // alerts and reports that were given up
	Queue        map[string]int
	Memory       []message.StoreMemory

	Sending *channels.SendingStop // nil unless an operator has stopped all sending

	Workers  []queue.ServerInfo
	Pace     Pace // of all messages
	Channels []Channel

	// Failed says which parts could not be read: they are as they were.
	Failed error
}

// Channel is the state of a channel that has delivered, or is stopped.
type Channel struct {
	Name    string
	Stopped bool
	Reason  string // why it is stopped
	Detail  string // its provider's words
	Since   time.Time
	Pace    Pace
}

// Pace is a pace of all workers together.
type Pace struct {
	Rate        string // "" for none
	Burst       int64
	PausedUntil time.Time            // zero if the target has not asked for a pause
	Learned     *message.LearnedPace // nil if the target has refused no call for an hour
}
