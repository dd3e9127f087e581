package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
)

// samplings are what measureTracing compares: none, a hundredth, and all.
func samplings() []float64 { return []float64{0, 0.01, 1} }

// measureTracing compares submits and deliveries with tracing that is off with those of which
// a hundredth, or each, is sampled and sent to a collector, which is in this process too. The
// rounds alternate. It compares the processor time of this process, of its Redis and of its
// collector, since on a busy machine throughput says little.
func measureTracing(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	watched := redis.NewClient(s.client.Options()) // as programs have it while tracing is on
	defer func() { err = errors.Join(err, watched.Close()) }()
	watched.AddHook(tracing.Hook())
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer collector.Close()

	rounds := size.deliveryRounds * len(samplings())
	var submitted, delivered [3][]float64 // microseconds of processor time, by sampling
	for round := range rounds {
		sampling := round % len(samplings())
		provider, stop, err := newProvider(ctx, samplings()[sampling], collector.URL)
		if err != nil {
			return nil, err
		}
		client := watched
		if provider == nil {
			client = s.client
		}
		one, other, err := s.traceRound(ctx, client, round, size.deliveries, provider)
		if err = errors.Join(err, stop()); err != nil {
			return nil, err
		}
		submitted[sampling], delivered[sampling] = append(submitted[sampling], one), append(delivered[sampling], other)
	}
	made := func(name, what string, spent [3][]float64) row {
		return atMost(name, "processor time of "+what+", with tracing that samples 1 % / without tracing",
			median(ratios(spent[1], spent[0])), 1.03,
			fmt.Sprintf("%.1f µs, %.1f µs", median(spent[1]), median(spent[0])),
			fmt.Sprintf("%.2f × with all sampled", median(ratios(spent[2], spent[0]))),
			fmt.Sprintf("%d rounds of %d messages each", size.deliveryRounds, size.deliveries))
	}
	return []row{made("tracing-submit", "a submit", submitted), made("tracing-delivery", "a delivery", delivered)}, nil
}

// newProvider returns a provider that samples a share of all traces, nil for none.
func newProvider(ctx context.Context, share float64, collector string) (trace.TracerProvider, func() error, error) {
	if share == 0 {
		return nil, func() error { return nil }, nil
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(collector+"/v1/traces"))
	if err != nil {
		return nil, nil, fmt.Errorf("exporter: %w", err)
	}
	provider := sdk.NewTracerProvider(sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(share))), sdk.WithBatcher(exporter))
	return provider, func() error { return provider.Shutdown(context.WithoutCancel(ctx)) }, nil
}

// traceRound submits messages and delivers them, and returns the processor time of each in
// microseconds.
func (s *store) traceRound(
	ctx context.Context, client *redis.Client, round, n int, provider trace.TracerProvider,
) (submitting, delivering float64, err error) {
	prefix := fmt.Sprintf("traced%d", round)
	if err := s.seedPolicy(ctx, prefix); err != nil {
		return 0, 0, err
	}
	opened, err := backend.Open(client, backend.Options{Prefix: prefix, Horizon: shortHorizon, TracerProvider: provider})
	if err != nil {
		return 0, 0, fmt.Errorf("backend: %w", err)
	}
	submitter, err := submit.New(opened, submit.Options{Batch: true})
	if err != nil {
		return 0, 0, fmt.Errorf("submitter: %w", err)
	}
	const each = 500 * time.Microsecond
	due := time.Now().Add(2*shortHorizon + time.Duration(n)*each)
	before := processorTime()
	_, err = drive(ctx, n, func(ctx context.Context, i int) error {
		return submitted(ctx, submitter, message.Message{User: userName(i), SendAt: due, Title: title, Body: body})
	})
	submitting = spentSince(before, n)
	if err = errors.Join(err, submitter.Close()); err != nil {
		return 0, 0, err
	}
	pause(ctx, time.Until(due)+time.Second)
	before = processorTime()
	count := newTally(n)
	stop, err := startWorker(ctx, opened, tasks.WorkerOptions{Notifier: silent{count}, Tolerance: time.Hour, RelayEvery: time.Second})
	if err != nil {
		return 0, 0, err
	}
	if _, err = count.rate(ctx); err == nil {
		err = untilNone(ctx, opened.Watch.Pending)
	}
	delivering = spentSince(before, n)
	return submitting, delivering, errors.Join(err, stop())
}

// processorTime returns the processor time of this process so far.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func spentSince(before time.Duration, n int) float64 {
	return float64((processorTime() - before).Nanoseconds()) / 1000 / float64(n)
}
