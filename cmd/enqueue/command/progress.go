package command

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/tasks/bulk"
)

// progress shows on a terminal how much of a file is done, how fast, and how long the rest takes.
// It shows nothing if there is no terminal.
type progress struct {
	out   io.Writer // for lines; above the bar if there is one
	bars  *mpb.Progress
	now   func() time.Time
	bar   *mpb.Bar
	known bool          // the bar counts lines, not bytes
	lines *atomic.Int64 // the lines that this bar has counted

	size      int64 // of the file; 0 if unknown
	bytes     atomic.Int64
	linesRead atomic.Int64 // counted by the first bar when they are answered
}

// startProgress shows the reading of a file. doing is shown beside the bar, "" if the lines are
// processed at the same time.
func (p *program) startProgress(file *messageFile, doing string) *progress {
	if !cli.IsTerminal(p.Stderr) {
		return &progress{out: p.Stderr, lines: new(atomic.Int64)}
	}
	return newProgress(p.Stderr, file, doing, p.now)
}

func newProgress(w io.Writer, file *messageFile, doing string, now func() time.Time, options ...mpb.ContainerOption) *progress {
	bars := mpb.New(append(options, mpb.WithOutput(w))...)
	shown := &progress{out: bars, bars: bars, now: now, lines: new(atomic.Int64), size: file.size()}
	if shown.size > 0 {
		shown.addBar(doing, shown.size) // by bytes: the number of lines is known only at the end
	} else {
		shown.bar = bars.AddSpinner(0, shown.counted(doing))
	}
	file.read = func(n int) { shown.bytes.Add(int64(n)) }
	return shown
}

func (s *progress) addBar(doing string, total int64) {
	s.bar = s.bars.AddBar(total, s.counted(doing),
		mpb.AppendDecorators(decor.Percentage(), decor.Name("  "), decor.AverageETA(decor.ET_STYLE_GO), decor.Name(" left")))
}

// counted shows the step, the number of lines, and lines a second.
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

// phase replaces the bar when a phase with lines lines begins. Count nothing meanwhile.
func (s *progress) phase(p bulk.Phase, lines int) {
	if s.bars == nil || p == bulk.Reading { // the first bar is for reading
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
	lines := s.lines.Add(int64(n))
	switch read := s.linesRead.Load(); {
	case s.known:
		s.bar.IncrBy(n)
	case s.size > 0 && read > 0:
		// Lines that are read ahead are not done. A full bar would count no more.
		s.bar.SetCurrent(min(s.bytes.Load()*lines/read, s.size-1))
	}
}

// reading counts the lines that next reads, so that add knows how many are done.
func (s *progress) reading(next func() (bulk.Line, error)) func() (bulk.Line, error) {
	return func() (bulk.Line, error) {
		line, err := next()
		if err == nil {
			s.linesRead.Add(1)
		}
		return line, err
	}
}

// spooling counts the lines that next reads as done.
func (s *progress) spooling(next func() (bulk.Line, error)) func() (bulk.Line, error) {
	next = s.reading(next)
	return func() (bulk.Line, error) {
		line, err := next()
		if err == nil {
			s.add(1)
		}
		return line, err
	}
}

// judging counts the lines that judge has answered.
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
	if _, err := fmt.Fprintf(cli.VisibleTo(s.out), format, args...); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// end removes the bar.
func (s *progress) end() {
	if s.bars != nil {
		s.bar.Abort(true)
		s.bars.Wait()
	}
}
