package keyspace

import (
	"strconv"
	"time"
)

// ActivityMinute returns the key of what became of messages in the minute that begins at a
// time. It shares a hash tag with ActivityHour and ActivityCalls.
func (k Keys) ActivityMinute(start time.Time) string { return k.ofActivity("m:", start) }

// ActivityHour is ActivityMinute for an hour.
func (k Keys) ActivityHour(start time.Time) string { return k.ofActivity("h:", start) }

// ActivityCalls returns the key of the tokens of the last calls that added to these.
func (k Keys) ActivityCalls() string { return k.prefix + ":{activity}:calls" }

func (k Keys) ofActivity(unit string, start time.Time) string {
	return k.prefix + ":{activity}:" + unit + strconv.FormatInt(start.UnixMilli(), 10)
}

// Forecast returns the key of the last forecast of what is due.
func (k Keys) Forecast() string { return k.prefix + ":forecast" }
