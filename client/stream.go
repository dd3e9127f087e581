package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// window is the largest number of messages of a batch that wait for an answer.
const window = 1024

// stream is one request of a batch. One goroutine writes messages into it while
// another reads the answers.
type stream struct {
	*batch

	slots    chan struct{} // one is taken by each message without an answer
	complete atomic.Bool   // the last message has been written

	mu       sync.Mutex
	reading  bool        // waiting for an answer
	patience *time.Timer // ends the stream if no answer comes
}

// stream opens a stream. It sends the messages without an answer and those of the source, and
// yields the results. It returns nil when everything is answered or the caller has left.
func (b *batch) stream(ctx context.Context) *failure {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &stream{batch: b, slots: make(chan struct{}, window)}
	again := b.waiting.all()
	for range again {
		s.slots <- struct{}{}
	}
	s.patience = time.AfterFunc(b.client.timeout, func() {
		if s.isReading() && !b.waiting.empty() {
			cancel(errStalled)
		}
	})
	body, lines := io.Pipe()
	var writing sync.WaitGroup
	writing.Go(func() { _ = lines.CloseWithError(s.write(ctx, lines, again)) }) // never fails
	defer func() {
		cancel(nil)
		s.patience.Stop()
		_ = body.Close() // never fails; ends a write under way
		writing.Wait()
	}()

	s.expect(true)
	response, failed := b.client.send(ctx, http.MethodPost, b.address(), http.Header{"Content-Type": {typeNDJSON}}, body)
	s.expect(false)
	if failed != nil {
		return failed
	}
	defer response.Body.Close()
	if !is(response, typeNDJSON) {
		return undocumented(response, "it is not "+typeNDJSON, nil)
	}
	return s.read(ctx, response)
}

// expect starts or stops the timer that bounds the wait for an answer.
func (s *stream) expect(answer bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reading = answer
	if answer {
		s.patience.Reset(s.client.timeout)
	} else {
		s.patience.Stop()
	}
}

func (s *stream) isReading() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reading
}

// write sends the messages that an earlier stream left unanswered, then those of the source.
func (s *stream) write(ctx context.Context, to io.Writer, again []entry) error {
	buffered := bufio.NewWriterSize(to, 32<<10)
	if _, err := buffered.Write(s.first); err != nil {
		return fmt.Errorf("send a line: %w", err)
	}
	for _, e := range again {
		if _, err := buffered.Write(e.line); err != nil {
			return fmt.Errorf("send a line: %w", err)
		}
	}
	for {
		e, more, err := s.take(ctx, buffered)
		if err != nil {
			return err
		}
		if !more {
			// Set it before the request ends, since the answer may end then.
			s.complete.Store(true)
			return nil
		}
		s.sent(e)
		if _, err := buffered.Write(e.line); err != nil {
			return fmt.Errorf("send a line: %w", err)
		}
	}
}

// take returns the next message of the source when there is a slot for it. It flushes the buffer
// before it waits, and at the end.
func (s *stream) take(ctx context.Context, buffered *bufio.Writer) (e entry, more bool, err error) {
	select {
	case s.slots <- struct{}{}:
	default:
		if err := buffered.Flush(); err != nil {
			return entry{}, false, fmt.Errorf("send lines: %w", err)
		}
		select {
		case s.slots <- struct{}{}:
		case <-ctx.Done():
			return entry{}, false, fmt.Errorf("wait for answers: %w", ctx.Err())
		}
	}
	select {
	case e, more = <-s.source.entries:
		if more {
			return e, true, nil
		}
	default:
	}
	if err := buffered.Flush(); err != nil {
		return entry{}, false, fmt.Errorf("send lines: %w", err)
	}
	select {
	case e, more = <-s.source.entries:
		return e, more, nil
	case <-ctx.Done():
		return entry{}, false, fmt.Errorf("wait for messages: %w", ctx.Err())
	}
}

// sent adds a message to the unanswered ones.
func (s *stream) sent(e entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reading && s.waiting.empty() {
		s.patience.Reset(s.client.timeout)
	}
	s.waiting.add(e)
}

// read yields a result for each line of the answer.
func (s *stream) read(ctx context.Context, response *http.Response) *failure {
	lines := linesOf(response)
	n := 1
	if s.first != nil {
		n++
	}
	for ; s.scan(lines); n++ {
		var o message.Outcome
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return undocumented(response, fmt.Sprintf("line %d does not have the documented form", n), err)
		}
		if failed := s.failureOf(o, n); failed != nil {
			return failed
		}
		failed := s.answered(o)
		if failed != nil || s.left {
			return failed
		}
		<-s.slots
	}
	return s.client.ended(ctx, response, lines, s.complete.Load() && s.waiting.empty(), "it ended its answers before the last message")
}

func (s *stream) scan(lines *bufio.Scanner) bool {
	s.expect(true)
	defer s.expect(false)
	return lines.Scan()
}

// failureOf returns the failure for a line that is not the outcome of the next message, otherwise
// nil.
func (b *batch) failureOf(o message.Outcome, line int) *failure {
	switch o.Outcome {
	case b.success, message.Refused, message.Invalid:
		if o.Line != line {
			return &failure{err: &ResponseError{Detail: fmt.Sprintf("the API answered line %d where line %d was due", o.Line, line)}}
		}
		return nil
	}
	if o.Code == CodeRateLimited {
		// The account has no lines left in this minute.
		refused := refusalOf(o)
		return &failure{again: true, after: refused.RetryAfter, err: refused}
	}
	return endOf(o)
}
