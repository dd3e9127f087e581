package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// noticeMetrics counts what becomes of notices. No label says what a notice is about.
type noticeMetrics struct {
	delivered *prometheus.CounterVec
	failures  *prometheus.CounterVec
	drops     *prometheus.CounterVec
}

func newNoticeMetrics() noticeMetrics {
	return noticeMetrics{
		delivered: counters("notices_delivered_total", "Alerts and reports that were delivered, by kind.", "kind"),
		failures: counters("notice_failures_total",
			"Tries to deliver an alert or a report that failed, by kind and reason; final ones are dead letters.", "kind", "reason", "final"),
		drops: counters("notices_dropped_total", "Alerts and reports that were not to be delivered any more, by kind and reason.",
			"kind", "reason"),
	}
}

func (m noticeMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.delivered, m.failures, m.drops}
}

// Announced counts a notice that was delivered.
func (m *Metrics) Announced(kind string) {
	if m == nil {
		return
	}
	m.notices.delivered.WithLabelValues(kind).Inc()
}

// AnnounceFailed counts a failed try to deliver a notice.
func (m *Metrics) AnnounceFailed(kind, reason string, final bool) {
	if m == nil {
		return
	}
	m.notices.failures.WithLabelValues(kind, reason, strconv.FormatBool(final)).Inc()
}

// AnnounceDropped counts a notice that ended undelivered and did not fail.
func (m *Metrics) AnnounceDropped(kind, reason string) {
	if m == nil {
		return
	}
	m.notices.drops.WithLabelValues(kind, reason).Inc()
}
