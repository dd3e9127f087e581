package client

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"sync"

	"github.com/sendlimit/sendlimiter/message"
)

const batchPath = "/v1/messages/batch"

// Result is the answer to one message of a batch.
type Result struct {
	Index    int // of the message in the batch, from 0
	Accepted Outcome
	Err      error // *Refusal or *InvalidError; nil where it was accepted or recorded
}

// BatchOption changes how SubmitBatch works.
type BatchOption func(*batch)

// WithoutFreeTimes leaves NextFreeAt and PreviousFreeAt zero in refusals. It makes a batch with
// many refusals faster. It does not affect a message that shifts.
func WithoutFreeTimes() BatchOption {
	return func(b *batch) { b.query.Set("without_free_times", "true") }
}

// SubmitBatch submits any number of messages in one stream. Up to 1,024 messages wait for their
// answers at a time, so a slow reader of the results slows the batch down. Results come in the
// order of the messages, and each user's messages are judged in that order. A message without an id
// gets a new one. To run a batch again, set the ids.
//
// If the stream breaks, SubmitBatch opens a new one for the messages without an answer, up
// to Options.Attempts times in a row without a result. If the batch ends before its last
// message, the last error is a *BatchError with an empty Result.
//
// Another goroutine reads messages, ahead of the results. The loop over the results ends only after
// that goroutine, so messages must not wait for anything after the loop. A caller who leaves the
// loop early does not learn the outcomes of messages under way.
func (c *Client) SubmitBatch(ctx context.Context, messages iter.Seq[Message], options ...BatchOption) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		b := &batch{client: c, call: call{doing: "submit a batch", path: batchPath, query: url.Values{}, success: message.Accepted}}
		b.start(ctx, messages, options, yield)
	}
}

func (b *batch) start(ctx context.Context, messages iter.Seq[Message], options []BatchOption, yield func(Result, error) bool) {
	for _, option := range options {
		option(b)
	}
	b.source, b.yield = startSource(messages), yield
	defer b.source.end() // the loop's body may panic
	err := b.run(ctx)
	unsent := b.source.end()
	if err == nil || b.left {
		return
	}
	yield(Result{}, &BatchError{
		Unanswered: append(b.waiting.messages(), unsent...), Err: fmt.Errorf("%s: %w", b.doing, err),
	})
}

// batch is a batch under way. The goroutine that reads the results uses it.
type batch struct {
	call

	client  *Client
	first   []byte // a line before the messages; nil for none
	dryRun  bool   // what was answered is lost with its stream
	source  *source
	waiting waiting
	yield   func(Result, error) bool
	next    int  // the index of the next result
	left    bool // the caller has left the loop
}

// run opens one stream after another until every message has its result.
func (b *batch) run(ctx context.Context) error {
	attempt := 0
	for {
		if b.waiting.empty() {
			select {
			case e, more := <-b.source.entries:
				if !more {
					return nil
				}
				b.waiting.add(e)
			case <-ctx.Done():
				return fmt.Errorf("waiting for the next message: %w", ctx.Err())
			}
		}
		before := b.next
		failed := b.stream(ctx)
		if failed == nil || b.left {
			return nil
		}
		if b.dryRun && b.next > 0 {
			failed.again = false
		}
		if failed.again && b.waiting.empty() {
			continue // not a failure: the API ends a stream that has been idle for long
		}
		if b.next > before {
			attempt = 0
		}
		attempt++
		if err := b.client.pause(ctx, attempt, failed); err != nil {
			return err
		}
	}
}

// answered yields the result of the message that has waited longest.
func (b *batch) answered(o message.Outcome) *failure {
	e, some := b.waiting.remove()
	if !some {
		return &failure{err: &ResponseError{Detail: "the API answered more lines than it was asked"}}
	}
	r := Result{Index: b.next, Err: e.wrong}
	b.next++
	switch {
	case r.Err != nil:
	case o.Outcome == b.success:
		r.Accepted = o
	case o.Outcome == message.Refused:
		r.Err = refusalOf(o)
	default:
		r.Err = invalidOf(o)
	}
	b.left = !b.yield(r, nil)
	return nil
}

// waiting has the messages without an answer, in order.
type waiting struct {
	mu      sync.Mutex
	entries []entry
}

func (w *waiting) add(e entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entries = append(w.entries, e)
}

// remove removes and returns the first entry.
func (w *waiting) remove() (entry, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.entries) == 0 {
		return entry{}, false
	}
	first := w.entries[0]
	w.entries[0] = entry{} // release its text
	w.entries = w.entries[1:]
	return first, true
}

func (w *waiting) empty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.entries) == 0
}

// all returns a copy of the entries.
func (w *waiting) all() []entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]entry(nil), w.entries...)
}

func (w *waiting) messages() []Message {
	entries := w.all()
	all := make([]Message, len(entries))
	for i, e := range entries {
		all[i] = e.message
	}
	return all
}
