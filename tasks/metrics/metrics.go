package metrics

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/quota"
)

// Metrics counts and measures what submitters and workers do. No label holds a user, an id
// or content. A nil *Metrics is valid and counts nothing.
type Metrics struct {
	submits   *prometheus.CounterVec
	lateness  prometheus.Histogram
	duration  prometheus.Histogram
	failures  *prometheus.CounterVec
	postpones prometheus.Counter
	drops     *prometheus.CounterVec
	doubts    prometheus.Counter
	oldest    prometheus.Gauge
	unread    prometheus.Gauge
	handed    prometheus.Counter
	relays    prometheus.Counter
	lost      prometheus.Counter
	charges   *prometheus.CounterVec
	notices   noticeMetrics
	callbacks callbackMetrics
	events    eventMetrics
	channels  channelMetrics
	scripts   *prometheus.HistogramVec
	paces     prometheus.Histogram
	pauses    prometheus.Counter
}

// outcomeReplayed replaces accepted in the count of submits for a repeated answer, so that
// the accepted ones add up to the number of messages.
const outcomeReplayed = "replayed"

// New returns metrics that r gathers. It returns an error if r has one of these names
// already.
func New(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		submits: counters("submits_total", "Submits by outcome, code and the first rule that would break.",
			"outcome", "code", "rule"),
		lateness: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sendlimit_delivery_lateness_seconds",
			Help: "How long after the time it was promised for the delivery of a message began.",
			// Up to the expiry of a message; the tolerance is 2 s.
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2, 5, 15, 60, 300, 900, 3600, 14400, 86400},
		}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "sendlimit_delivery_duration_seconds",
			Help:    "How long the provider took to take or refuse a message.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}),
		failures: counters("delivery_failures_total",
			"Attempts to deliver that failed, by reason; final ones are not tried again.", "reason", "final"),
		postpones: counter("postponed_total", "Late messages that got a later time, since the rules left none at once."),
		drops:     counters("dropped_total", "Messages that ended unsent, by reason.", "reason"),
		doubts:    counter("uncertain_total", "Deliveries whose outcome is unknown: the provider may or may not have the message."),
		oldest: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sendlimit_watch_oldest_overdue_seconds",
			Help: "How long the oldest entry of the watch list has been due, at the last pass of the relay; 0 for none.",
		}),
		unread: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sendlimit_watch_unreadable",
			Help: "Due entries of the watch list that this program can't read, at the last pass of the relay.",
		}),
		lost:   counter("lost_places_total", "Places that were freed since their messages had no record."),
		handed: counter("handed_over_total", "Messages that were due soon, and that the queue got from the watch list."),
		relays: counter("relayed_total", "Messages that the queue did not have, and that the relay put back."),
		charges: counters("charges_looked_after_total",
			"Charges of accounts that were left open, and that the relay settled, by how.", "end"),
		notices:   newNoticeMetrics(),
		callbacks: newCallbackMetrics(),
		events:    newEventMetrics(),
		channels:  newChannelMetrics(),
		scripts: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "sendlimit_script_duration_seconds",
			Help:    "Time from the call of a script to its answer; of one in a pipeline, to the end of the pipeline.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"script"}),
		paces: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "sendlimit_pace_wait_seconds",
			Help:    "How long deliveries under a pace, or during a pause, waited at a time.",
			Buckets: []float64{.001, .005, .01, .05, .1, .25, .5, 1, 2, 5, 15, 60, 300, 900, 3600},
		}),
		pauses: counter("pauses_total", "Times that the push target asked for a pause, with 429 and Retry-After."),
	}
	var failed []error
	for _, c := range append(slices.Concat(m.notices.collectors(), m.callbacks.collectors(), m.events.collectors(), m.channels.collectors()),
		m.submits, m.lateness, m.duration, m.failures, m.postpones, m.drops, m.doubts, m.oldest, m.unread, m.lost, m.handed, m.relays, m.charges, m.scripts,
		m.paces, m.pauses,
	) {
		failed = append(failed, r.Register(c))
	}
	if err := errors.Join(failed...); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return m, nil
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: "sendlimit_" + name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sendlimit_" + name, Help: help}, labels)
}

// Submitted counts the answer to a submit; rule is its rules.Policies.Label.
func (m *Metrics) Submitted(o message.Outcome, rule string) {
	if m == nil {
		return
	}
	outcome := o.Outcome
	if o.Replayed && o.Outcome == message.Accepted {
		outcome = outcomeReplayed
	}
	m.submits.WithLabelValues(outcome, string(o.Code), rule).Inc()
}

// Delivered measures a successful delivery: how late it began and how long it took.
func (m *Metrics) Delivered(late, took time.Duration) {
	if m == nil {
		return
	}
	m.lateness.Observe(late.Seconds())
	m.duration.Observe(took.Seconds())
}

// AttemptFailed counts a failed attempt to deliver, with a reason of package notifier.
func (m *Metrics) AttemptFailed(reason string, final bool) {
	if m == nil {
		return
	}
	m.failures.WithLabelValues(reason, strconv.FormatBool(final)).Inc()
}

// Postponed counts a late message that got another time.
func (m *Metrics) Postponed() {
	if m == nil {
		return
	}
	m.postpones.Inc()
}

// Dropped counts a message that ended unsent, with a reason of package messages.
func (m *Metrics) Dropped(reason string) {
	if m == nil {
		return
	}
	m.drops.WithLabelValues(reason).Inc()
}

// Uncertain counts a delivery that may or may not have arrived.
func (m *Metrics) Uncertain() {
	if m == nil {
		return
	}
	m.doubts.Inc()
}

// Overdue sets how long the oldest entry of the watch list has been due, 0 for none.
func (m *Metrics) Overdue(oldest time.Duration) {
	if m == nil {
		return
	}
	m.oldest.Set(oldest.Seconds())
}

// Unreadable sets how many due entries of the watch list can't be read.
func (m *Metrics) Unreadable(entries int) {
	if m == nil {
		return
	}
	m.unread.Set(float64(entries))
}

// LostPlaces counts places that were freed since their messages had no record.
func (m *Metrics) LostPlaces(n int) {
	if m == nil {
		return
	}
	m.lost.Add(float64(n))
}

// HandedOver counts messages that the queue got from the watch list.
func (m *Metrics) HandedOver(n int) {
	if m == nil {
		return
	}
	m.handed.Add(float64(n))
}

// Relayed counts messages that the relay put back into the queue.
func (m *Metrics) Relayed(n int) {
	if m == nil {
		return
	}
	m.relays.Add(float64(n))
}

// HeldUp measures how long a delivery waited for the pace of the target.
func (m *Metrics) HeldUp(wait time.Duration) {
	if m == nil {
		return
	}
	m.paces.Observe(wait.Seconds())
}

// Paused counts a pause that the target asked for.
func (m *Metrics) Paused() {
	if m == nil {
		return
	}
	m.pauses.Inc()
}

// ChargeSettled counts a charge that the relay settled.
func (m *Metrics) ChargeSettled(end quota.HoldEnd) {
	if m == nil {
		return
	}
	m.charges.WithLabelValues(end.String()).Inc()
}
