package metrics

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
)

func TestMetricsCount(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	m, err := New(registry)
	require.NoError(t, err)

	m.Submitted(message.Outcome{Outcome: message.Accepted}, "")
	m.Submitted(message.Outcome{Outcome: message.Accepted, Shifted: true}, "")
	m.Submitted(message.Outcome{Outcome: message.Accepted, Replayed: true}, "")
	m.Submitted(message.Outcome{Outcome: message.Refused, Code: "send_limit"}, "1/minute")
	m.Submitted(message.Outcome{Outcome: message.Refused, Code: "id_reused"}, "")
	m.Submitted(message.Outcome{Outcome: message.Errored, Code: "store_full"}, "")
	m.Delivered(250*time.Millisecond, 20*time.Millisecond)
	m.Delivered(3*time.Second, time.Second)
	m.AttemptFailed("timeout", false)
	m.AttemptFailed("gone", true)
	m.Postponed()
	m.Dropped("expired")
	m.Uncertain()
	m.Unreadable(3)
	m.HandedOver(9)
	m.Relayed(0)
	m.Relayed(7)
	m.HeldUp(time.Second)
	m.HeldUp(3 * time.Second)
	m.Paused()
	m.EventsGathered(5)
	m.EventsWaited(1500 * time.Millisecond)
	m.EventsPosted(5)
	m.CallbackFailed("gone")
	m.EventsDead(2)
	m.EventsLost(3)

	const want = `
# HELP sendlimit_callback_dead_events_total Events that were given up, and are dead events now.
# TYPE sendlimit_callback_dead_events_total counter
sendlimit_callback_dead_events_total 2
# HELP sendlimit_callback_events_total Events that callbacks of accounts have accepted.
# TYPE sendlimit_callback_events_total counter
sendlimit_callback_events_total 5
# HELP sendlimit_callback_failures_total Requests to callbacks of accounts that failed, by reason; they are tried again.
# TYPE sendlimit_callback_failures_total counter
sendlimit_callback_failures_total{reason="gone"} 1
# HELP sendlimit_callback_lost_events_total Events that were removed before their callback got them.
# TYPE sendlimit_callback_lost_events_total counter
sendlimit_callback_lost_events_total 3
# HELP sendlimit_delivery_failures_total Attempts to deliver that failed, by reason; final ones are not tried again.
# TYPE sendlimit_delivery_failures_total counter
sendlimit_delivery_failures_total{final="false",reason="timeout"} 1
sendlimit_delivery_failures_total{final="true",reason="gone"} 1
# HELP sendlimit_dropped_total Messages that ended unsent, by reason.
# TYPE sendlimit_dropped_total counter
sendlimit_dropped_total{reason="expired"} 1
# HELP sendlimit_events_gathered_total Events of messages that the logs of accounts got.
# TYPE sendlimit_events_gathered_total counter
sendlimit_events_gathered_total 5
# HELP sendlimit_events_waited_seconds How long the oldest event had waited to be gathered, at the last round over all partitions; 0 for none.
# TYPE sendlimit_events_waited_seconds gauge
sendlimit_events_waited_seconds 1.5
# HELP sendlimit_handed_over_total Messages that were due soon, and that the queue got from the watch list.
# TYPE sendlimit_handed_over_total counter
sendlimit_handed_over_total 9
# HELP sendlimit_postponed_total Late messages that got a later time, since the rules left none at once.
# TYPE sendlimit_postponed_total counter
sendlimit_postponed_total 1
# HELP sendlimit_relayed_total Messages that the queue did not have, and that the relay put back.
# TYPE sendlimit_relayed_total counter
sendlimit_relayed_total 7
# HELP sendlimit_submits_total Submits by outcome, code and the first rule that would break.
# TYPE sendlimit_submits_total counter
sendlimit_submits_total{code="",outcome="accepted",rule=""} 2
sendlimit_submits_total{code="",outcome="replayed",rule=""} 1
sendlimit_submits_total{code="id_reused",outcome="refused",rule=""} 1
sendlimit_submits_total{code="send_limit",outcome="refused",rule="1/minute"} 1
sendlimit_submits_total{code="store_full",outcome="error",rule=""} 1
# HELP sendlimit_uncertain_total Deliveries whose outcome is unknown: the provider may or may not have the message.
# TYPE sendlimit_uncertain_total counter
sendlimit_uncertain_total 1
# HELP sendlimit_watch_unreadable Due entries of the watch list that this program can't read, at the last pass of the relay.
# TYPE sendlimit_watch_unreadable gauge
sendlimit_watch_unreadable 3
`
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(want),
		"sendlimit_callback_dead_events_total", "sendlimit_callback_events_total", "sendlimit_callback_failures_total",
		"sendlimit_callback_lost_events_total", "sendlimit_events_gathered_total", "sendlimit_events_waited_seconds",
		"sendlimit_delivery_failures_total", "sendlimit_dropped_total", "sendlimit_handed_over_total", "sendlimit_postponed_total",
		"sendlimit_relayed_total", "sendlimit_submits_total", "sendlimit_uncertain_total",
		"sendlimit_watch_unreadable"))

	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)

	families, err := registry.Gather()
	require.NoError(t, err)
	sums := map[string]float64{}
	for _, family := range families {
		if h := family.GetMetric()[0].GetHistogram(); h != nil {
			require.EqualValues(t, 2, h.GetSampleCount(), family.GetName())
			sums[family.GetName()] = h.GetSampleSum()
		}
	}
	require.InDelta(t, 3.25, sums["sendlimit_delivery_lateness_seconds"], 1e-9)
	require.InDelta(t, 1.02, sums["sendlimit_delivery_duration_seconds"], 1e-9)
	require.InDelta(t, 4, sums["sendlimit_pace_wait_seconds"], 1e-9)
	require.InDelta(t, 1, testutil.ToFloat64(m.counters["pauses_total"].WithLabelValues()), 0)
}

func TestNoMetricsCountNothing(t *testing.T) {
	t.Parallel()
	var m *Metrics
	require.NotPanics(t, func() {
		m.Submitted(message.Outcome{}, "")
		m.Delivered(0, 0)
		m.AttemptFailed("", false)
		m.Postponed()
		m.Dropped("")
		m.Uncertain()
		m.Unreadable(0)
		m.HandedOver(1)
		m.Relayed(1)
		m.EventsPosted(1)
		m.CallbackFailed("")
		m.EventsDead(1)
		m.EventsLost(1)
		m.EventsGathered(1)
		m.EventsWaited(1)
		m.MeasureScripts(nil)
	})
}

func TestMetricsRegisteredTwice(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	_, err := New(registry)
	require.NoError(t, err)
	_, err = New(registry)
	require.ErrorContains(t, err, "registering metrics: ")
}

// Each method finds its metric by a name, and each metric has a method.
func TestEveryMethodHasItsMetric(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	m, err := New(registry)
	require.NoError(t, err)
	methods := reflect.ValueOf(m)
	for i := range methods.NumMethod() {
		method := methods.Type().Method(i)
		if method.Name == "MeasureScripts" {
			continue
		}
		args := make([]reflect.Value, method.Type.NumIn()-1)
		for k := range args {
			args[k] = reflect.New(method.Type.In(k + 1)).Elem()
			switch args[k].Kind() { //nolint:exhaustive // the others stay zero
			case reflect.Int, reflect.Int64, reflect.Uint8, reflect.Float64:
				args[k].Set(reflect.ValueOf(1).Convert(args[k].Type()))
			case reflect.String:
				args[k].SetString(strconv.Itoa(k))
			}
		}
		require.NotPanics(t, func() { methods.Method(i).Call(args) }, method.Name)
	}
	m.histograms["script_duration_seconds"].WithLabelValues("reserve")
	families, err := registry.Gather()
	require.NoError(t, err)
	counted := make(map[string]bool)
	for _, family := range families {
		counted[family.GetName()] = true
		if c := family.GetMetric()[0].GetCounter(); c != nil {
			require.InDelta(t, 1, c.GetValue(), 0, family.GetName())
		}
	}
	for _, d := range table() {
		require.True(t, counted["sendlimit_"+d.name], d.name)
	}
	require.Len(t, families, 32)
}
