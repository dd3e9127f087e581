package metrics

import (
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts and measures what submitters and workers do. No label holds a user, an account,
// an id or content. A nil *Metrics is valid and counts nothing.
type Metrics struct { // each by its name without the prefix
	counters   map[string]*prometheus.CounterVec
	gauges     map[string]*prometheus.GaugeVec
	histograms map[string]*prometheus.HistogramVec
}

// metric describes a metric: a counter if its name ends with _total, a histogram if it has
// buckets, otherwise a gauge.
type metric struct {
	name, help string
	labels     []string
	buckets    []float64
}

func table() []metric {
	return []metric{
		{name: "submits_total", help: "Submits by outcome, code and the first rule that would break.", labels: []string{"outcome", "code", "rule"}},
		{
			name: "delivery_lateness_seconds", help: "How long after the time it was promised for the delivery of a message began.",
			// Up to the expiry of a message; the tolerance is 2 s.
			buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2, 5, 15, 60, 300, 900, 3600, 14400, 86400},
		},
		{
			name: "delivery_duration_seconds", help: "How long the provider took to take or refuse a message.",
			buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		},
		{name: "delivery_failures_total", help: "Attempts to deliver that failed, by reason; final ones are not tried again.", labels: []string{"reason", "final"}},
		{name: "postponed_total", help: "Late messages that got a later time, since the rules left none at once."},
		{name: "dropped_total", help: "Messages that ended unsent, by reason.", labels: []string{"reason"}},
		{name: "uncertain_total", help: "Deliveries whose outcome is unknown: the provider may or may not have the message."},
		{name: "watch_unreadable", help: "Due entries of the watch list that this program can't read, at the last pass of the relay."},
		{name: "lost_messages_total", help: "Accepted messages that the store is known to have lost when it evicted keys: those that lost all their keys leave no trace."},
		{name: "lost_places_total", help: "Places that were freed since their messages had no record."},
		{name: "handed_over_total", help: "Messages that were due soon, and that the queue got from the watch list."},
		{name: "relayed_total", help: "Messages that the queue did not have, and that the relay put back."},
		{name: "charges_looked_after_total", help: "Charges of accounts that were left open, and that the relay settled, by how.", labels: []string{"end"}},
		{
			name: "script_duration_seconds", help: "Time from the call of a script to its answer; of one in a pipeline, to the end of the pipeline.",
			labels: []string{"script"}, buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		},
		{
			name: "pace_wait_seconds", help: "How long deliveries under a pace, or during a pause, waited at a time.",
			buckets: []float64{.001, .005, .01, .05, .1, .25, .5, 1, 2, 5, 15, 60, 300, 900, 3600},
		},
		{
			name: "pace_learned_rate", help: "Calls in a second of all workers together that a target accepts, as its refusals have shown; there is no series for one that refused none for an hour.",
			labels: []string{"target"},
		},
		{name: "pauses_total", help: "Times that the push target asked for a pause, with 429 and Retry-After."},

		{name: "notices_delivered_total", help: "Alerts and reports that were delivered, by kind.", labels: []string{"kind"}},
		{
			name: "notice_failures_total", help: "Tries to deliver an alert or a report that failed, by kind and reason; final ones are dead letters.",
			labels: []string{"kind", "reason", "final"},
		},
		{name: "notices_dropped_total", help: "Alerts and reports that were not to be delivered any more, by kind and reason.", labels: []string{"kind", "reason"}},

		{name: "callback_events_total", help: "Events that callbacks of accounts have accepted."},
		{name: "callback_failures_total", help: "Requests to callbacks of accounts that failed, by reason; they are tried again.", labels: []string{"reason"}},
		{name: "callback_dead_events_total", help: "Events that were given up, and are dead events now."},
		{name: "callback_lost_events_total", help: "Events that were removed before their callback got them."},
		{name: "events_gathered_total", help: "Events of messages that the logs of accounts got."},
		{name: "events_waited_seconds", help: "How long the oldest event had waited to be gathered, at the last round over all partitions; 0 for none."},

		{name: "channel_deliveries_total", help: "Messages that the provider of a channel accepted: one for each device.", labels: []string{"channel"}},
		{
			name: "channel_failures_total", help: "Messages that the provider of a channel did not accept, by reason: one for each device and attempt.",
			labels: []string{"channel", "reason"},
		},
		{name: "devices_removed_total", help: "Devices that were removed, as their provider knows them no more.", labels: []string{"channel", "reason"}},
		{name: "devices_kept_total", help: "Times that a device was kept though its provider called it gone, since too many were called so.", labels: []string{"channel"}},
		{
			name: "channel_stopped", help: "1 while a channel is stopped and its messages wait, by reason; there is no series while it runs.",
			labels: []string{"channel", "reason"},
		},
		{name: "sending_stopped", help: "1 in workers while an operator has stopped all sending, and messages wait; otherwise 0."},
		{name: "channel_pauses_total", help: "Times that the provider of a channel asked to wait, by what waits.", labels: []string{"channel", "pause"}},
	}
}

// New returns metrics that r gathers. It returns an error if r has one of these names
// already.
func New(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		counters: make(map[string]*prometheus.CounterVec), gauges: make(map[string]*prometheus.GaugeVec),
		histograms: make(map[string]*prometheus.HistogramVec),
	}
	var failed []error
	for _, d := range table() {
		failed = append(failed, r.Register(m.add(d)))
	}
	if err := errors.Join(failed...); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return m, nil
}

// add adds a metric. One without labels is exported from the start.
func (m *Metrics) add(d metric) prometheus.Collector {
	o := prometheus.Opts{Name: "sendlimit_" + d.name, Help: d.help}
	switch {
	case strings.HasSuffix(d.name, "_total"):
		c := prometheus.NewCounterVec(prometheus.CounterOpts(o), d.labels)
		if m.counters[d.name] = c; len(d.labels) == 0 {
			c.WithLabelValues()
		}
		return c
	case d.buckets != nil:
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: o.Name, Help: o.Help, Buckets: d.buckets}, d.labels)
		if m.histograms[d.name] = h; len(d.labels) == 0 {
			h.WithLabelValues()
		}
		return h
	default:
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts(o), d.labels)
		if m.gauges[d.name] = g; len(d.labels) == 0 {
			g.WithLabelValues()
		}
		return g
	}
}
