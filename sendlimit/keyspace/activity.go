package keyspace

import (
	"strconv"
	"time"
)

// ActivityMinute returns the key of the outcomes of messages in the minute that begins at a time.
// All keys of outcomes share a hash tag.
func (k Keys) ActivityMinute(start time.Time) string { return k.ofActivity("m:", start) }

// ActivityHour is ActivityMinute for an hour.
func (k Keys) ActivityHour(start time.Time) string { return k.ofActivity("h:", start) }

// ActivityDay is ActivityMinute for a natural day of an account and its messages.
func (k Keys) ActivityDay(account string, start time.Time) string {
	return k.ofActivity("d:"+account+":", start)
}

// ActivityCalls returns the key of the tokens of the last calls that added to them.
func (k Keys) ActivityCalls() string { return k.prefix + ":{activity}:calls" }

func (k Keys) ofActivity(unit string, start time.Time) string {
	return k.prefix + ":{activity}:" + unit + strconv.FormatInt(start.UnixMilli(), 10)
}

// Forecast returns the key of the last forecast of due messages.
func (k Keys) Forecast() string { return k.prefix + ":forecast" }
