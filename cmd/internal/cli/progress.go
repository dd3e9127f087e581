package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Progress shows on a terminal how much is done and how long the rest takes. It shows nothing if
// there is no terminal.
type Progress struct {
	out  io.Writer // for lines: above the bar if there is one
	bars *mpb.Progress
	bar  *mpb.Bar // nil if w is no terminal
	once sync.Once
}

// StartProgress shows "0 of TOTAL WHAT". Call End when all is done.
func StartProgress(w io.Writer, what string, total int) *Progress {
	return ContinueProgress(w, what, 0, total)
}

// ContinueProgress shows "DONE of TOTAL WHAT" for work that was partly done before. The earlier
// part does not count for the time left.
func ContinueProgress(w io.Writer, what string, done, total int) *Progress {
	if !IsTerminal(w) {
		return &Progress{out: w}
	}
	return newProgress(w, what, done, total)
}

// StartCount shows "DONE WHAT", for work of unknown size.
func StartCount(w io.Writer, what string) *Progress {
	if !IsTerminal(w) {
		return &Progress{out: w}
	}
	return newCount(w, what)
}

func newCount(w io.Writer, what string, options ...mpb.ContainerOption) *Progress {
	bars := mpb.New(append(options, mpb.WithOutput(w))...)
	bar := bars.New(0, mpb.SpinnerStyle(), mpb.AppendDecorators(decor.CurrentNoUnit("%d "+what)))
	return &Progress{out: bars, bars: bars, bar: bar}
}

func newProgress(w io.Writer, what string, done, total int, options ...mpb.ContainerOption) *Progress {
	bars := mpb.New(append(options, mpb.WithOutput(w))...)
	bar := bars.AddBar(int64(total),
		mpb.PrependDecorators(decor.CountersNoUnit("%d of %d "+what+" ")),
		mpb.AppendDecorators(timeLeft(int64(done)), decor.Name(" left")))
	bar.IncrBy(done)
	return &Progress{out: bars, bars: bars, bar: bar}
}

// timeLeft shows how long the rest takes at the average speed since the start. Some was done
// before.
func timeLeft(before int64) decor.Decorator {
	began := time.Now()
	return decor.Any(func(s decor.Statistics) string {
		var left time.Duration
		if now := s.Current - before; now > 0 {
			left = time.Since(began) / time.Duration(now) * time.Duration(s.Total-s.Current)
		}
		return left.Truncate(time.Second).String()
	})
}

// Add adds n to the work that is done.
func (s *Progress) Add(n int) {
	if s.bar != nil {
		s.bar.IncrBy(n)
	}
}

// SetTotal changes the total.
func (s *Progress) SetTotal(total int) {
	if s.bar != nil {
		s.bar.SetTotal(int64(total), false)
	}
}

// Printf prints lines above the bar.
func (s *Progress) Printf(format string, args ...any) error {
	if _, err := fmt.Fprintf(VisibleTo(s.out), format, args...); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// Above returns the writer for lines that would disturb the bar on out. Without a bar that is out
// itself. A nil Progress has no bar.
func (s *Progress) Above(out io.Writer) io.Writer {
	if s == nil || s.bar == nil {
		return out
	}
	return s.out
}

// End removes the bar. A second call does nothing.
func (s *Progress) End() {
	if s == nil {
		return
	}
	s.once.Do(func() {
		if s.bars != nil {
			s.bar.Abort(true)
			s.bars.Wait()
		}
	})
}

// Steps is the Progress of work that another process reports. There is no bar before the first
// report.
type Steps struct {
	Out  io.Writer
	What string

	*Progress // nil before the first report

	done int
}

// Show shows how much is done of a total. Work done before the first call was done earlier.
func (s *Steps) Show(done, total int) {
	if s.Progress == nil {
		s.Progress = ContinueProgress(s.Out, s.What, done, total)
	} else {
		s.SetTotal(total)
		s.Add(max(0, done-s.done)) // work that restarts is not counted twice
	}
	s.done = max(s.done, done)
}

// Ask asks a question on w and reads the answer from r. It returns true for y or yes.
func Ask(r io.Reader, w io.Writer, question string) (bool, error) {
	if _, err := fmt.Fprintf(w, "%s [y/N] ", question); err != nil {
		return false, fmt.Errorf("asking: %w", err)
	}
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("reading the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	default:
		return false, nil
	}
}
