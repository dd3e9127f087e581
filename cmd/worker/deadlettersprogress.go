package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

// progress shows on a terminal how many messages are done, and how long the rest
// takes. Elsewhere it shows nothing.
type progress struct {
	out  io.Writer // for lines; above the bar where there is one
	bars *mpb.Progress
	bar  *mpb.Bar
	once sync.Once
}

func startProgress(w io.Writer, what string, total int) *progress {
	if !cli.IsTerminal(w) {
		return &progress{out: w}
	}
	return newProgress(w, what, total)
}

func newProgress(w io.Writer, what string, total int, options ...mpb.ContainerOption) *progress {
	bars := mpb.New(append(options, mpb.WithOutput(w))...)
	bar := bars.AddBar(int64(total),
		mpb.PrependDecorators(decor.CountersNoUnit("%d of %d "+what+" ")),
		mpb.AppendDecorators(decor.AverageETA(decor.ET_STYLE_GO), decor.Name(" left")))
	return &progress{out: bars, bars: bars, bar: bar}
}

// done counts messages.
func (s *progress) done(n int) {
	if s.bar != nil {
		s.bar.IncrBy(n)
	}
}

// printf prints lines without disturbing the bar.
func (s *progress) printf(format string, args ...any) error {
	if _, err := fmt.Fprintf(s.out, format, args...); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// end takes the bar away. Ending twice is harmless.
func (s *progress) end() {
	s.once.Do(func() {
		if s.bars != nil {
			s.bar.Abort(true)
			s.bars.Wait()
		}
	})
}

// isTerminal says whether a person types what is read there.
func isTerminal(r io.Reader) bool {
	file, ok := r.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(file.Fd()))
}

// ask puts a question that is answered with yes or no, which is the default.
func ask(r io.Reader, w io.Writer, question string) (bool, error) {
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
