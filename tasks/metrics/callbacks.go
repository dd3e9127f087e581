package metrics

import "github.com/prometheus/client_golang/prometheus"

// callbackMetrics counts what becomes of events that are posted to accounts. No label says
// which account.
type callbackMetrics struct {
	posted   prometheus.Counter
	failures *prometheus.CounterVec
	dead     prometheus.Counter
	lost     prometheus.Counter
}

func newCallbackMetrics() callbackMetrics {
	return callbackMetrics{
		posted: counter("callback_events_total", "Events that callbacks of accounts have accepted."),
		failures: counters("callback_failures_total",
			"Requests to callbacks of accounts that failed, by reason; they are tried again.", "reason"),
		dead: counter("callback_dead_events_total", "Events that were given up, and are dead events now."),
		lost: counter("callback_lost_events_total", "Events that were removed before their callback got them."),
	}
}

func (m callbackMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.posted, m.failures, m.dead, m.lost}
}

// EventsPosted counts events that a callback accepted.
func (m *Metrics) EventsPosted(n int) {
	if m == nil {
		return
	}
	m.callbacks.posted.Add(float64(n))
}

// CallbackFailed counts a request to a callback that failed, with a reason of package
// notifier.
func (m *Metrics) CallbackFailed(reason string) {
	if m == nil {
		return
	}
	m.callbacks.failures.WithLabelValues(reason).Inc()
}

// EventsDead counts events that were given up.
func (m *Metrics) EventsDead(n int) {
	if m == nil {
		return
	}
	m.callbacks.dead.Add(float64(n))
}

// EventsLost counts events that were removed before their callback got them.
func (m *Metrics) EventsLost(n int) {
	if m == nil {
		return
	}
	m.callbacks.lost.Add(float64(n))
}
