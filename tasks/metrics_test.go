package tasks_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/metrics"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// measured is what a registry has gathered, a line each: the name, the values
// of the labels, and the number, of a histogram that of its observations.
func measured(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	lines := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			line := []string{strings.TrimPrefix(family.GetName(), "sendlimit_")}
			for _, label := range m.GetLabel() {
				if label.GetValue() != "" {
					line = append(line, label.GetValue())
				}
			}
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue()
			lines[strings.Join(line, " ")] = value + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return lines
}

func newMetrics(t *testing.T) (*metrics.Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	m, err := metrics.New(registry)
	require.NoError(t, err)
	return m, registry
}

// What a submitter and a worker do is counted, and no label says for whom.
func TestMetricsOfSubmitsAndDeliveries(t *testing.T) {
	tell(t, func(s *story) {
		m, registry := newMetrics(s.T)
		s.shared.Metrics = m
		s.Submitter = s.newSubmitter(submit.Options{})
		s.work()
		s.accepted(s.message("canary", 10*time.Second))
		s.submit(s.message("canary", 10*time.Second))
		s.submit(s.message("b", 11*time.Second))
		s.submit(message.Message{User: "alice"})
		s.until(12 * time.Second)
		s.delivered("canary +10s")
		s.network.cut()
		_, err := s.Submit(s.Context(), s.message("c", time.Hour))
		require.Error(s, err)
		s.network.mend()

		lines := measured(s.T, registry)
		for line, want := range map[string]float64{
			"submits_total accepted":                    1,
			"submits_total replayed":                    1,
			"submits_total send_limit refused 1/minute": 1,
			"submits_total invalid_field invalid":       1,
			"submits_total unavailable error":           1,
			"delivery_lateness_seconds":                 1,
			"delivery_duration_seconds":                 1,
			"postponed_total":                           0,
		} {
			require.InDelta(s, want, lines[line], 0, "%s of %v", line, lines)
		}
		for line := range lines {
			require.NotContains(s, line, "alice")
			require.NotContains(s, line, "canary")
		}
	})
}

// A call of a script counts under its name, in a pipeline too; the answer that
// the server has not got the script is none, and what is no script of ours has
// no name.
func TestMetricsOfScripts(t *testing.T) {
	t.Parallel()
	for name, batch := range map[string]bool{"one by one": false, "in batches": true} {
		t.Run(name, func(t *testing.T) {
			tell(t, func(s *story) {
				m, registry := newMetrics(s.T)
				m.MeasureScripts(s.client)
				s.Submitter = s.newSubmitter(submit.Options{Batch: batch})
				s.accepted(s.message("a", time.Hour), s.message("b", 2*time.Hour), s.message("c", 3*time.Hour))
				s.cancelled("a")
				s.moved("b", 4*time.Hour)
				require.NoError(s, s.client.Eval(s.Context(), "return 1", nil).Err())
				lines := measured(s.T, registry)
				require.InDelta(s, 3, lines["script_duration_seconds place/reserve"], 0)
				require.InDelta(s, 1, lines["script_duration_seconds place/release"], 0)
				require.InDelta(s, 1, lines["script_duration_seconds place/move"], 0)
				for line := range lines {
					require.NotRegexp(s, "script_duration_seconds (message/claim|other)", line)
				}

				called := func() float64 {
					s.Helper()
					_, err := s.client.Pipelined(s.Context(), func(pipe redis.Pipeliner) error {
						for range 5 {
							pipe.EvalSha(s.Context(), lua.Check.Hash(), []string{"k"})
						}
						return pipe.Ping(s.Context()).Err()
					})
					require.Error(s, err)
					return measured(s.T, registry)["script_duration_seconds place/check"]
				}
				require.Zero(s, called(), "the server has not got it")
				require.NoError(s, lua.Check.Load(s.Context(), s.client).Err())
				require.InDelta(s, 5, called(), 0, "its arguments are wrong, but it was called")
			})
		})
	}
}

// In a cluster, connections of a node count too.
func TestMetricsOfScriptsInACluster(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	cluster := redistest.RealCluster(t)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs()})
	defer client.Close()
	m, registry := newMetrics(t)
	m.MeasureScripts(client)
	require.NoError(t, lua.CopyForDryRun.Run(t.Context(), client, dryRunKeys(), 1000).Err())
	require.InDelta(t, 1, measured(t, registry)["script_duration_seconds place/copy_for_dry_run"], 0)

	node, err := client.MasterForKey(t.Context(), "{a}")
	require.NoError(t, err)
	conn := node.Conn()
	defer conn.Close()
	require.NoError(t, lua.CopyForDryRun.Run(t.Context(), conn, dryRunKeys(), 1000).Err())
	pipe := client.Pipeline()
	pipe.EvalSha(t.Context(), lua.CopyForDryRun.Hash(), dryRunKeys(), 1000)
	pipe.EvalSha(t.Context(), lua.CopyForDryRun.Hash(), dryRunKeys(), 1000)
	_, err = pipe.Exec(t.Context())
	require.NoError(t, err)
	require.InDelta(t, 4, measured(t, registry)["script_duration_seconds place/copy_for_dry_run"], 0)
}

// dryRunKeys are seven keys of a slot, none of which there is.
func dryRunKeys() []string {
	keys := make([]string, 8)
	for i := range keys {
		keys[i] = "{a}" + string(rune('0'+i))
	}
	return keys
}

func TestQueueSizes(t *testing.T) {
	tell(t, func(s *story) {
		sizes := func() map[string]int {
			s.Helper()
			sizes, err := queue.Sizes(s.Context(), s.client, "")
			require.NoError(s, err)
			require.Len(s, sizes, 5)
			return sizes
		}
		require.Equal(s, 0, sizes()["scheduled"], "there is no queue yet")
		s.accepted(s.message("a", time.Hour), s.message("b", 2*time.Hour))
		s.submit(message.Message{User: "bob", Now: true, Title: "t"})
		require.Equal(s, map[string]int{"scheduled": 2, "pending": 1, "active": 0, "retry": 0, "archived": 0}, sizes())
		other, err := queue.Sizes(s.Context(), s.client, "other")
		require.NoError(s, err)
		require.Zero(s, other["scheduled"])

		s.network.cut()
		_, err = queue.Sizes(s.Context(), s.client, "")
		s.away(err, "unavailable")
	})
}
