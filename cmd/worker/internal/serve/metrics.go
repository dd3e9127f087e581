package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/metrics"
)

// serviceMetrics are the metrics of the worker, its process and its store.
type serviceMetrics struct {
	registry *prometheus.Registry
	tasks    *metrics.Metrics
	// refusedLogins counts requests with a wrong key.
	refusedLogins prometheus.Counter
	requests      *prometheus.HistogramVec // to the API
	close         func()                   // ends scrapes that are running
}

// newMetrics measures the use of a client from now on. Call it before any other use.
func newMetrics(client redis.UniversalClient, prefix string) (*serviceMetrics, error) {
	registry := prometheus.NewRegistry()
	measured, err := metrics.New(registry)
	if err != nil {
		return nil, err
	}
	measured.MeasureScripts(client)
	store, err := newStoreCollector(client, prefix)
	if err != nil {
		return nil, err
	}
	refusedLogins := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "sendlimit_refused_logins_total",
		Help: "API requests with an unknown or expired key, a key of a disabled account, or too many attempts.",
	})
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "sendlimit_build_info",
		Help: "Always 1; the labels are the version, its commit, and the version of Go that built it.",
		ConstLabels: prometheus.Labels{
			"version": cli.Version(), "revision": cli.Revision(), "goversion": runtime.Version(),
		},
	})
	build.Set(1)
	requests := newAPIDurations()
	err = errors.Join(
		registry.Register(build),
		registry.Register(refusedLogins),
		registry.Register(requests),
		registry.Register(collectors.NewGoCollector()),
		registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
		registry.Register(store),
	)
	if err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return &serviceMetrics{registry: registry, tasks: measured, refusedLogins: refusedLogins, requests: requests, close: store.close}, nil
}

// watch adds metrics of the open worker: the steps of the store's clock, and whether the worker is
// held back.
func (m *serviceMetrics) watch(b *backend.Backend, held bool) error {
	err := errors.Join(m.registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sendlimit_store_clock_step_seconds",
		Help: "How far the store's clock has stepped forward, while this stops submits and deliveries; negative after a step back, while messages are sent late by as much; else 0.",
	}, func() float64 {
		if ahead := b.Policies.Clock.Stepped().Ahead; ahead > 0 {
			return ahead.Seconds()
		}
		return (-b.Policies.Clock.FellBehind().By).Seconds() // no negative zero
	})), m.registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sendlimit_store_clock_ahead_seconds",
		Help: "How far the store's clock is ahead of the clock of this process' machine; negative if it is behind. In a cluster, the clock of the main server.",
	}, func() float64 { return b.Policies.Clock.Skew().Seconds() })), m.registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sendlimit_held_back",
		Help: "1 while this process does not deliver because its store was last delivered under another address; else 0.",
	}, func() float64 {
		if held {
			return 1
		}
		return 0
	})))
	if err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	return nil
}

// handler answers with all metrics, in the format of Prometheus.
func (m *serviceMetrics) handler(logger *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		// Metrics that can't be gathered are omitted.
		ErrorHandling: promhttp.ContinueOnError,
		ErrorLog:      slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	})
}
