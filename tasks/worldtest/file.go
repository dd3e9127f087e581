package worldtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/tasks/bulk"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// submitFile submits the lines of a file, and goes on at the line at which a run stopped.
func (w *world) submitFile(e Event) {
	lines := make([]bulk.Line, e.Together)
	for i := range lines {
		one := e
		one.Do, one.User, one.ID = Submit, w.plan.Users[i%len(w.plan.Users)].Name, fmt.Sprintf("%s-%d", e.ID, i)
		lines[i] = bulk.Line{Number: i + 1, Message: w.message(one)}
	}
	took := &outcomes{got: make(map[int]lineOutcome)}
	began := time.Now()
	unclear := make(map[int]bool) // lines by their numbers
	for first := 1; ; {
		c := w.caller()
		rest := slices.Clone(lines[first-1:])
		_, err := ask(c, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, bulk.Run(ctx, func() (bulk.Line, error) {
				if len(rest) == 0 {
					return bulk.Line{}, io.EOF
				}
				next := rest[0]
				rest = rest[1:]
				return next, nil
			}, c.Submit, took, bulk.Options{Many: c.SubmitMany, Together: submit.MaxMany})
		})
		if err == nil {
			break
		}
		if stopped := (&bulk.StoppedError{}); errors.As(err, &stopped) {
			first = stopped.Line
		} else {
			first = took.next()
		}
		for _, line := range lines[first-1:] {
			unclear[line.Number] = true
		}
		if w.isOver() || time.Since(began) > patience {
			break
		}
		time.Sleep(time.Second)
	}
	for _, line := range lines {
		m := line.Message
		a := Answer{Event: e, Message: m, Began: began, Ended: time.Now(), Unclear: unclear[line.Number], Err: errNoAnswer}
		a.Event.Do, a.Event.User, a.Event.ID = Submit, m.User, m.ID
		if o, ok := took.of(line.Number); ok {
			a.Got, a.Ended, a.Err = o.Outcome, o.at, nil
		}
		w.story.answered(a)
	}
}

var errNoAnswer = errors.New("the line was not judged")

// outcomes keeps the answers to the lines of a file.
type outcomes struct {
	mu  sync.Mutex
	got map[int]lineOutcome // by the numbers of lines
}

type lineOutcome struct {
	message.Outcome

	at time.Time
}

// Emit keeps an outcome.
func (s *outcomes) Emit(o message.Outcome) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got[o.Line] = lineOutcome{o, time.Now()}
	return nil
}

// Flush does nothing.
func (s *outcomes) Flush() error { return nil }

// of returns the outcome of a line, and whether there is one.
func (s *outcomes) of(line int) (lineOutcome, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.got[line]
	return o, ok
}

// next returns the first line without an outcome.
func (s *outcomes) next() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := 1
	for s.got[line].Outcome.Outcome != "" {
		line++
	}
	return line
}
