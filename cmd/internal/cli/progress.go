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

// Progress shows on a terminal how much is done and how long the rest takes.
// Elsewhere it shows nothing.
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

// ContinueProgress shows "DONE of TOTAL WHAT", of which done was done before. How long the
// rest takes does not depend on that.
func ContinueProgress(w io.Writer, what string, done, total int) *Progress {
	if !IsTerminal(w) {
		return &Progress{out: w}
	}
	return newProgress(w, what, done, total)
}

// StartCount shows "DONE WHAT", for work of which nobody knows how much it is.
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

// timeLeft shows how long the rest takes at the average speed since the start, when some was
// done already.
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

// Add counts n more as done.
func (s *Progress) Add(n int) {
	if s.bar != nil {
		s.bar.IncrBy(n)
	}
}

// SetTotal changes how much there is to do.
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

// Above returns where to write lines that would disturb the bar on out. Without a
// bar that is out itself. A nil Progress has no bar.
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

// Steps is a Progress of work elsewhere, which says again and again how much is done. There is no
// bar before the first time.
type Steps struct {
	Out  io.Writer
	What string

	*Progress // nil before the first time

	done int
}

// Show shows how much is done, of how much. What the first call has was done before.
func (s *Steps) Show(done, total int) {
	if s.Progress == nil {
		s.Progress = ContinueProgress(s.Out, s.What, done, total)
	} else {
		s.SetTotal(total)
		s.Add(max(0, done-s.done)) // work that begins anew shows nothing twice
	}
	s.done = max(s.done, done)
}

// Ask asks a question on w and reads the answer from r. It returns true for y or
// yes, false for everything else.
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
