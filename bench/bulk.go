package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/hibiken/asynq"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/traffic"
)

// The default policy's judgement of the whole real traffic in the coming year.
const (
	realAccepted = 42_514
	realRefused  = 39_445
)

// measureBulk compares the program `sendlimit bulk`, from its start to its end, with a
// loop of bare Enqueue calls. The program reads a file with a year of real traffic; the
// loop has as many messages in memory. Each run has an empty store.
func measureBulk(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	folder, err := os.MkdirTemp("", "sendlimit-bench-")
	if err != nil {
		return nil, fmt.Errorf("folder for the messages: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()

	trace, err := traffic.Load(size.bulkLines)
	if err != nil {
		return nil, fmt.Errorf("traffic: %w", err)
	}
	b := newBulkRun(folder, trace)
	if err := b.prepare(ctx); err != nil {
		return nil, err
	}
	var ours, bare []float64 // seconds
	var summary bulkSummary
	for range size.bulkRounds {
		took, err := b.submit(ctx, s, &summary)
		if err != nil {
			return nil, err
		}
		ours = append(ours, took.Seconds())
		if took, err = b.enqueue(ctx, s); err != nil {
			return nil, err
		}
		bare = append(bare, took.Seconds())
	}
	if trace.Real && size.bulkLines == 0 && (summary.Accepted != realAccepted || summary.Refused != realRefused) {
		return nil, fmt.Errorf("bulk accepted %d lines and refused %d, not %d and %d",
			summary.Accepted, summary.Refused, realAccepted, realRefused)
	}
	lines := float64(len(trace.Sends))
	return []row{
		atLeast("bulk", "lines a second of sendlimit bulk, which judges each of them / of a loop of bare Enqueue calls", median(bare)/median(ours), 0.5,
			fmt.Sprintf("bulk %.0f/s (%.2f s), %d accepted, %d refused", lines/median(ours), median(ours), summary.Accepted, summary.Refused),
			fmt.Sprintf("Enqueue %.0f/s (%.2f s)", lines/median(bare), median(bare)), trace.Source),
	}, nil
}

// bulkRun is the input of both sides.
type bulkRun struct {
	program, file string
	trace         traffic.Trace
	start         time.Time // of the year to place the traffic in
}

func newBulkRun(folder string, trace traffic.Trace) bulkRun {
	return bulkRun{
		file: filepath.Join(folder, "messages.ndjson"), trace: trace, start: time.Now().UTC().Truncate(day).Add(day),
	}
}

// bulkSummary has the fields needed here of what the program prints at its end.
type bulkSummary struct {
	Lines    int `json:"lines"`
	Accepted int `json:"accepted"`
	Refused  int `json:"refused"`
}

// prepare builds the program and writes the file.
func (b *bulkRun) prepare(ctx context.Context) (err error) {
	if b.program, err = buildProgram(ctx, "enqueue"); err != nil {
		return err
	}
	file, err := os.Create(b.file)
	if err != nil {
		return fmt.Errorf("file of messages: %w", err)
	}
	buffered := bufio.NewWriter(file)
	lines := json.NewEncoder(buffered)
	for i := range b.trace.Sends {
		r := b.trace.Request(i, b.start)
		if err = lines.Encode(message.Draft{
			ID: r.ID, User: r.User, SendAt: message.When{Text: r.At.Format(time.RFC3339)}, Title: title, Body: body,
		}); err != nil {
			break
		}
	}
	if err := errors.Join(err, buffered.Flush(), file.Close()); err != nil {
		return fmt.Errorf("file of messages: %w", err)
	}
	return nil
}

// submit runs the program on an empty store.
func (b bulkRun) submit(ctx context.Context, s *store, summary *bulkSummary) (time.Duration, error) {
	if err := s.empty(ctx); err != nil {
		return 0, err
	}
	if err := s.seedPolicy(ctx, ""); err != nil {
		return 0, err
	}
	return b.run(ctx, s, summary)
}

// run runs the program on a store with policies.
func (b bulkRun) run(ctx context.Context, s *store, summary *bulkSummary) (time.Duration, error) {
	bulk := exec.CommandContext(ctx, b.program, "bulk", b.file, "--json")
	bulk.Dir = filepath.Dir(b.file)
	bulk.Env = []string{"REDIS_URL=" + s.server.URL()} // without the caller's settings
	bulk.Stderr = os.Stderr
	began := time.Now()
	output, err := bulk.Output()
	took := time.Since(began)
	if err != nil {
		return 0, fmt.Errorf("sendlimit bulk: %w\n%s", err, output)
	}
	if err := json.Unmarshal(output, summary); err != nil {
		return 0, fmt.Errorf("summary of sendlimit bulk: %w", err)
	}
	if summary.Lines != len(b.trace.Sends) || summary.Accepted+summary.Refused != summary.Lines {
		return 0, fmt.Errorf("sendlimit bulk of %d lines: %s", len(b.trace.Sends), output)
	}
	return took, nil
}

// enqueue puts as many bare tasks into an empty store.
func (b bulkRun) enqueue(ctx context.Context, s *store) (time.Duration, error) {
	if err := s.empty(ctx); err != nil {
		return 0, err
	}
	requests := make([]sendlimit.Request, len(b.trace.Sends))
	for i := range requests {
		requests[i] = b.trace.Request(i, b.start)
	}
	queue := asynq.NewClientFromRedisClient(s.client)
	return drive(ctx, len(requests), func(ctx context.Context, i int) error {
		return enqueueBare(ctx, queue, "bare", requests[i])
	})
}

func (s *store) empty(ctx context.Context) error {
	if err := s.client.FlushAll(ctx).Err(); err != nil {
		return fmt.Errorf("empty the store: %w", err)
	}
	return nil
}
