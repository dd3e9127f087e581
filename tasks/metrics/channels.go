package metrics

import "github.com/prometheus/client_golang/prometheus"

// channelMetrics says what becomes of messages in each channel. No label says which device.
type channelMetrics struct {
	sends    *prometheus.CounterVec
	failures *prometheus.CounterVec
	removals *prometheus.CounterVec
	kept     *prometheus.CounterVec
	stopped  *prometheus.GaugeVec
	pauses   *prometheus.CounterVec
}

func newChannelMetrics() channelMetrics {
	return channelMetrics{
		sends: counters("channel_deliveries_total",
			"Messages that the provider of a channel accepted: one for each device.", "channel"),
		failures: counters("channel_failures_total",
			"Messages that the provider of a channel did not accept, by reason: one for each device and attempt.", "channel", "reason"),
		removals: counters("devices_removed_total", "Devices that were removed, as their provider knows them no more.", "channel", "reason"),
		kept: counters("devices_kept_total",
			"Times that a device was kept though its provider called it gone, since too many were called so.", "channel"),
		stopped: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sendlimit_channel_stopped",
			Help: "1 while a channel is stopped and its messages wait, by reason; there is no series while it runs.",
		}, []string{"channel", "reason"}),
		pauses: counters("channel_pauses_total", "Times that the provider of a channel asked to wait, by what waits.", "channel", "pause"),
	}
}

func (m channelMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.sends, m.failures, m.removals, m.kept, m.stopped, m.pauses}
}

// ChannelDelivered counts a message that the provider of a channel accepted.
func (m *Metrics) ChannelDelivered(channel string) {
	if m == nil {
		return
	}
	m.channels.sends.WithLabelValues(channel).Inc()
}

// ChannelFailed counts a message that the provider of a channel did not accept, with a reason
// of package notifier.
func (m *Metrics) ChannelFailed(channel, reason string) {
	if m == nil {
		return
	}
	m.channels.failures.WithLabelValues(channel, reason).Inc()
}

// DevicesRemoved counts devices that were removed.
func (m *Metrics) DevicesRemoved(channel, reason string, n int) {
	if m == nil || n == 0 {
		return
	}
	m.channels.removals.WithLabelValues(channel, reason).Add(float64(n))
}

// DeviceKept counts a device that stays though its provider called it gone.
func (m *Metrics) DeviceKept(channel string) {
	if m == nil {
		return
	}
	m.channels.kept.WithLabelValues(channel).Inc()
}

// ChannelStopped sets why a channel is stopped, in place of the reason before; "" for a channel
// that runs.
func (m *Metrics) ChannelStopped(channel, before, reason string) {
	if m == nil {
		return
	}
	if before != "" && before != reason {
		m.channels.stopped.DeleteLabelValues(channel, before)
	}
	if reason != "" {
		m.channels.stopped.WithLabelValues(channel, reason).Set(1)
	}
}

// ChannelPaused counts a pause that a provider asked for, by what waits.
func (m *Metrics) ChannelPaused(channel, pause string) {
	if m == nil {
		return
	}
	m.channels.pauses.WithLabelValues(channel, pause).Inc()
}
