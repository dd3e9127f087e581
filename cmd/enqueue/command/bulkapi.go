package command

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/enqueue/internal/messagefile"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/bulk"
	"github.com/sendlimit/sendlimiter/tasks/rules"
)

// submitOverAPI lets an API judge the lines of the source in one stream, and prints the summary.
func (p *program) submitOverAPI(ctx context.Context, api *client.Client, source *messagefile.Source, c *collector, f bulkFlags) error {
	sends := &sentLines{next: c.progress.reading(source.Next)}
	results := api.RecordSent(ctx, sends.messages)
	if !f.sent {
		results = api.SubmitBatch(ctx, sends.messages, f.batchOptions()...)
	}
	started := p.now()
	stopped := sends.emit(results, c)
	c.summary.Finish(p.now().Sub(started), source.Trimmed())
	return p.sumUp(operations.Answered, c, f, stopped, c.close())
}

// batchOptions omits the free times of refusals if nobody reads them.
func (f bulkFlags) batchOptions() []client.BatchOption {
	if f.results != "" {
		return nil
	}
	return []client.BatchOption{client.WithoutFreeTimes()}
}

// dryRunOverAPI is dryRun on an API. It accepts fewer lines at a time, so all are read before,
// and each user's are kept together. Under other rules than the store's, the API judges them twice.
func (p *program) dryRunOverAPI(
	ctx context.Context, api *client.Client, source *messagefile.Source, c *collector, f bulkFlags, w rules.WhatIf,
) error {
	started := p.now()
	lines, stopped := readAll(c.progress.reading(source.Next))
	if stopped == nil {
		stopped = p.judgeOverAPI(ctx, api, lines, c, f, w)
	}
	c.summary.Finish(p.now().Sub(started), source.Trimmed())
	return p.sumUp(operations.Answered, c, f, stopped, c.close())
}

// readAll reads all lines.
func readAll(next func() (bulk.Line, error)) ([]bulk.Line, error) {
	var lines []bulk.Line
	for {
		line, err := next()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return nil, &bulk.UnfinishedError{Lines: len(lines), Err: err}
		}
		lines = append(lines, line)
	}
}

// judgeOverAPI judges lines in a dry run, and passes their outcomes on in the order of the file.
func (p *program) judgeOverAPI(ctx context.Context, api *client.Client, lines []bulk.Line, c *collector, f bulkFlags, w rules.WhatIf) error {
	byUser := make([]int, len(lines)) // places of lines
	for i := range byUser {
		byUser[i] = i
	}
	slices.SortStableFunc(byUser, func(a, b int) int { return strings.Compare(lines[a].Message.User, lines[b].Message.User) })
	judged := 0
	judge := func(what client.WhatIf) ([]message.Outcome, error) {
		at, outcomes := 0, make([]message.Outcome, len(lines))
		sends := &sentLines{next: func() (bulk.Line, error) {
			if at == len(byUser) {
				return bulk.Line{}, io.EOF
			}
			at++
			return lines[byUser[at-1]], nil
		}}
		n := 0
		return outcomes, sends.emit(api.DryRunBatch(ctx, sends.messages, what, f.batchOptions()...), sinkFunc(func(o message.Outcome) error {
			outcomes[byUser[n]] = o
			n++
			judged = n
			return nil
		}))
	}
	var what client.WhatIf
	for _, rule := range w.Rules {
		what.Rules = append(what.Rules, rule.String())
	}
	if w.Policy != nil {
		proposed := message.PolicyOf(*w.Policy)
		what.Policy = &proposed
	}
	if len(what.Rules) > 0 || what.Policy != nil {
		c.summary.Plan.JudgedBy = judgedOverAPI(ctx, api, w)
		now, err := judge(client.WhatIf{})
		if err != nil {
			return unfinished(err, judged, len(lines))
		}
		c.summary.Plan.Baseline = new(messagefile.Counter)
		for _, o := range now {
			c.summary.Plan.Baseline.Add(o)
		}
	}
	outcomes, err := judge(what)
	if err != nil {
		return unfinished(err, judged, len(lines))
	}
	for _, o := range outcomes {
		if err := c.Emit(o); err != nil {
			return unfinished(err, len(lines), len(lines))
		}
	}
	return nil
}

func unfinished(err error, judged, lines int) error {
	if halt, ok := errors.AsType[*bulk.StoppedError](err); ok {
		err = halt.Err
	}
	return &bulk.UnfinishedError{Judged: judged, Lines: lines, Err: err}
}

// judgedOverAPI is judgedBy for an API. A key that may not read policies sees only the given rules.
func judgedOverAPI(ctx context.Context, api *client.Client, w rules.WhatIf) string {
	if w.Policy == nil {
		now, err := api.Policy(ctx, policy.DefaultName)
		if own, invalid := policy.Document(now).Policy(); err == nil && invalid == nil {
			w.Policy = &own
		}
	}
	if w.Policy != nil {
		if changed, err := w.Changed(*w.Policy); err == nil {
			return judgedBy(w, changed)
		}
	}
	return policy.JoinRules(w.Rules, ", ")
}

// sinkFunc is a bulk.Sink without a buffer.
type sinkFunc func(message.Outcome) error

// Emit receives the outcome of the next line.
func (f sinkFunc) Emit(o message.Outcome) error { return f(o) }

// Flush does nothing.
func (sinkFunc) Flush() error { return nil }

// sentLines are the lines in the stream of a batch that are not answered yet.
type sentLines struct {
	next func() (bulk.Line, error)

	mu     sync.Mutex
	lines  []bulk.Line // in the order of the file
	broken error       // of reading
}

// messages yields the messages of the lines, for the stream. Lines that are no message wait for
// their turn with the others.
func (s *sentLines) messages(yield func(client.Message) bool) {
	for {
		line, err := s.next()
		s.mu.Lock()
		switch {
		case err == nil:
			s.lines = append(s.lines, line)
		case !errors.Is(err, io.EOF):
			s.broken = err
		}
		s.mu.Unlock()
		if err != nil || line.Invalid == nil && !yield(messageOf(line.Message)) {
			return
		}
	}
}

// take removes the first line if it is as wanted.
func (s *sentLines) take(invalid bool) (line bulk.Line, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lines) == 0 || (s.lines[0].Invalid != nil) != invalid {
		return bulk.Line{}, false
	}
	line, s.lines = s.lines[0], s.lines[1:]
	return line, true
}

// emit passes the outcomes of the lines on, in their order. It returns a *bulk.StoppedError if a
// line has none.
func (s *sentLines) emit(results iter.Seq2[client.Result, error], sink bulk.Sink) error {
	last := 0
	hand := func(line bulk.Line, o message.Outcome) error {
		o.Line, last = line.Number, line.Number
		return sink.Emit(o)
	}
	wrong := func() error {
		for {
			line, ok := s.take(true)
			if !ok {
				return nil
			}
			o := message.OutcomeOf(line.Invalid)
			o.ID, o.User = line.Message.ID, line.Message.User
			if err := hand(line, o); err != nil {
				return err
			}
		}
	}
	stopped := func(err error) error {
		halt := &bulk.StoppedError{Line: last + 1, Err: err}
		if line, ok := s.take(false); ok {
			halt.Line = line.Number
		}
		if ended, is := errors.AsType[*client.BatchError](err); is {
			halt.Failed, halt.Err = len(ended.Unanswered), ended.Err
		}
		return halt
	}
	for result, err := range results {
		if err == nil {
			err = wrong()
		}
		if err != nil {
			return stopped(err)
		}
		line, _ := s.take(false)
		if err := hand(line, outcomeOf(result)); err != nil {
			return stopped(err)
		}
	}
	err := wrong()
	if err == nil {
		err = s.broken
	}
	if err == nil {
		err = sink.Flush()
	}
	if err != nil {
		return stopped(err)
	}
	return nil
}

// outcomeOf returns the outcome of a result.
func outcomeOf(r client.Result) message.Outcome {
	if r.Err == nil {
		return r.Accepted
	}
	return operations.OutcomeOf(r.Err)
}

// messageOf returns a message for the client.
func messageOf(m message.Message) client.Message {
	return client.Message{
		ID: m.ID, User: m.User, SendAt: m.SendAt, Now: m.Now, Category: m.Category, Title: m.Title, Body: m.Body, Data: m.Data,
		Image: m.Image, ClickURL: m.ClickURL, Badge: m.Badge, Sound: m.Sound, Priority: m.Priority, CollapseKey: m.CollapseKey,
		Channels: m.Channels, To: m.To, Campaign: m.Campaign, Metadata: m.Metadata,
		ExpiresAt: m.ExpiresAt, OnConflict: m.OnConflict, ShiftUntil: m.ShiftUntil, Late: m.Late, Local: localOf(m),
	}
}

// localOf returns the local times of a message.
func localOf(m message.Message) client.LocalTimes {
	if m.Local == nil {
		return client.LocalTimes{}
	}
	return *m.Local
}
