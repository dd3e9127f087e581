package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// eventLines is an answer of lines under way, each of which is an event.
type eventLines[E any] struct {
	client *Client
	yield  func(E, error) bool
	// decode decodes a line with an outcome. It reports whether the line is the summary.
	// The error is errUnknownKind for an outcome that it does not know.
	decode func(outcome string, line []byte) (event E, summary bool, err error)
	begun  bool // an event was yielded
	whole  bool // the summary was yielded
}

var errUnknownKind = errors.New("unknown kind of line")

// yieldEvents makes a call and yields the events of its answer. It is retried until the
// first event, unless it is to be sent once.
func yieldEvents[E any](
	ctx context.Context, c *Client, what call, yield func(E, error) bool, decode func(string, []byte) (E, bool, error),
) {
	e := &eventLines[E]{client: c, yield: yield, decode: decode}
	err := c.repeat(ctx, func(ctx context.Context) *failure {
		failed := e.stream(ctx, what)
		if failed != nil && (e.begun || what.once) {
			failed.again = false
		}
		return failed
	})
	if err != nil {
		var none E
		yield(none, fmt.Errorf("%s: %w", what.doing, err))
	}
}

// stream yields the lines of one answer. It returns nil at the end and when the caller
// has left the loop.
func (r *eventLines[E]) stream(ctx context.Context, what call) *failure {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := time.AfterFunc(r.client.timeout, func() { cancel(errStalled) })
	defer patience.Stop()
	response, failed := r.client.ask(ctx, what)
	if failed != nil {
		return failed
	}
	defer response.Body.Close()
	if !is(response, typeNDJSON) {
		return undocumented(response, "it is not "+typeNDJSON, nil)
	}
	return r.read(ctx, response, patience)
}

// read yields each line. The timer runs only while it waits for the API.
func (r *eventLines[E]) read(ctx context.Context, response *http.Response, patience *time.Timer) *failure {
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(make([]byte, 0, 4<<10), maxProblem)
	for n := 1; lines.Scan(); n++ {
		patience.Stop()
		event, failed := r.event(response, n, lines.Bytes())
		if failed != nil {
			return failed
		}
		r.begun = true
		if !r.yield(event, nil) {
			return nil
		}
		patience.Reset(r.client.timeout)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return undocumented(response, fmt.Sprintf("a line has more than %d bytes", maxProblem), nil)
	case err != nil:
		return r.client.unreachable(ctx, err)
	case !r.whole:
		return r.client.unreachable(ctx, errors.New("it ended before the summary"))
	default:
		return nil
	}
}

// event decodes the n-th line.
func (r *eventLines[E]) event(response *http.Response, n int, line []byte) (E, *failure) {
	var kind struct {
		Outcome string `json:"outcome"`
	}
	err := json.Unmarshal(line, &kind)
	var event E
	if r.whole && kind.Outcome != message.Errored {
		return event, undocumented(response, fmt.Sprintf("line %d comes after the summary", n), err)
	}
	if kind.Outcome == message.Errored {
		var o message.Outcome
		if err = json.Unmarshal(line, &o); err == nil {
			return event, endOf(o)
		}
	} else if err == nil {
		event, r.whole, err = r.decode(kind.Outcome, line)
	}
	if errors.Is(err, errUnknownKind) {
		return event, undocumented(response, fmt.Sprintf("line %d is of no known kind", n), nil)
	}
	if err != nil {
		return event, undocumented(response, fmt.Sprintf("line %d does not have the documented form", n), err)
	}
	return event, nil
}

// endOf returns the failure of an answer of lines that ended with an error.
func endOf(o message.Outcome) *failure {
	switch o.Code {
	case CodeRefitRunning, CodeCampaignRunning, CodeVersionMismatch, CodeNotFound:
		return &failure{err: refusalOf(o)}
	case CodeInvalidField:
		return &failure{err: invalidOf(o)}
	case CodeUnavailable, CodeStoreFull:
		return &failure{again: true, err: &UnavailableError{Code: o.Code, Detail: o.Detail}}
	default:
		return &failure{err: &ResponseError{Code: o.Code, Detail: o.Detail}}
	}
}
