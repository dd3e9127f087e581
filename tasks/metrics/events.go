package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// eventMetrics says how the events of messages reach the logs of accounts.
type eventMetrics struct {
	gathered prometheus.Counter
	waited   prometheus.Gauge
}

func newEventMetrics() eventMetrics {
	return eventMetrics{
		gathered: counter("events_gathered_total", "Events of messages that the logs of accounts got."),
		waited: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sendlimit_events_waited_seconds",
			Help: "How long the oldest event had waited to be gathered, at the last round over all partitions; 0 for none.",
		}),
	}
}

func (m eventMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.gathered, m.waited}
}

// EventsGathered counts events that logs got.
func (m *Metrics) EventsGathered(n int) {
	if m == nil {
		return
	}
	m.events.gathered.Add(float64(n))
}

// EventsWaited sets how long the oldest event had waited, 0 for none.
func (m *Metrics) EventsWaited(d time.Duration) {
	if m == nil {
		return
	}
	m.events.waited.Set(d.Seconds())
}
