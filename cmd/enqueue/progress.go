package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/sendlimit/sendlimiter/cmd/enqueue/internal/messagefile"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

// progress shows on a terminal how far a file is, how fast it goes and how long
// it still takes. Elsewhere it shows nothing.
type progress struct {
	out   io.Writer // for lines; above the bar where there is one
	bars  *mpb.Progress
	bar   *mpb.Bar
	lines atomic.Int64
}

// startProgress watches a file being read.
func (p *program) startProgress(file *messageFile) *progress {
	if !cli.IsTerminal(p.stderr) {
		return &progress{out: p.stderr}
	}
	return newProgress(p.stderr, file, p.now)
}

func newProgress(w io.Writer, file *messageFile, now func() time.Time, options ...mpb.ContainerOption) *progress {
	bars := mpb.New(append(options, mpb.WithOutput(w))...)
	shown := &progress{out: bars, bars: bars}
	counted := mpb.PrependDecorators(decor.Any(shown.count(now)))
	if size := file.size(); size > 0 {
		// By bytes: how many lines there are is known at the end only.
		shown.bar = bars.AddBar(size, counted,
			mpb.AppendDecorators(decor.Percentage(), decor.Name("  "), decor.AverageETA(decor.ET_STYLE_GO), decor.Name(" left")))
	} else {
		shown.bar = bars.AddSpinner(0, counted)
	}
	file.read = shown.bar.IncrBy
	return shown
}

// count writes how many lines were judged, and how many a second.
func (s *progress) count(now func() time.Time) func(decor.Statistics) string {
	started := now()
	return func(decor.Statistics) string {
		lines, took := s.lines.Load(), now().Sub(started).Seconds()
		return fmt.Sprintf("%s lines  %s/s ", messagefile.Thousands(int(lines)), messagefile.Thousands(int(float64(lines)/max(took, 0.001))))
	}
}

// judged counts lines.
func (s *progress) judged(n int64) { s.lines.Add(n) }

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
