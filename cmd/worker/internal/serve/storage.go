package serve

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	redisstore "github.com/sendlimit/sendlimiter/sendlimit/store"
)

// storage is the store of the settings.
type storage struct {
	client   redis.UniversalClient
	embedded *store.Embedded // nil if the store is elsewhere
}

// openStorage opens the store, or starts the embedded one if the settings name none.
func openStorage(c config.Config, logger *slog.Logger) (storage, error) {
	if c.RedisURL == "" {
		embedded := store.StartEmbedded(logger)
		return storage{client: embedded.Client, embedded: embedded}, nil
	}
	client, err := store.Open(c.RedisURL, store.Options{Logger: logger, TLS: c.RedisTLS})
	return storage{client: client}, err
}

func (s storage) close() error {
	err := store.Close(s.client)
	if s.embedded != nil {
		s.embedded.Close()
	}
	return err
}

// warnOfLoss logs how many pending messages end with the embedded store.
func (s storage) warnOfLoss(ctx context.Context, prefix string, logger *slog.Logger) {
	if s.embedded == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countLastWithin)
	defer cancel()
	pending, err := countPending(ctx, s.client, prefix)
	if err != nil {
		logger.WarnContext(ctx, "could not count the messages lost with the embedded store", "error", err)
	} else if pending > 0 {
		logger.WarnContext(ctx, "pending messages are lost with the embedded store", "lost", pending)
	}
}

// watchSize warns of an embedded store with more pending messages than it is meant for,
// until the returned function is called.
func (s storage) watchSize(ctx context.Context, prefix string, logger *slog.Logger) (stop func()) {
	if s.embedded == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		ticks := time.NewTicker(countEvery)
		defer ticks.Stop()
		var warnings sizeWarnings
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-ticks.C:
				s.warnIfLarge(ctx, prefix, &warnings, now, logger)
			}
		}
	})
	return func() {
		cancel()
		watching.Wait()
	}
}

func (s storage) warnIfLarge(ctx context.Context, prefix string, warnings *sizeWarnings, now time.Time, logger *slog.Logger) {
	// A failure is no news: every user of the store meets it too.
	if pending, err := countPending(ctx, s.client, prefix); err == nil && warnings.due(pending, now) {
		logger.WarnContext(ctx, "the embedded store is slow with so many pending messages:"+
			" run a Redis and set redis_url", "pending", pending, "meant_for", store.EmbeddedCapacity)
	}
}

// sizeWarnings decides when to warn about the size of the embedded store: first, when the size has
// doubled since, and after an hour.
type sizeWarnings struct {
	pending int // at the last warning; zero once the store is small again
	at      time.Time
}

func (w *sizeWarnings) due(pending int, now time.Time) bool {
	if pending <= store.EmbeddedCapacity {
		*w = sizeWarnings{}
		return false
	}
	if w.pending > 0 && pending < 2*w.pending && now.Sub(w.at) < time.Hour {
		return false
	}
	*w = sizeWarnings{pending: pending, at: now}
	return true
}

// countEvery is how often the pending messages of an embedded store are counted. countWithin bounds
// one count, and countLastWithin that of what is lost, which nobody can count again.
const (
	countEvery      = 5 * time.Second
	countWithin     = 2 * time.Second
	countLastWithin = 10 * time.Second
)

// countPending counts the pending messages.
func countPending(ctx context.Context, client redis.UniversalClient, prefix string) (int, error) {
	watch, err := messages.NewWatchList(client, sendlimit.Options{Prefix: prefix, Records: true})
	if err != nil {
		return 0, err
	}
	return watch.Pending(ctx)
}

// prepare waits until the store has loaded its data, checks that it is fit for deliveries, and adds
// the policies and the pace that it lacks. A store that was restored must not be empty.
func prepare(ctx context.Context, client redis.UniversalClient, c config.Config, restored bool, logger *slog.Logger) error {
	report, err := inspect(ctx, client, logger)
	if err != nil {
		return err
	}
	if err := report.RefuseEviction(); err != nil {
		return err
	}
	if restored {
		if err := refuseEmpty(ctx, client, c.Prefix); err != nil {
			return err
		}
	}
	for _, warning := range report.Warnings {
		logger.WarnContext(ctx, "some checks of the store were not possible", "detail", warning)
	}
	for _, sentence := range report.LosesAll() {
		logger.WarnContext(ctx, "the store keeps nothing", "detail", sentence)
	}
	for _, sentence := range report.LosesLatest() {
		logger.WarnContext(ctx, "a crash of the store would lose messages", "detail", sentence)
	}
	for _, sentence := range report.Lagging() {
		logger.WarnContext(ctx, "a failover of the store would lose messages", "detail", sentence)
	}
	logConnected(ctx, report, logger)
	warnOfSubmits(ctx, client, report, c, logger)
	if err := raiseLayout(ctx, client, c.Prefix, redisstore.PresentLayout, logger); err != nil {
		return err
	}
	if err := redisstore.PresentLayout.Check(ctx, client, keyspace.KeysUnder(c.Prefix)); err != nil {
		return fmt.Errorf("looking at the layout of the store: %w", err)
	}
	newest, err := redisstore.NoteZones(ctx, client, keyspace.KeysUnder(c.Prefix), calendar.ZoneDataVersion)
	if err != nil {
		return fmt.Errorf("noting the time zones: %w", err)
	}
	if older := store.OlderZones(newest); older != "" {
		logger.WarnContext(ctx, "the time zones of this worker are old", "detail", older)
	}
	if err := seedPolicies(ctx, client, c, logger); err != nil {
		return err
	}
	if err := seedPace(ctx, client, c, logger); err != nil {
		return err
	}
	return checkClock(ctx, client, logger)
}

// warnOfSubmits logs why programs with these settings can't submit, although the worker can
// deliver.
func warnOfSubmits(
	ctx context.Context, client redis.UniversalClient, report store.Report, c config.Config, logger *slog.Logger,
) {
	for _, node := range report.LacksReplicas(c.WaitReplicas) {
		logger.WarnContext(ctx, "a server of the store has fewer replicas than wait_replicas: every submit fails",
			"server", node.Address, "replicas", node.Replicas, "wait_replicas", c.WaitReplicas)
	}
	servers, err := redisstore.ReadMemory(ctx, client)
	if err != nil {
		logger.WarnContext(ctx, "the store does not tell how full it is", "error", err)
	}
	for _, m := range servers {
		if m.FullAt(c.StoreFullAt) {
			logger.WarnContext(ctx, "the store is nearly full: new messages are refused until others are delivered or maxmemory is raised",
				"server", m.Address, "used_bytes", m.Used, "max_bytes", m.Max, "store_full_at_percent", c.StoreFullAt)
		}
	}
}
