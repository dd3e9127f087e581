package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/sendlimit/sendlimiter/message"
)

// Phase is what RunInGroups is doing.
type Phase int

// The phases, in order.
const (
	Reading   Phase = iota // lines are written to temporary files
	Judging                // lines are judged
	HandingOn              // the sink gets the outcomes
)

// GroupOptions configures RunInGroups.
type GroupOptions struct {
	Options

	// Group is the largest number of lines that are judged before their traces are
	// removed; zero means 16,384. The lines of one user are never split.
	Group int
	// Folder has the temporary files; "" means the system's folder.
	Folder string
	// Phase, if set, is called when a phase begins, with its number of lines: 0 for
	// Reading, since it is not known; for Judging, the valid lines.
	Phase func(p Phase, lines int)
}

// UnfinishedError is returned when a line has no outcome. The sink got none.
type UnfinishedError struct {
	Lines  int // read lines
	Judged int // lines with an outcome
	Err    error
}

// Error has the progress and the cause.
func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("stopped after %d of %s: %v", e.Judged, message.Count(e.Lines, "line"), e.Err)
}

// Unwrap returns the cause.
func (e *UnfinishedError) Unwrap() error { return e.Err }

// RunInGroups judges lines as Run does, with the same outcomes. It is for a judge that
// keeps a trace of each line, such as a dry run. It writes the lines to temporary files
// by users, and judges one group of users after another. After each group it calls
// forget: no later line belongs to a user of that group. So
// neither memory nor the traces grow with the number of lines.
//
// The sink gets the outcomes at the end. If next fails, it gets those of the lines before, and the
// error is a *StoppedError, also if the sink fails. If the judge or forget fails or ctx ends, the sink
// gets nothing, and the error is an *UnfinishedError.
//
// When ctx ends, a call of next may still run; it is not called again. The temporary
// files are always removed.
func RunInGroups(
	ctx context.Context, next func() (Line, error), judge Judge, forget func(context.Context) error, sink Sink, o GroupOptions,
) error {
	o.Group = cmp.Or(o.Group, 16384)
	if o.Phase == nil {
		o.Phase = func(Phase, int) {}
	}
	r := &groupRun{judge: judge, forget: forget, options: o}
	groups := newGroups(o.Folder)
	err := r.read(ctx, next, groups)
	var outcomes *merged[message.Outcome]
	if err == nil {
		o.Phase(Judging, r.lines-r.invalid)
		var results []*spool[message.Outcome]
		results, err = r.judgeAll(ctx, groups)
		defer closeAll(results)
		outcomes = merge(results, lineOf)
	}
	if err = errors.Join(err, closeGroups(groups)); err != nil {
		return &UnfinishedError{Lines: r.lines, Judged: r.judged, Err: err}
	}
	o.Phase(HandingOn, r.lines)
	return r.handOn(ctx, outcomes, sink)
}

// groupRun is one call of RunInGroups.
type groupRun struct {
	judge   Judge
	forget  func(context.Context) error
	options GroupOptions

	lines   int
	invalid int   // of them
	last    int   // number of the last line
	broken  error // the error of next, nil at the end of the lines
	judged  int
}

// read writes lines to the files of their groups.
func (r *groupRun) read(ctx context.Context, next func() (Line, error), groups []*group) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r.options.Phase(Reading, 0)
	lines := make(chan scanned)
	go scan(ctx, next, lines)
	for {
		var read scanned
		select {
		case <-ctx.Done():
			return ctx.Err()
		case read = <-lines:
		}
		switch {
		case errors.Is(read.err, io.EOF):
			return nil
		case read.err != nil:
			r.broken = read.err
			return nil
		}
		if err := groups[groupOf(read.line.Message.User)].add(&read.line); err != nil {
			return err
		}
		r.lines++
		if read.line.Invalid != nil {
			r.invalid++
		}
		r.last = read.line.Number
	}
}

// judgeAll judges groups, one batch after another, and empties them. Close the results even
// after an error.
func (r *groupRun) judgeAll(ctx context.Context, groups []*group) (results []*spool[message.Outcome], err error) {
	for _, batch := range batches(groups, r.options.Group) {
		result := &spool[message.Outcome]{folder: r.options.Folder}
		results = append(results, result)
		if first := batch[0]; first.lines.count > r.options.Group && first.mixed {
			err = r.judgeParts(ctx, first, result)
		} else {
			err = r.judgeBatch(ctx, batch, result)
		}
		if err != nil {
			return results, err
		}
	}
	return results, nil
}

// judgeParts judges a group that is too large, in parts.
func (r *groupRun) judgeParts(ctx context.Context, g *group, into *spool[message.Outcome]) error {
	parts, err := g.split()
	if err != nil {
		return err
	}
	results, err := r.judgeAll(ctx, parts)
	defer closeAll(results)
	if err = errors.Join(err, closeGroups(parts)); err != nil {
		return err
	}
	outcomes := merge(results, lineOf)
	for {
		o, err := outcomes.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = into.add(&o)
		}
		if err != nil {
			return err
		}
	}
}

// judgeBatch judges groups together.
func (r *groupRun) judgeBatch(ctx context.Context, batch []*group, into *spool[message.Outcome]) error {
	lines := make([]*spool[Line], len(batch))
	for i, g := range batch {
		lines[i] = g.lines
	}
	reader := &groupReader{lines: merge(lines, numberOf)}
	err := Run(ctx, reader.next, r.judge, spoolSink{into}, r.options.Options)
	reader.end()
	r.judged += into.count
	if stopped, ok := errors.AsType[*StoppedError](err); ok {
		err = stopped.Err // its line is only one of this batch
	}
	if err == nil {
		err = r.forget(ctx)
	}
	return errors.Join(err, closeGroups(batch))
}

func (r *groupRun) handOn(ctx context.Context, outcomes *merged[message.Outcome], sink Sink) error {
	for line := 0; ; {
		o, err := outcomes.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			line, err = o.Line, ctx.Err()
		}
		if err == nil {
			err = sink.Emit(whole(o))
		}
		if err != nil {
			return &StoppedError{Line: line, Err: err}
		}
	}
	if err := cmp.Or(sink.Flush(), r.broken); err != nil {
		return &StoppedError{Line: r.last + 1, Err: err}
	}
	return nil
}

// whole restores empty lists, which a spool reads as nil.
func whole(o message.Outcome) message.Outcome {
	for i := range o.Violations {
		if o.Violations[i].Conflicts == nil {
			o.Violations[i].Conflicts = []message.Conflict{}
		}
	}
	return o
}

// groupReader reads the lines of groups until it is ended: a Run that stops early may
// still read when its files are closed.
type groupReader struct {
	mu    sync.Mutex
	lines *merged[Line]
	ended bool
}

var errEnded = errors.New("the group has ended")

func (r *groupReader) next() (Line, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return Line{}, errEnded
	}
	return r.lines.next()
}

func (r *groupReader) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

// spoolSink writes outcomes to a spool.
type spoolSink struct{ *spool[message.Outcome] }

// Emit implements Sink.
func (s spoolSink) Emit(o message.Outcome) error { return s.add(&o) }

// Flush implements Sink. Nothing reads the spool before the end.
func (s spoolSink) Flush() error { return nil }

func numberOf(line *Line) int { return line.Number }

func lineOf(o *message.Outcome) int { return o.Line }

// closeAll removes the files of spools.
func closeAll(spools []*spool[message.Outcome]) {
	for _, s := range spools {
		_ = s.close() // its values were read or are not needed
	}
}
