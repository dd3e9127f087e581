package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/tasks/rules"
)

// Judge submits a message, or makes a dry run of that. An error means that there is no outcome.
type Judge func(ctx context.Context, m message.Message) (message.Outcome, error)

// JudgeMany judges messages of one user in their order. An error is that of the first message without
// an outcome.
type JudgeMany func(ctx context.Context, ms []message.Message) ([]message.Outcome, error)

// Sink receives the outcomes in the order of the lines, one at a time. Flush is called
// before Run waits for the next one.
type Sink interface {
	Emit(o message.Outcome) error
	Flush() error
}

// StoppedError is returned when not every line was judged.
type StoppedError struct {
	Line   int // the first line that was not judged; later ones may have been
	Failed int // how many lines the judge failed on
	Err    error
}

// Error names the line and the cause.
func (e *StoppedError) Error() string { return fmt.Sprintf("stopped at line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *StoppedError) Unwrap() error { return e.Err }

// Options configures Run.
type Options struct {
	// Lanes is how many lines are judged at a time; zero means 64.
	Lanes int
	// Window is the most lines between next and the sink; zero
	// means 32,768. It lets other lanes continue while one has a user with many lines.
	Window int
	// Many, if set, judges up to Together waiting lines of a user at a time, in place of the judge.
	Many     JudgeMany
	Together int
}

// Run judges lines until next returns io.EOF, and passes their outcomes to the sink. If
// next, the judge or the sink fails or ctx ends, it finishes the lines that are being judged and
// returns a *StoppedError.
//
// When ctx ends, a call of next may still run; it is not called again.
func Run(ctx context.Context, next func() (Line, error), judge Judge, sink Sink, o Options) error {
	o.Lanes, o.Window = cmp.Or(o.Lanes, 64), cmp.Or(o.Window, 32768)
	reading, stop := context.WithCancel(ctx)
	defer stop()
	r := &run{
		judge: judge, many: o.Many, together: 1, sink: sink, stop: stop, chains: newChains(o.Lanes),
		answers: make(chan answer, o.Lanes), tokens: make(chan struct{}, o.Window), next: 1,
	}
	if o.Many != nil {
		r.together = o.Together
	}
	var working sync.WaitGroup
	for range o.Lanes {
		working.Go(func() { r.work(ctx) })
	}
	read := make(chan scanned)
	go scan(reading, next, read)
	go func() {
		r.dispatch(reading, read)
		working.Wait()
		close(r.answers)
	}()
	if r.collect() && r.failure == nil && r.whole {
		return nil
	}
	stopped := &StoppedError{Line: r.next, Failed: int(r.failed.Load()), Err: r.failure}
	if stopped.Err == nil {
		stopped.Err = ctx.Err() // the only other reason
	}
	return stopped
}

// run is one call of Run.
type run struct {
	judge   Judge
	many    JudgeMany
	sink    Sink
	chains  *chains
	answers chan answer
	tokens  chan struct{} // one for each line in the window

	together int // lines of a user that are judged at a time

	stop    context.CancelFunc // of reading
	failing sync.Once
	failure error        // the first one; of dispatch, work and collect
	halted  atomic.Bool  // no more lines are judged
	failed  atomic.Int64 // lines that the judge failed on

	whole bool // the file was read to its end
	last  int  // the last dispatched line
	next  int  // the line to continue with
}

// job is a line with its place among all lines, from 0.
type job struct {
	place int
	line  Line
}

// answer is the outcome of a job, if it was judged.
type answer struct {
	place, line int
	outcome     message.Outcome
	judged      bool
	here        bool
}

type scanned struct {
	line Line
	err  error
}

// scan reads lines until ctx ends or there are no more.
func scan(ctx context.Context, next func() (Line, error), into chan<- scanned) {
	for {
		line, err := next()
		select {
		case into <- scanned{line, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// dispatch adds each line to the chain of its user.
func (r *run) dispatch(ctx context.Context, lines <-chan scanned) {
	defer r.chains.close()
	for place := 0; ; place++ {
		select {
		case <-ctx.Done():
			return
		case r.tokens <- struct{}{}:
		}
		var read scanned
		select {
		case <-ctx.Done():
			return
		case read = <-lines:
		}
		switch {
		case errors.Is(read.err, io.EOF):
			r.whole = true
			return
		case read.err != nil:
			r.fail(read.err) // the lines before are still judged
			return
		}
		r.last = read.line.Number
		r.chains.add(&job{place: place, line: read.line})
	}
}

// work judges lines one after another, or some of a user together. It stops after a line without an
// outcome: later lines of that user could depend on it.
func (r *run) work(ctx context.Context) {
	for {
		of, jobs, ok := r.chains.take(r.together)
		if !ok {
			return
		}
		answers := make([]answer, len(jobs))
		for i, j := range jobs {
			answers[i] = answer{place: j.place, line: j.line.Number, here: true}
		}
		switch {
		case r.halted.Load() || ctx.Err() != nil:
		case len(jobs) > 1:
			// Finish these lines even if ctx ends: their outcomes would be unknown otherwise.
			r.judgeTogether(context.WithoutCancel(ctx), jobs, answers)
		default:
			r.judgeOne(context.WithoutCancel(ctx), jobs[0].line, &answers[0])
		}
		r.chains.giveBack(of)
		for _, a := range answers {
			a.outcome.Line = a.line
			r.answers <- a
		}
	}
}

func (r *run) judgeOne(ctx context.Context, line Line, a *answer) {
	o, err := message.Outcome{}, error(line.Invalid)
	if line.Invalid == nil {
		o, err = r.judge(ctx, line.Message)
	}
	r.answered(line, o, err, a)
}

// answered sets the outcome of a line, or halts after an error of the judge.
func (r *run) answered(line Line, o message.Outcome, err error, a *answer) {
	switch {
	case line.Invalid != nil || rules.UnknownRules(err): // only this user's lines have this error
		a.outcome, a.judged = message.OutcomeOf(err), true
		a.outcome.ID, a.outcome.User = line.Message.ID, line.Message.User
	case err != nil:
		r.failed.Add(1)
		r.halt(err)
	default:
		a.outcome, a.judged = o, true
	}
}

// judgeTogether judges valid lines of a user, up to the first one without an outcome.
func (r *run) judgeTogether(ctx context.Context, jobs []*job, answers []answer) {
	for at := 0; at < len(jobs); {
		ms := make([]message.Message, len(jobs)-at)
		for i, j := range jobs[at:] {
			ms[i] = j.line.Message
		}
		outcomes, err := r.many(ctx, ms)
		for _, o := range outcomes {
			r.answered(jobs[at].line, o, nil, &answers[at])
			at++
		}
		if err == nil {
			return
		}
		r.answered(jobs[at].line, message.Outcome{}, err, &answers[at])
		if !answers[at].judged {
			return
		}
		at++
	}
}

// collect passes the outcomes to the sink in the order of the lines, up to the first line without
// one. It reports whether every line had one.
func (r *run) collect() bool {
	window := cap(r.tokens)
	waiting := make([]answer, window)
	place, all := 0, true
	for {
		a, ok := r.receive()
		if !ok {
			break
		}
		waiting[a.place%window] = a
		for waiting[place%window].here {
			a := waiting[place%window]
			waiting[place%window] = answer{}
			place++
			<-r.tokens
			if all {
				r.next = a.line
				all = a.judged && r.emit(a.outcome)
			}
		}
	}
	if all {
		r.next = r.last + 1
	}
	return all
}

// receive returns the next answer. It flushes the sink before it waits.
func (r *run) receive() (answer, bool) {
	select {
	case a, ok := <-r.answers:
		if ok {
			return a, true
		}
	default:
	}
	if err := r.sink.Flush(); err != nil {
		r.halt(err)
	}
	a, ok := <-r.answers
	return a, ok
}

func (r *run) emit(o message.Outcome) bool {
	if err := r.sink.Emit(o); err != nil {
		r.halt(err)
		return false
	}
	return true
}

// fail stops reading; halt stops judging too.
func (r *run) fail(err error) {
	r.failing.Do(func() { r.failure = err })
	r.stop()
}

func (r *run) halt(err error) {
	r.halted.Store(true)
	r.fail(err)
}
