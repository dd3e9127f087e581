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

	// TestEveryMetricIsListed has what each one says.
	require.Equal(t, map[string]float64{
		"callback_dead_events_total": 2, "callback_events_total": 5, "callback_failures_total gone": 1, "callback_lost_events_total": 3,
		"delivery_failures_total false timeout": 1, "delivery_failures_total true gone": 1,
		"dropped_total expired": 1, "events_gathered_total": 5, "events_waited_seconds": 1.5, "handed_over_total": 9,
		"pauses_total": 1, "postponed_total": 1, "relayed_total": 7, "uncertain_total": 1, "watch_unreadable": 3,
		"submits_total accepted": 2, "submits_total replayed": 1, "submits_total id_reused refused": 1,
		"submits_total send_limit refused 1/minute": 1, "submits_total store_full error": 1,
		"delivery_lateness_seconds": 3.25, "delivery_duration_seconds": 1.02, "pace_wait_seconds": 4,
	}, sums(t, registry))

	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
}

// sums are what the metrics of a registry have counted, or of a histogram the sum, by their names
// and the values of their labels. Those that stand at zero are left out.
func sums(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	found := make(map[string]float64)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := strings.TrimPrefix(family.GetName(), "sendlimit_")
			for _, label := range m.GetLabel() {
				if label.GetValue() != "" {
					name += " " + label.GetValue()
				}
			}
			if sum := m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetHistogram().GetSampleSum(); sum != 0 {
				found[name] = sum
			}
		}
	}
	return found
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
		m.SendingStopped(true)
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
	require.Len(t, families, 33)
}
