package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
)

// largeEach is how many messages each user of a large store has.
const largeEach = 5

// large has the figures of stores with few and with many pending messages.
type large struct {
	machine string
	stores  []largeStore
}

// largeStore is what a store with so many pending messages costs.
type largeStore struct {
	pending  int
	memory   float64       // bytes of Redis for a message
	look     time.Duration // Redis time of a relay's look with nothing due
	counting time.Duration // to count the pending messages, from start to end
	forecast forecastCost
	page     time.Duration // slowest first byte of any page
	find     time.Duration // slowest first byte of a message that is found by its id
	late     []float64     // ms, of messages that are due while the others are pending
	preview  preview
	export   programCost
}

// programCost is what a run of the program costs.
type programCost struct {
	took, busy time.Duration // from start to end, and of the main thread of Redis
	peak       int64         // bytes of the program
}

// measureLarge measures one store, filled first with a fifth of the pending messages and
// then with all.
func measureLarge(ctx context.Context, pending int, size sizes) (found large, err error) {
	if found.machine, err = describeMachine(ctx); err != nil {
		return found, err
	}
	s, err := openStore(ctx)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	program, err := buildProgram(ctx, "worker")
	if err != nil {
		return found, err
	}
	if err := s.seedPolicy(ctx, recordsPrefix); err != nil {
		return found, err
	}
	empty, err := s.memory(ctx)
	if err != nil {
		return found, err
	}
	users := max(largeEach, pending/largeEach)
	times := newSchedule(users, largeEach).over(forecastOver)
	filled := 0
	for _, upTo := range []int{users / largeEach * largeEach, users * largeEach} {
		if err := s.fillLarge(ctx, times, filled, upTo); err != nil {
			return found, err
		}
		filled = upTo
		full, err := s.memory(ctx)
		if err != nil {
			return found, err
		}
		at := largeStore{pending: filled, memory: float64(full-empty) / float64(filled)}
		if err := s.measureLargeStore(ctx, &at, program, times.request(0).User, size); err != nil {
			return found, fmt.Errorf("with %d pending messages: %w", filled, err)
		}
		found.stores = append(found.stores, at)
	}
	return found, nil
}

// fillLarge accepts the messages of users, all of one user before those of the next.
func (s *store) fillLarge(ctx context.Context, times *schedule, from, upTo int) (err error) {
	timelines, done, err := s.fillingTimelines()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	users := len(times.order)
	_, err = drive(ctx, upTo-from, func(ctx context.Context, i int) error {
		n := from + i
		request := withRecords([]sendlimit.Request{times.request(n%largeEach*users + n/largeEach)})[0]
		content, err := message.EncodeContent(message.Message{Title: title, Body: string(randomContent())})
		if err != nil {
			return fmt.Errorf("content: %w", err)
		}
		request.Record.Content = content
		return reserve(ctx, timelines.records, request)
	})
	return err
}

// measureLargeStore measures everything else with the messages that are pending, with an
// export of a user that has some.
func (s *store) measureLargeStore(ctx context.Context, at *largeStore, program, user string, size sizes) (err error) {
	watch, err := messages.NewWatchList(s.client, sendlimit.Options{Prefix: recordsPrefix})
	if err != nil {
		return fmt.Errorf("watch list: %w", err)
	}
	if at.look, err = s.costOfLook(ctx, watch); err != nil {
		return err
	}
	began := time.Now()
	counted, err := watch.Pending(ctx)
	if err != nil || counted != at.pending {
		return errors.Join(err, fmt.Errorf("%d messages are counted", counted))
	}
	at.counting = time.Since(began)
	if at.forecast, err = s.costOfForecast(ctx, recordsPrefix, at.pending); err != nil {
		return err
	}
	if err := s.measurePages(ctx, at); err != nil {
		return err
	}
	at.preview.slower = 100 * time.Microsecond
	if err := at.preview.run(ctx, s, program); err != nil {
		return err
	}
	if at.export, err = s.costOfProgram(ctx, program, "user", "export", user); err != nil {
		return err
	}
	at.late, err = s.lateness(ctx, recordsPrefix, size)
	return err
}

// costOfLook returns the Redis time of a look over all partitions, the median of some.
func (s *store) costOfLook(ctx context.Context, watch *messages.WatchList) (time.Duration, error) {
	const looks, perPartition = 20, 100
	longAgo := time.Now().Add(-time.Hour)
	var spent []float64
	for range looks {
		if err := s.resetCommandTime(ctx); err != nil {
			return 0, err
		}
		if due, _, err := watch.Due(ctx, longAgo, perPartition); err != nil || len(due) > 0 {
			return 0, errors.Join(err, fmt.Errorf("%d messages are due, where none is", len(due)))
		}
		took, err := s.timeOf(ctx, "exists", "zrange")
		if err != nil {
			return 0, err
		}
		spent = append(spent, float64(took))
	}
	return time.Duration(median(spent)), nil
}

// measurePages asks for each page of the dashboard, and finds messages by their ids.
func (s *store) measurePages(ctx context.Context, at *largeStore) (err error) {
	server, end, err := s.serveDashboard(ctx, recordsPrefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if at.page, _, err = slowestPage(ctx, server.URL); err != nil {
		return err
	}
	_, at.find, err = firstByte(ctx, server.URL+"/messages?id="+newID())
	return err
}

// costOfProgram runs the program on the store, and measures it.
func (s *store) costOfProgram(ctx context.Context, program string, args ...string) (cost programCost, err error) {
	before, err := s.mainThread(ctx)
	if err != nil {
		return cost, err
	}
	command := exec.CommandContext(ctx, program, args...)
	command.Dir = filepath.Dir(program)
	command.Env = []string{"REDIS_URL=" + s.server.URL(), "SENDLIMIT_PREFIX=" + recordsPrefix}
	var said strings.Builder
	command.Stderr = &said
	output, err := command.StdoutPipe()
	if err != nil {
		return cost, fmt.Errorf("output of the program: %w", err)
	}
	began := time.Now()
	if err := command.Start(); err != nil {
		return cost, fmt.Errorf("start the program: %w", err)
	}
	messages, lines := 0, bufio.NewScanner(output)
	peak := followPeak(command.Process.Pid)
	for lines.Scan() {
		if bytes.Contains(lines.Bytes(), []byte(`"list":"messages"`)) {
			messages++
		}
	}
	cost.peak, err = peak(), lines.Err()
	if err := errors.Join(err, command.Wait()); err != nil {
		return cost, fmt.Errorf("worker %s: %w\n%s", strings.Join(args, " "), err, said.String())
	}
	if messages < largeEach {
		return cost, fmt.Errorf("worker %s printed %d messages", strings.Join(args, " "), messages)
	}
	cost.took = time.Since(began)
	after, err := s.mainThread(ctx)
	cost.busy = after - before
	return cost, err
}

// followPeak looks at the memory of a running process until the function that it returns is
// called, which returns the peak.
func followPeak(pid int) func() int64 {
	var peak int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			peak = max(peak, peakOf(pid))
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	return func() int64 {
		close(stop)
		<-stopped
		return peak
	}
}

// figure is a line of the table.
type figure struct {
	what, bound string
	of          func(largeStore) float64
	format      string
}

func largeFigures() []figure {
	ms := func(of func(largeStore) time.Duration) func(largeStore) float64 {
		return func(at largeStore) float64 { return milliseconds(of(at)) }
	}
	seconds := func(of func(largeStore) time.Duration) func(largeStore) float64 {
		return func(at largeStore) float64 { return of(at).Seconds() }
	}
	users := func(at largeStore) float64 { return float64(at.preview.summary.Users) }
	return []figure{
		{"Redis memory of a message", "", func(at largeStore) float64 { return at.memory }, "%.0f bytes"},
		{"Redis memory of all", "", func(at largeStore) float64 { return at.memory * float64(at.pending) / (1 << 20) }, "%.0f MiB"},
		{"a relay's look with nothing due, Redis time", "≤ 5 ms", ms(func(at largeStore) time.Duration { return at.look }), "%.2f ms"},
		{
			"99th percentile of lateness of messages that are due while the others are pending", "≤ 50 ms",
			func(at largeStore) float64 { return quantile(at.late, 0.99) }, "%.1f ms",
		},
		{"counting the pending messages, from start to end", "", ms(func(at largeStore) time.Duration { return at.counting }), "%.0f ms"},
		{"forecast of what is near, main thread of Redis", "", ms(func(at largeStore) time.Duration { return at.forecast.near.busy }), "%.0f ms"},
		{"forecast of the later hours, main thread of Redis", "", ms(func(at largeStore) time.Duration { return at.forecast.later.busy }), "%.0f ms"},
		{"both forecasts, share of the main thread", "≤ 0.5 %", func(at largeStore) float64 { return 100 * at.forecast.share() }, "%.2f %%"},
		{"slowest first byte of a page of the dashboard", "≤ 100 ms", ms(func(at largeStore) time.Duration { return at.page }), "%.1f ms"},
		{"slowest first byte of a search for an id", "≤ 100 ms", ms(func(at largeStore) time.Duration { return at.find }), "%.1f ms"},
		{"preview of a policy, from start to end", "", seconds(func(at largeStore) time.Duration { return at.preview.took }), "%.0f s"},
		{
			"preview of a policy, main thread of Redis for a user", "",
			func(at largeStore) float64 { return at.preview.main.Seconds() * 1e6 / users(at) }, "%.0f µs",
		},
		{
			"preview of a policy, share of the main thread", "≤ 50 %",
			func(at largeStore) float64 { return 100 * at.preview.main.Seconds() / at.preview.took.Seconds() }, "%.0f %%",
		},
		{"preview of a policy, slowest call", "≤ 5 ms", ms(func(at largeStore) time.Duration { return at.preview.slowest }), "%.1f ms"},
		{"preview of a policy, peak memory of the program", "≤ 64 MiB", func(at largeStore) float64 { return float64(at.preview.peak) / (1 << 20) }, "%.1f MiB"},
		{"export of a user, from start to end", "", seconds(func(at largeStore) time.Duration { return at.export.took }), "%.2f s"},
		{"export of a user, main thread of Redis", "", ms(func(at largeStore) time.Duration { return at.export.busy }), "%.0f ms"},
		{"export of a user, peak memory of the program", "≤ 64 MiB", func(at largeStore) float64 { return float64(at.export.peak) / (1 << 20) }, "%.1f MiB"},
	}
}

// markdown returns the figures as README.md has them.
func (l large) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\n", l.machine)
	few, many := l.stores[0], l.stores[len(l.stores)-1]
	growth := float64(many.pending) / float64(few.pending)
	fmt.Fprintf(&b, "| what | bound | %d pending | %d pending | growth, of %.1f × |\n| --- | --- | --- | --- | --- |\n", few.pending, many.pending, growth)
	for _, f := range largeFigures() {
		a, z := f.of(few), f.of(many)
		fmt.Fprintf(&b, "| %s |\n", strings.Join([]string{
			f.what, f.bound, fmt.Sprintf(f.format, a), fmt.Sprintf(f.format, z), fmt.Sprintf("%.2f ×", z/max(a, 1e-9)),
		}, " | "))
	}
	return b.String()
}

// New figures of a large store replace the text between these lines.
const (
	largeFrom  = "<!-- last large store -->\n"
	largeUntil = "<!-- end of the last large store -->\n"
)

// runLarge measures, prints, and saves the figures to a file, "" for none.
func runLarge(ctx context.Context, pending int, size sizes, save string, stdout io.Writer) error {
	found, err := measureLarge(ctx, pending, size)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(stdout, found.markdown()); err != nil {
		return fmt.Errorf("print the figures: %w", err)
	}
	if save == "" {
		return nil
	}
	return saveBetween(save, largeFrom, largeUntil, found.markdown())
}
