package serve

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/overview"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

const (
	// gatherWithin bounds reading the store for /metrics; gatherFresh is how long its result is
	// reused.
	gatherWithin = time.Second
	gatherFresh  = 5 * time.Second
)

// storeCollector gathers metrics of the store, the same in every worker. It omits and counts
// metrics that it can't read.
type storeCollector struct {
	descriptions []*prometheus.Desc
	sources      []*shared[[]prometheus.Metric]
	failures     *prometheus.CounterVec
	close        func() // ends reads that are running
}

func newStoreCollector(client redis.UniversalClient, prefix string) (*storeCollector, error) {
	letters, err := messages.NewDeadLetters(client, sendlimit.Options{Prefix: prefix})
	if err != nil {
		return nil, err
	}
	c := newCollector()
	if err := c.addForecast(client, prefix); err != nil {
		return nil, err
	}
	queued := c.describe("sendlimit_queue_tasks", "Tasks in the queue by state.", "state")
	c.add("queue", func(ctx context.Context) ([]prometheus.Metric, error) {
		sizes, err := queue.Sizes(ctx, client, prefix)
		var found []prometheus.Metric
		for state, size := range sizes {
			found = append(found, gauge(queued, float64(size), state))
		}
		return found, err
	})
	paused := c.describe("sendlimit_queue_paused", "1 for each queue that was paused from outside, as in asynqmon, so that its messages wait; absent for other queues.", "queue")
	c.add("queue_paused", func(ctx context.Context) ([]prometheus.Metric, error) {
		names, err := queue.Paused(ctx, client, prefix)
		var found []prometheus.Metric
		for _, name := range names {
			found = append(found, gauge(paused, 1, name))
		}
		return found, err
	})
	watch, err := messages.NewWatchList(client, sendlimit.Options{Prefix: prefix})
	if err != nil {
		return nil, err
	}
	c.count("pending", "sendlimit_pending_messages", "Pending messages, in the schedule and in the queue.", watch.Pending)
	behind := c.describe("sendlimit_watch_oldest_overdue_seconds", "How long the oldest entry of the watch list has been due; 0 for none.")
	c.add("watch", func(ctx context.Context) ([]prometheus.Metric, error) {
		oldest, err := overview.OldestOverdue(ctx, client, watch)
		return []prometheus.Metric{gauge(behind, oldest)}, err
	})
	c.count("dead_letters", "sendlimit_dead_letters", "Messages that were given up, and can be retried.", letters.Count)
	notices, err := notices.New(client, notices.Options{Prefix: prefix})
	if err != nil {
		return nil, err
	}
	c.count("dead_alerts", "sendlimit_dead_alerts", "Alerts and reports that were given up, and can be retried.", notices.CountDead)
	used := c.describe("sendlimit_store_memory_used_bytes", "Memory used by a server of the store, as its limit counts it.", "server")
	most := c.describe("sendlimit_store_memory_max_bytes", "Memory limit of a server of the store; absent without a limit.", "server")
	evicts := c.describe("sendlimit_store_evicts", "1 if a server of the store has a maxmemory-policy that deletes messages, so that submits are refused, 0 if not; absent if it does not tell.", "server")
	evicted := c.describe("sendlimit_store_evicted_keys_total", "Keys that a server of the store has evicted since its start.", "server")
	c.add("memory", func(ctx context.Context) ([]prometheus.Metric, error) {
		servers, err := store.ReadMemory(ctx, client)
		var found []prometheus.Metric
		for _, m := range servers {
			found = append(found, gauge(used, float64(m.Used), m.Address))
			if m.Max > 0 {
				found = append(found, gauge(most, float64(m.Max), m.Address))
			}
			if m.Policy != "" {
				refused := 0.0
				if store.RefuseEviction(m) != nil {
					refused = 1
				}
				found = append(found, gauge(evicts, refused, m.Address),
					prometheus.MustNewConstMetric(evicted, prometheus.CounterValue, float64(m.Evicted), m.Address))
			}
		}
		return found, err
	})
	return c, nil
}

// newCollector returns a collector without sources.
func newCollector() *storeCollector {
	return &storeCollector{failures: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sendlimit_collect_failures_total",
		Help: "Failed reads of the store, by metric; the metric is absent meanwhile.",
	}, []string{"source"})}
}

func (c *storeCollector) describe(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(name, help, labels, nil)
	c.descriptions = append(c.descriptions, d)
	return d
}

// add adds a source of metrics, which are all omitted when it fails.
func (c *storeCollector) add(name string, gather func(context.Context) ([]prometheus.Metric, error)) {
	failures := c.failures.WithLabelValues(name)
	c.sources = append(c.sources, newShared(gatherWithin, gatherFresh, func(ctx context.Context) []prometheus.Metric {
		found, err := gather(ctx)
		if err != nil {
			failures.Inc()
			return nil
		}
		return found
	}))
}

// count adds a source of one gauge.
func (c *storeCollector) count(source, name, help string, count func(context.Context) (int, error)) {
	d := c.describe(name, help)
	c.add(source, func(ctx context.Context) ([]prometheus.Metric, error) {
		n, err := count(ctx)
		return []prometheus.Metric{gauge(d, float64(n))}, err
	})
}

func gauge(d *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

// Describe implements prometheus.Collector.
func (c *storeCollector) Describe(into chan<- *prometheus.Desc) {
	for _, d := range c.descriptions {
		into <- d
	}
	c.failures.Describe(into)
}

// Collect implements prometheus.Collector.
func (c *storeCollector) Collect(into chan<- prometheus.Metric) {
	var looking sync.WaitGroup
	for _, source := range c.sources {
		looking.Go(func() {
			for _, m := range source.get(context.Background()) {
				into <- m
			}
		})
	}
	looking.Wait()
	c.failures.Collect(into) // after the reads that it counts
}
