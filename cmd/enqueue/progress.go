package main

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/tasks/bulk"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// progress shows on a terminal how far a file is, how fast it goes and how long
// it still takes. Elsewhere it shows nothing.
type progress struct {
	out   io.Writer // for lines; above the bar where there is one
	bars  *mpb.Progress
	now   func() time.Time
	bar   *mpb.Bar
	known bool          // the bar is as long as there are lines
	lines *atomic.Int64 // those that the bar has counted: each bar has its own
}

// startProgress watches a file being read, for what is said beside the bar: ""
// where reading is not all that takes its time.
func (p *program) startProgress(file *messageFile, doing string) *progress {
	if !cli.IsTerminal(p.stderr) {
		return &progress{out: p.stderr, lines: new(atomic.Int64)}
	}
	return newProgress(p.stderr, file, doing, p.now)
}

func newProgress(w io.Writer, file *messageFile, doing string, now func() time.Time, options ...mpb.ContainerOption) *progress {
	bars := mpb.New(append(options, mpb.WithOutput(w))...)
	shown := &progress{out: bars, bars: bars, now: now, lines: new(atomic.Int64)}
	if size := file.size(); size > 0 {
		shown.addBar(doing, size) // by bytes: how many lines there are is known at the end only
	} else {
		shown.bar = bars.AddSpinner(0, shown.counted(doing))
	}
	file.read = shown.bar.IncrBy
	return shown
}

func (s *progress) addBar(doing string, total int64) {
	s.bar = s.bars.AddBar(total, s.counted(doing),
		mpb.AppendDecorators(decor.Percentage(), decor.Name("  "), decor.AverageETA(decor.ET_STYLE_GO), decor.Name(" left")))
}

// counted writes what is done, to how many lines, and to how many a second.
func (s *progress) counted(doing string) mpb.BarOption {
	started, counted := s.now(), s.lines
	if doing != "" {
		doing += "  "
	}
	return mpb.PrependDecorators(decor.Any(func(decor.Statistics) string {
		lines, took := counted.Load(), s.now().Sub(started).Seconds()
		return fmt.Sprintf("%s%s lines  %s/s ", doing, cli.Thousands(int(lines)), cli.Thousands(int(float64(lines)/max(took, 0.001))))
	}))
}

// phase puts a new bar in the place of the one that was, when something else is
// done to so many lines. Nothing may be counted meanwhile.
func (s *progress) phase(p bulk.Phase, lines int) {
	if s.bars == nil || p == bulk.Reading { // which the first bar is for
		return
	}
	doing := "judging"
	if p == bulk.HandingOn {
		doing = "summing up"
	}
	s.lines = new(atomic.Int64)
	s.bar.Abort(true)
	s.addBar(doing, int64(lines))
	s.known = true
}

// add counts lines.
func (s *progress) add(n int) {
	s.lines.Add(int64(n))
	if s.known {
		s.bar.IncrBy(n)
	}
}

// reading counts the lines that next returns.
func (s *progress) reading(next func() (bulk.Line, error)) func() (bulk.Line, error) {
	return func() (bulk.Line, error) {
		line, err := next()
		if err == nil {
			s.add(1)
		}
		return line, err
	}
}

// judging counts the lines that a judge has answered.
func (s *progress) judging(judge bulk.Judge) bulk.Judge {
	return func(ctx context.Context, m message.Message) (message.Outcome, error) {
		o, err := judge(ctx, m)
		if err == nil {
			s.add(1)
		}
		return o, err
	}
}

// printf prints lines without disturbing the bar.
func (s *progress) printf(format string, args ...any) error {
	if _, err := fmt.Fprintf(s.out, format, args...); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// end takes the bar away.
func (s *progress) end() {
	if s.bars != nil {
		s.bar.Abort(true)
		s.bars.Wait()
	}
}
