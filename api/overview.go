package api

import (
	"context"
	"net/http"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/activity"
)

func (s *server) overviewRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("getOverview", http.MethodGet, "/v1/overview", "operation",
				"Get an overview of the system",
				"Outcomes of the last hour, workers, and problems, as on the dashboard. It is at most a second old; lists "+
					"of the whole store at most 15 seconds. See also listChannels and getForecast."),
			scope: accounts.ScopeAdmin, says: "The overview.",
		}, s.showOverview),
		operation(s, route{
			Operation: named("getForecast", http.MethodGet, "/v1/forecast", "operation",
				"Get how many messages are due when",
				"Counted while clients request it, with at most 0.5 % of the store's time: with few messages it is a few seconds old, with millions some minutes."),
			scope: accounts.ScopeAdmin, says: "The forecast.",
		}, s.showForecast),
	}
}

func (s *server) showOverview(ctx context.Context, _ nothing) (message.Overview, error) {
	o, err := s.Overview.Read(ctx, s.Now())
	if err != nil {
		return message.Overview{}, err
	}
	shown := message.Overview{
		At: message.Time{Time: o.At}, Hour: activityOf(o.LastHour), Minutes: make([]message.ActivityMinute, len(o.Minutes)),
		BehindMS: o.Behind.Milliseconds(), DeadLetters: o.DeadLetters, FailedAlerts: o.FailedAlerts, Queue: o.Queue, Workers: make([]message.Worker, len(o.Workers)),
	}
	shown.Sending = sendingOf(o.Sending)
	for i, m := range o.Minutes {
		shown.Minutes[i] = message.ActivityMinute{Start: message.Time{Time: m.Start}, Activity: activityOf(m.Counts)}
	}
	for i, w := range o.Workers {
		shown.Workers[i] = message.Worker{Host: w.Host, PID: w.PID, StartedAt: message.Time{Time: w.Started}, Active: w.Active, Status: w.Status}
	}
	if shown.Queue == nil {
		shown.Queue = map[string]int{}
	}
	if o.Failed != nil {
		shown.Unread = s.outcomeOf(ctx, o.Failed).Detail
	}
	return shown, nil
}

// activityOf returns counts in the form of answers.
func activityOf(c activity.Counts) message.Activity {
	some := func(counts map[string]int64) map[string]int64 {
		if counts == nil {
			return map[string]int64{}
		}
		return counts
	}
	late := func(share float64) *int64 {
		if d, ok := c.Lateness.Quantile(share); ok {
			return new(d.Milliseconds())
		}
		return nil
	}
	return message.Activity{
		Accepted: c.Accepted, Delivered: c.Delivered, Late: c.Late, Postponed: c.Postponed, Cancelled: c.Cancelled, Retried: c.Retried,
		Refused: some(c.Refused), Dropped: some(c.Dropped), Failed: some(c.Failed), LateHalfMS: late(0.5), LateMostMS: late(0.99),
	}
}

func (s *server) showForecast(ctx context.Context, _ nothing) (message.Forecast, error) {
	o, err := s.Overview.Read(ctx, s.Now())
	if err != nil {
		return message.Forecast{}, err
	}
	f := o.Forecast
	shown := message.Forecast{
		CountedAt: message.Time{Time: f.At}, Pending: f.Pending, Overdue: f.Overdue, Minutes: f.Minutes, Hours: f.Hours,
		Later: []message.HourCount{}, LaterCountedAt: message.Time{Time: f.HeatAt},
	}
	if f.At.IsZero() {
		shown.Minutes, shown.Hours = []int{}, []int{}
	}
	for _, h := range f.Heat {
		if !h.Start.Before(f.End()) {
			shown.Later = append(shown.Later, message.HourCount{Start: message.Time{Time: h.Start}, Count: h.Count})
		}
	}
	return shown, nil
}
