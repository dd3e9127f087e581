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

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
)

// samplings are what measureTracing compares: none, a hundredth, and all.
func samplings() []float64 { return []float64{0, 0.01, 1} }

// measureTracing compares submits and deliveries with tracing that is off with those of which
// a hundredth, or each, is sampled and sent to a collector, which is in this process too. The
// slices and rounds alternate. The rounds of deliveries are few, so processor time is compared
// there: on a busy machine their throughput says little.
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

	submitted, err := s.traceSubmits(ctx, watched, size, collector.URL)
	if err != nil {
		return nil, err
	}
	rounds := size.deliveryRounds * len(samplings())
	var delivered [3][]float64 // microseconds of processor time, by sampling
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
		spent, err := s.traceDeliveries(ctx, client, round, size.deliveries, provider)
		if err = errors.Join(err, stop()); err != nil {
			return nil, err
		}
		delivered[sampling] = append(delivered[sampling], spent)
	}
	return []row{
		atLeast("tracing-submit", "submits a second, with tracing that samples 1 % / without tracing", median(ratios(submitted[1], submitted[0])), 0.97,
			fmt.Sprintf("%.0f/s, %.0f/s", median(submitted[1]), median(submitted[0])),
			fmt.Sprintf("%.2f × with all sampled", median(ratios(submitted[2], submitted[0]))),
			fmt.Sprintf("%d slices of %d submits each", tracedSlices*size.slices, size.submits/tracedSlices)),
		atMost("tracing-delivery", "processor time of a delivery, of the worker and Redis, with tracing that samples 1 % / without tracing",
			median(ratios(delivered[1], delivered[0])), 1.03,
			fmt.Sprintf("%.0f µs, %.0f µs", median(delivered[1]), median(delivered[0])),
			fmt.Sprintf("%.2f × with all sampled", median(ratios(delivered[2], delivered[0]))),
			fmt.Sprintf("%d rounds of %d messages each", size.deliveryRounds, size.deliveries)),
	}, nil
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

// tracedSlices is into how many parts a slice is cut: the shorter they are, the less does what
// else the machine does between two of them.
const tracedSlices = 10

// traceSubmits submits messages with each sampling in turns, and returns how many a
// second there were in each slice.
func (s *store) traceSubmits(ctx context.Context, watched *redis.Client, size sizes, collector string) (rates [3][]float64, failed error) {
	var sides [3]*submit.Submitter
	for i, share := range samplings() {
		provider, stop, err := newProvider(ctx, share, collector)
		if err != nil {
			return rates, err
		}
		defer func() { failed = errors.Join(failed, stop()) }()
		client := watched
		if provider == nil {
			client = s.client
		}
		prefix := fmt.Sprintf("traced-submit%d", i)
		if err := s.seedPolicy(ctx, prefix); err != nil {
			return rates, err
		}
		opened, err := backend.Open(client, backend.Options{Options: sendlimit.Options{Prefix: prefix}, TracerProvider: provider})
		if err != nil {
			return rates, fmt.Errorf("backend: %w", err)
		}
		if sides[i], err = submit.New(opened, submit.Options{Batch: true}); err != nil {
			return rates, fmt.Errorf("submitter: %w", err)
		}
		defer func() { failed = errors.Join(failed, sides[i].Close()) }()
	}
	due, each := time.Now().Add(time.Hour), size.submits/tracedSlices
	for slice := range tracedSlices * size.slices {
		for turn := range sides {
			i := (turn + slice) % len(sides) // no side always follows the same other
			took, err := drive(ctx, each, func(ctx context.Context, n int) error {
				return submitted(ctx, sides[i], message.Message{User: userName(slice*each + n), SendAt: due, Title: title, Body: body})
			})
			if err != nil {
				return rates, err
			}
			rates[i] = append(rates[i], float64(each)/took.Seconds())
		}
	}
	return rates, nil
}

// traceDeliveries submits messages and delivers them, and returns the processor time of a
// delivery in microseconds, of this process and of Redis.
func (s *store) traceDeliveries(
	ctx context.Context, client *redis.Client, round, n int, provider trace.TracerProvider,
) (spent float64, err error) {
	prefix := fmt.Sprintf("traced%d", round)
	if err := s.seedPolicy(ctx, prefix); err != nil {
		return 0, err
	}
	opened, err := backend.Open(client, backend.Options{Options: sendlimit.Options{Prefix: prefix, Horizon: shortHorizon}, TracerProvider: provider})
	if err != nil {
		return 0, fmt.Errorf("backend: %w", err)
	}
	submitter, err := submit.New(opened, submit.Options{Batch: true})
	if err != nil {
		return 0, fmt.Errorf("submitter: %w", err)
	}
	const each = time.Millisecond // with time to spare: they must not be late when they are submitted
	due := time.Now().Add(4*shortHorizon + time.Duration(n)*each)
	_, err = drive(ctx, n, func(ctx context.Context, i int) error {
		return submitted(ctx, submitter, message.Message{User: userName(i), SendAt: due, Title: title, Body: body})
	})
	if err = errors.Join(err, submitter.Close()); err != nil {
		return 0, err
	}
	pause(ctx, time.Until(due)+time.Second)
	before, err := s.spent(ctx)
	if err != nil {
		return 0, err
	}
	count := newTally(n)
	stop, err := startWorker(ctx, opened, tasks.WorkerOptions{Notifier: silent{count}, Tolerance: time.Hour, RelayOptions: tasks.RelayOptions{RelayEvery: time.Second}})
	if err != nil {
		return 0, err
	}
	if _, err = count.rate(ctx); err == nil {
		err = untilNone(ctx, opened.Watch.Pending)
	}
	after, failed := s.spent(ctx)
	return float64((after - before).Nanoseconds()) / 1000 / float64(n), errors.Join(err, failed, stop())
}

// spent returns the processor time of this process and of Redis so far.
func (s *store) spent(ctx context.Context) (time.Duration, error) {
	own, err := ownTime()
	if err != nil {
		return 0, err
	}
	redis, err := s.mainThread(ctx)
	return own + redis, err
}

// ownTime returns the processor time of this process so far.
func ownTime() (time.Duration, error) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, fmt.Errorf("read the processor time: %w", err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), nil
}
