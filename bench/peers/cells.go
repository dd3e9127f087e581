package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/bench/peers/side"
)

// callers submit at the same time.
const callers = 64

// harness runs cells: a side on an empty store of its own.
type harness struct {
	folder string // for files between harness and sides
	cores  pins
	files  atomic.Int64
}

// file returns the path of a new file.
func (h *harness) file(name string) string {
	return filepath.Join(h.folder, fmt.Sprintf("%s-%d", name, h.files.Add(1)))
}

// submission is what a side answered, and what it used for that.
type submission struct {
	settings  string
	accepted  []side.Message
	answers   []byte    // a, r or e for each message
	took      []float64 // ms for each message
	seconds   float64
	bytes     int // of the store, for all messages
	storeTime time.Duration
	sideTime  time.Duration
}

func (s submission) perSecond() float64 { return float64(len(s.answers)) / s.seconds }

// submit lets a side submit messages, checks that as many are pending as it accepted, and ends the side.
func (h *harness) submit(ctx context.Context, s spec, st store, messages []side.Message) (submission, error) {
	return h.submitWarm(ctx, s, st, nil, messages)
}

// submitWarm is submit after other messages, which are not measured: connections are open then, and
// scripts loaded.
func (h *harness) submitWarm(ctx context.Context, s spec, st store, warm, messages []side.Message) (_ submission, err error) {
	p, settings, err := startProcess(ctx, s, h.cores, side.Request{Role: side.RoleSubmit, Store: st.url()})
	if err != nil {
		return submission{}, err
	}
	defer func() { err = errors.Join(err, p.stop(ctx)) }()
	before, err := p.ask(ctx, side.Request{Op: side.OpStatus})
	if err != nil {
		return submission{}, err
	}
	if len(warm) > 0 {
		sub, err := h.ask(ctx, p, warm)
		if err != nil {
			return submission{}, err
		}
		before.Pending += len(sub.accepted)
	}
	meter, err := startMeter(ctx, st, p)
	if err != nil {
		return submission{}, err
	}
	sub, err := h.ask(ctx, p, messages)
	if err != nil {
		return submission{}, err
	}
	sub.settings = settings
	if sub.storeTime, sub.sideTime, sub.bytes, err = meter.read(ctx); err != nil {
		return submission{}, err
	}
	if err := awaitPending(ctx, p, before.Pending+len(sub.accepted)); err != nil {
		return submission{}, fmt.Errorf("%s accepted %d messages: %w", s.name, len(sub.accepted), err)
	}
	return sub, nil
}

// ask lets the program of a side submit messages, and reads the answers.
func (h *harness) ask(ctx context.Context, p *process, messages []side.Message) (sub submission, err error) {
	work, results := h.file("work"), h.file("results")
	defer func() { err = errors.Join(err, os.RemoveAll(work), os.RemoveAll(results)) }()
	if err := writeWork(work, messages); err != nil {
		return submission{}, err
	}
	reply, err := p.ask(ctx, side.Request{Op: side.OpSubmit, Work: work, Results: results, Callers: callers})
	if err != nil {
		return submission{}, err
	}
	sub.seconds = reply.Seconds
	return sub, sub.readAnswers(results, messages)
}

// awaitPending waits until so many messages are pending. A side may count them every few seconds only.
func awaitPending(ctx context.Context, p *process, want int) error {
	const (
		tries = 150
		poll  = 100 * time.Millisecond
	)
	var status side.Reply
	for range tries {
		var err error
		if status, err = p.ask(ctx, side.Request{Op: side.OpStatus}); err != nil || status.Pending == want {
			return err
		}
		if err := pause(ctx, poll); err != nil {
			return err
		}
	}
	return fmt.Errorf("%d are pending in all, not %d", status.Pending, want)
}

// readAnswers reads the answers to messages.
func (s *submission) readAnswers(path string, messages []side.Message) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the answers: %w", err)
	}
	for line := range strings.Lines(string(content)) {
		answer, text, _ := strings.Cut(strings.TrimSpace(line), ",")
		us, err := strconv.Atoi(text)
		if err != nil || len(answer) != 1 || len(s.answers) == len(messages) {
			return fmt.Errorf("read the answers: line %q", line)
		}
		if answer == "a" {
			s.accepted = append(s.accepted, messages[len(s.answers)])
		}
		s.answers = append(s.answers, answer[0])
		s.took = append(s.took, float64(us)/1000)
	}
	if len(s.answers) != len(messages) {
		return fmt.Errorf("%d answers to %d messages", len(s.answers), len(messages))
	}
	return nil
}

// meter measures what store and side use.
type meter struct {
	store               store
	side                *process
	storeTime, sideTime time.Duration
	bytes               int
}

func startMeter(ctx context.Context, st store, p *process) (*meter, error) {
	m := &meter{store: st, side: p}
	var err error
	m.storeTime, m.sideTime, m.bytes, err = m.read(ctx)
	return m, err
}

// read returns what was used since the start.
func (m *meter) read(ctx context.Context) (storeTime, sideTime time.Duration, bytes int, err error) {
	if storeTime, err = processorTime(m.store.pid()); err != nil {
		return 0, 0, 0, err
	}
	if sideTime, err = m.side.used(); err != nil {
		return 0, 0, 0, err
	}
	if bytes, err = m.store.bytes(ctx); err != nil {
		return 0, 0, 0, err
	}
	return storeTime - m.storeTime, sideTime - m.sideTime, bytes - m.bytes, nil
}

// measureSubmit measures n submits of users with one message each.
func (h *harness) measureSubmit(ctx context.Context, s spec, r *sideResult, n int, durable bool) (err error) {
	st, err := openStore(ctx, s.kind, durable, h.cores)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	const warm = 1000
	sub, err := h.submitWarm(ctx, s, st, spread("warm", warm), spread("submit", n))
	if err != nil {
		return err
	}
	if len(sub.accepted) != n {
		return fmt.Errorf("%s accepted %d of %d messages, where every time is free", s.name, len(sub.accepted), n)
	}
	version, err := st.version(ctx)
	if err != nil {
		return err
	}
	slices.Sort(sub.took)
	figures := &r.Submits
	if durable {
		figures = &r.DurableSubmits
		r.Durable = st.settings(durable)
	} else {
		r.Settings, r.Store = sub.settings, version+", "+st.settings(durable)
		r.Bytes.add(float64(sub.bytes) / float64(n))
	}
	figures.PerSecond.add(sub.perSecond())
	figures.P99.add(quantile(sub.took, 0.99))
	figures.StoreMicros.add(micros(sub.storeTime, n))
	figures.SideMicros.add(micros(sub.sideTime, n))
	return nil
}

func micros(d time.Duration, n int) float64 { return float64(d.Microseconds()) / float64(n) }

// quantile returns a quantile of sorted values.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
