package message

// EventLimitsDraft is the request to set the limits and alerts of an event. A limit of zero means
// none.
type EventLimitsDraft struct {
	PerMinute int64  `json:"per_minute,omitempty" doc:"How often in a natural minute; absent for no limit."`
	PerHour   int64  `json:"per_hour,omitempty" doc:"How often in a natural hour; absent for no limit."`
	PerDay    int64  `json:"per_day,omitempty" doc:"How often in a natural day; absent for no limit. At least one limit is required."`
	TimeZone  string `json:"time_zone,omitempty" doc:"The IANA time zone of the hours and days. By default UTC."`
	AlertAt   []int  `json:"alert_at,omitempty" doc:"Percents of the limit of the longest period at which alert_to is alerted, ascending. Requires alert_to."`
	AlertTo   string `json:"alert_to,omitempty" doc:"Where the alerts go: an e-mail address or an https: URL."`
	Custom    bool   `json:"custom,omitempty" doc:"Accept an event that your program counts, not this API. By default such a name is refused."`
}

// EventLimits says how often an event may happen for each key. A limit of zero means none.
type EventLimits struct {
	Event     string `json:"event" doc:"The name of the event."`
	PerMinute int64  `json:"per_minute,omitempty" doc:"How often in a natural minute; absent if there is no limit."`
	PerHour   int64  `json:"per_hour,omitempty" doc:"How often in a natural hour; absent if there is no limit."`
	PerDay    int64  `json:"per_day,omitempty" doc:"How often in a natural day; absent if there is no limit."`
	TimeZone  string `json:"time_zone" doc:"The IANA time zone of the hours and days."`
	AlertAt   []int  `json:"alert_at,omitempty" doc:"Percents of the limit of the longest period that alert; absent if there are no alerts."`
	AlertTo   string `json:"alert_to,omitempty" doc:"Where the alerts go; absent if there are none."`
}

// EventLimitsList is a page of the events that have limits.
type EventLimitsList struct {
	Events     []EventLimits `json:"events" doc:"By name."`
	NextCursor string        `json:"next_cursor,omitempty" doc:"The cursor of the next page; absent if there are no more. The next page may be empty."`
}

// EventLimitsRemoved is the Outcome of an EventLimitsRemoval.
const EventLimitsRemoved = "removed"

// EventLimitsRemoval is the answer to a request to remove limits.
type EventLimitsRemoval struct {
	Outcome string `json:"outcome" doc:"removed"`
	Event   string `json:"event" doc:"The name of the event."`
}
