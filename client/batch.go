package client

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Result is the answer to one message of a batch.
type Result struct {
	Index    int // of the message in the batch, from 0
	Accepted Accepted
	Err      error // *Refusal or *InvalidError; nil where it was accepted
}

// SubmitBatch submits messages in one stream, however many: up to 1,024 are
// under way at a time, and a caller who is slow with the results slows the
// batch down. Results come in the order of the messages, of which a user's are
// judged in that order. Messages without an id get one, each time anew: a batch
// that is to be run again needs ids of the caller's.
//
// What ends a batch before its last message comes as a last error, a
// *BatchError, beside an empty Result. Before that, a stream that breaks is
// begun anew with what has no answer yet, up to Options.Attempts times in a row
// without a result.
//
// The messages are asked for in another goroutine, ahead of the results. The
// loop over the results does not end before that goroutine has, so messages must
// not wait for anything that comes after the loop. Whoever leaves the loop
// early does not learn what became of the messages under way.
func (c *Client) SubmitBatch(ctx context.Context, messages iter.Seq[Message]) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		b := &batch{client: c, source: startSource(messages), yield: yield}
		defer b.source.end() // the loop's body may panic
		err := b.run(ctx)
		unsent := b.source.end()
		if err == nil || b.left {
			return
		}
		yield(Result{}, &BatchError{
			Unanswered: append(b.waiting.messages(), unsent...), Err: fmt.Errorf("submitting a batch: %w", err),
		})
	}
}

// batch is a batch under way. It is used by the goroutine that asks for the
// results.
type batch struct {
	client  *Client
	source  *source
	waiting waiting
	yield   func(Result, error) bool
	next    int  // the index of the next result
	left    bool // the caller has left the loop
}

// run opens one stream after the other until every message has its result.
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
		if failed.again && b.waiting.empty() {
			continue // nothing failed: the API ends a stream that has long been idle
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

// answered gives the caller the result of the message that has waited longest.
func (b *batch) answered(o message.Outcome) *failure {
	e, some := b.waiting.remove()
	if !some {
		return &failure{err: &ResponseError{Detail: "the API answered more lines than it was asked"}}
	}
	r := Result{Index: b.next, Err: e.wrong}
	b.next++
	switch {
	case r.Err != nil:
	case o.Outcome == message.Accepted:
		r.Accepted = acceptedOf(o)
	case o.Outcome == message.Refused:
		r.Err = refusalOf(o)
	default:
		r.Err = invalidOf(o)
	}
	b.left = !b.yield(r, nil)
	return nil
}

// waiting are the messages without an answer, in order.
type waiting struct {
	mu      sync.Mutex
	entries []entry
}

func (w *waiting) add(e entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entries = append(w.entries, e)
}

// remove takes the first.
func (w *waiting) remove() (entry, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.entries) == 0 {
		return entry{}, false
	}
	first := w.entries[0]
	w.entries[0] = entry{} // or its text would be kept
	w.entries = w.entries[1:]
	return first, true
}

func (w *waiting) empty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.entries) == 0
}

// all returns a copy, which is the caller's.
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
