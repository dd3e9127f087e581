package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/bulk"
	"github.com/sendlimit/sendlimiter/tasks/input"
)

// bodyError is returned when a request's body can't be read any further. It does not unwrap
// to its cause, which would look like an error of a file.
type bodyError struct{ cause error }

func (e *bodyError) Error() string { return "reading the body: " + e.cause.Error() }

// answerError is returned when the answer can't be written any further.
type answerError struct{ cause error }

func (e *answerError) Error() string { return "writing the answer: " + e.cause.Error() }

func (e *answerError) Unwrap() error { return e.cause }

var errEnded = errors.New("the batch has ended")

// lines reads the messages of a batch from the connection while they are judged.
type lines struct {
	body    io.Reader
	control *http.ResponseController
	now     func() time.Time
	idle    time.Duration // how long a message may take to come
	pace    *linePace
	ended   atomic.Bool

	before int                         // lines that are read and are no messages
	most   int                         // lines of a dry run; zero for a batch
	check  func(message.Message) error // what a message has to be

	mu      sync.Mutex    // held by next while it reads
	records *input.Reader // nil before the first line
	broken  error         // why the body can't be read any further
	left    time.Duration // until the next message has to be there, without what next does not wait
	count   int           // lines that are read
	junk    int           // lines in a row that are no JSON objects
}

// maxJunk is the largest number of lines in a row that are not JSON objects. A client that sends
// more uses another format.
const maxJunk = 100

func newLines(body io.Reader, control *http.ResponseController, now func() time.Time, idle time.Duration, pace *linePace) *lines {
	return &lines{body: body, control: control, now: now, idle: idle, left: idle, pace: pace, check: message.Message.Validate}
}

// Read reads the body. After an error it always returns that error: otherwise a body that broke off
// would look complete.
func (l *lines) Read(b []byte) (int, error) {
	if l.broken != nil {
		return 0, l.broken
	}
	n, err := l.body.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		l.broken = &bodyError{err}
		return n, l.broken
	}
	return n, err
}

// next returns the next line. At the end the error is io.EOF.
func (l *lines) next(ctx context.Context) (line bulk.Line, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	began := l.now()
	_ = l.control.SetReadDeadline(began.Add(l.left))
	if l.ended.Load() { // checked after the deadline is set, or end's deadline could be lost
		return bulk.Line{}, errEnded
	}
	if l.junk >= maxJunk {
		return bulk.Line{}, fault.Wrong("body", "%d lines in a row are no JSON objects: send one message a line, as NDJSON", l.junk)
	}
	if l.most > 0 && l.count == l.most {
		return bulk.Line{}, l.tooMany()
	}
	if l.records == nil {
		if l.records, err = input.NewReader(l, input.Options{Format: input.NDJSON, Placeholders: true, AllowEmpty: true}); err != nil {
			return bulk.Line{}, ofBody(err)
		}
	}
	record, err := l.records.Next()
	if err != nil {
		return bulk.Line{}, ofBody(err)
	}
	record.Line += l.before
	l.count++
	if record.Invalid != nil {
		l.junk++
		l.left -= l.now().Sub(began) // junk does not keep a batch open
	} else {
		l.junk, l.left = 0, l.idle
	}
	if err := l.pace.next(ctx); err != nil {
		return bulk.Line{}, err
	}
	return l.small(bulk.LineOf(record, readDraft)), nil
}

// tooMany returns the error of a dry run with another line, or io.EOF.
func (l *lines) tooMany() error {
	if _, err := l.records.Next(); err != nil {
		return ofBody(err)
	}
	return tooManyLines(l.most)
}

func tooManyLines(most int) error {
	return fault.Wrong("body", "a dry run has at most %d lines: run the rest as another one, which does not count these", most)
}

// late says that no message came in time. Call it after next has failed.
func (l *lines) late() string {
	if l.junk > 0 {
		return fmt.Sprintf("no JSON object came within %s, and %d lines that are none", l.idle, l.junk)
	}
	return fmt.Sprintf("no whole line came within %s", l.idle)
}

func readDraft(d message.Draft) (message.Message, error) {
	return d.Message(message.ParseTime)
}

// ofBody returns an error about a file as one about the body.
func ofBody(err error) error {
	if wrong, ok := errors.AsType[*fault.InvalidError](err); ok {
		return fault.InField(wrong, "body")
	}
	return err
}

// small shortens an invalid line, which can be long, to the parts that its outcome shows.
func (l *lines) small(line bulk.Line) bulk.Line {
	if line.Invalid == nil {
		err := l.check(line.Message)
		if err == nil {
			return line
		}
		line.Invalid.Add(err)
	}
	const quoted = 256 // bytes: more than the name of any field
	field := beginning(line.Invalid[0].Field, quoted)
	line.Invalid = fault.InvalidErrors{{Field: field, Says: strings.Clone(line.Invalid.Error())}}
	who := message.Message{ID: line.Message.ID, User: line.Message.User}
	if len(who.ID) > keyspace.MaxID {
		who.ID = ""
	}
	if len(who.User) > keyspace.MaxUser {
		who.User = ""
	}
	line.Message = who
	return line
}

// beginning returns at most the first bytes of a text, and keeps no more in memory.
func beginning(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	return strings.Clone(strings.ToValidUTF8(text[:bytes], ""))
}

// end reads what the client still sends, for at most within, and waits for next to return.
func (l *lines) end(within time.Duration) {
	deadline := l.now().Add(within)
	l.ended.Store(true)
	_ = l.control.SetReadDeadline(deadline) // for next, which may be waiting
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.control.SetReadDeadline(deadline) // again: next may have set its own meanwhile
	_, _ = io.Copy(io.Discard, l.body)
}

// answers writes the lines of an answer to the connection as they come.
type answers struct {
	w       http.ResponseWriter
	control *http.ResponseController
	kind    string // its media type
	now     func() time.Time
	timeout time.Duration // of one write
	hurried atomic.Bool

	buffer  *bufio.Writer
	encoder *json.Encoder
	written bool // the answer has begun, at least in the buffer
	pending bool // the buffer has lines
}

// answersBuffer is how many bytes of outcomes are collected before they are written.
const answersBuffer = 16 << 10

// newAnswers returns an answer of a media type. Nothing is written yet.
func (s *server) newAnswers(w http.ResponseWriter, kind string) *answers {
	a := &answers{w: w, control: http.NewResponseController(w), kind: kind, now: s.Now, timeout: s.Limits.Timeout}
	a.buffer = bufio.NewWriterSize(a, answersBuffer)
	a.encoder = json.NewEncoder(a.buffer)
	a.encoder.SetEscapeHTML(false)
	return a
}

// hurry shortens the time in which a client must read its answers.
func (a *answers) hurry() {
	a.hurried.Store(true)
	a.allow(lastAnswerWithin)
}

func (a *answers) allow(within time.Duration) { _ = a.control.SetWriteDeadline(a.now().Add(within)) }

// beginWrite sets the deadline of one write.
func (a *answers) beginWrite() {
	a.allow(a.timeout)
	if a.hurried.Load() { // checked after the deadline is set, or hurry's deadline could be lost
		a.allow(min(a.timeout, lastAnswerWithin))
	}
}

// Write writes to the connection within the timeout.
func (a *answers) Write(b []byte) (int, error) {
	a.beginWrite()
	n, err := a.w.Write(b)
	if err != nil {
		err = &answerError{err}
	}
	return n, err
}

// Emit adds the outcome of the next line.
func (a *answers) Emit(o message.Outcome) error { return a.line(o) } //nolint:wrapcheck // an answerError

// line adds a line of any kind.
func (a *answers) line(value any) error {
	a.begin()
	a.pending = true
	return a.encoder.Encode(value)
}

// send writes a text at once.
func (a *answers) send(text []byte) error {
	a.begin()
	a.pending = true
	_, _ = a.buffer.Write(text) // Flush has the error
	return a.Flush()
}

// Flush writes the lines that were added.
func (a *answers) Flush() error {
	if !a.pending {
		return nil
	}
	a.pending = false
	if err := a.buffer.Flush(); err != nil {
		return err //nolint:wrapcheck // an answerError
	}
	a.beginWrite()
	if err := a.control.Flush(); err != nil {
		return &answerError{err}
	}
	return nil
}

// begun reports whether the status was sent.
func (a *answers) begun() bool { return a.written }

func (a *answers) begin() {
	if a.written {
		return
	}
	a.written = true
	h := a.w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // for proxies that collect answers
	a.w.WriteHeader(http.StatusOK)
}

// end ends the answer to a batch after every line was judged.
func (a *answers) end() {
	a.begin() // a batch may have no lines
	_ = a.Flush()
}
