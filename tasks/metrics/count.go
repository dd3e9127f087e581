package metrics

import (
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/quota"
)

func (m *Metrics) count(name string, n int, labels ...string) {
	if m != nil && n > 0 {
		m.counters[name].WithLabelValues(labels...).Add(float64(n))
	}
}

func (m *Metrics) set(name string, value float64) {
	if m != nil {
		m.gauges[name].WithLabelValues().Set(value)
	}
}

func (m *Metrics) observe(name string, d time.Duration) {
	if m != nil {
		m.histograms[name].WithLabelValues().Observe(d.Seconds())
	}
}

// outcomeReplayed replaces accepted in the count of submits for a repeated answer, so that
// the accepted ones add up to the number of messages.
const outcomeReplayed = "replayed"

// Submitted counts the answer to a submit; rule is its rules.Policies.Label.
func (m *Metrics) Submitted(o message.Outcome, rule string) {
	outcome := o.Outcome
	if o.Replayed && o.Outcome == message.Accepted {
		outcome = outcomeReplayed
	}
	m.count("submits_total", 1, outcome, string(o.Code), rule)
}

// Delivered measures a successful delivery: how late it began and how long it took.
func (m *Metrics) Delivered(late, took time.Duration) {
	m.observe("delivery_lateness_seconds", late)
	m.observe("delivery_duration_seconds", took)
}

// AttemptFailed counts a failed attempt to deliver, with a reason of package notifier.
func (m *Metrics) AttemptFailed(reason string, final bool) {
	m.count("delivery_failures_total", 1, reason, strconv.FormatBool(final))
}

// Postponed counts a late message that got another time.
func (m *Metrics) Postponed() { m.count("postponed_total", 1) }

// Dropped counts a message that ended unsent, with a reason of package messages.
func (m *Metrics) Dropped(reason string) { m.count("dropped_total", 1, reason) }

// Uncertain counts a delivery that may or may not have arrived.
func (m *Metrics) Uncertain() { m.count("uncertain_total", 1) }

// Unreadable sets how many due entries of the watch list can't be read.
func (m *Metrics) Unreadable(entries int) { m.set("watch_unreadable", float64(entries)) }

// LostMessages counts accepted messages that the store lost when it evicted keys.
func (m *Metrics) LostMessages(n int) { m.count("lost_messages_total", n) }

// LostPlaces counts places that were freed because their messages had no record.
func (m *Metrics) LostPlaces(n int) { m.count("lost_places_total", n) }

// HandedOver counts messages that the queue got from the watch list.
func (m *Metrics) HandedOver(n int) { m.count("handed_over_total", n) }

// Relayed counts messages that the relay put back into the queue.
func (m *Metrics) Relayed(n int) { m.count("relayed_total", n) }

// ChargeSettled counts a charge that the relay settled.
func (m *Metrics) ChargeSettled(end quota.HoldEnd) {
	m.count("charges_looked_after_total", 1, end.String())
}

// HeldUp measures how long a delivery waited for the pace of the target.
func (m *Metrics) HeldUp(wait time.Duration) { m.observe("pace_wait_seconds", wait) }

// Paused counts a pause that the target asked for.
func (m *Metrics) Paused() { m.count("pauses_total", 1) }

// Announced counts a notice that was delivered.
func (m *Metrics) Announced(kind string) { m.count("notices_delivered_total", 1, kind) }

// AnnounceFailed counts a failed try to deliver a notice.
func (m *Metrics) AnnounceFailed(kind, reason string, final bool) {
	m.count("notice_failures_total", 1, kind, reason, strconv.FormatBool(final))
}

// AnnounceDropped counts a notice that ended undelivered and did not fail.
func (m *Metrics) AnnounceDropped(kind, reason string) {
	m.count("notices_dropped_total", 1, kind, reason)
}

// EventsPosted counts events that a callback accepted.
func (m *Metrics) EventsPosted(n int) { m.count("callback_events_total", n) }

// CallbackFailed counts a failed request to a callback, with a reason of package notifier.
func (m *Metrics) CallbackFailed(reason string) { m.count("callback_failures_total", 1, reason) }

// EventsDead counts events that were given up.
func (m *Metrics) EventsDead(n int) { m.count("callback_dead_events_total", n) }

// EventsLost counts events that were removed before their callback got them.
func (m *Metrics) EventsLost(n int) { m.count("callback_lost_events_total", n) }

// EventsGathered counts events that were moved to the logs of accounts.
func (m *Metrics) EventsGathered(n int) { m.count("events_gathered_total", n) }

// EventsWaited sets how long the oldest event had waited, 0 for none.
func (m *Metrics) EventsWaited(d time.Duration) { m.set("events_waited_seconds", d.Seconds()) }

// ChannelDelivered counts a message that the provider of a channel accepted.
func (m *Metrics) ChannelDelivered(channel string) { m.count("channel_deliveries_total", 1, channel) }

// ChannelFailed counts a message that the provider of a channel did not accept, with a reason
// of package notifier.
func (m *Metrics) ChannelFailed(channel, reason string) {
	m.count("channel_failures_total", 1, channel, reason)
}

// DevicesRemoved counts removed devices.
func (m *Metrics) DevicesRemoved(channel, reason string, n int) {
	m.count("devices_removed_total", n, channel, reason)
}

// DeviceKept counts a device that stays although its provider called it gone.
func (m *Metrics) DeviceKept(channel string) { m.count("devices_kept_total", 1, channel) }

// ChannelPaused counts a pause that a provider asked for; pause names what waits.
func (m *Metrics) ChannelPaused(channel, pause string) {
	m.count("channel_pauses_total", 1, channel, pause)
}

// Learned sets the learned rate of a target, calls in a second; zero if there is none.
func (m *Metrics) Learned(target string, rate float64) {
	if m == nil {
		return
	}
	learned := m.gauges["pace_learned_rate"]
	if rate == 0 {
		learned.DeleteLabelValues(target)
		return
	}
	learned.WithLabelValues(target).Set(rate)
}

// SendingStopped sets whether an operator has stopped all sending.
func (m *Metrics) SendingStopped(stopped bool) {
	if m == nil {
		return
	}
	value := 0.0
	if stopped {
		value = 1
	}
	m.gauges["sending_stopped"].WithLabelValues().Set(value)
}

// ChannelStopped sets why a channel is stopped, in place of the reason before; "" for a channel
// that runs.
func (m *Metrics) ChannelStopped(channel, before, reason string) {
	if m == nil {
		return
	}
	stopped := m.gauges["channel_stopped"]
	if before != "" && before != reason {
		stopped.DeleteLabelValues(channel, before)
	}
	if reason != "" {
		stopped.WithLabelValues(channel, reason).Set(1)
	}
}
