package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// eventLines is a running answer whose lines are events.
type eventLines[E any, P lineOf[E]] struct {
	client *Client
	yield  func(E, error) bool
	begun  bool // an event was yielded
	whole  bool // the last event was yielded
}

// lineOf is a pointer to an event that decodes its lines.
type lineOf[E any] interface {
	*E
	// line returns the value to decode a line with this outcome into, nil if the outcome is
	// unknown, and whether it is the last line.
	line(outcome string) (into any, last bool)
}

// lines makes a call, and yields the events of its answer. The last one is the summary, or an
// error. It retries only before the first event, and not if the call must be sent once.
func lines[E any, P lineOf[E]](ctx context.Context, c *Client, what call) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		e := &eventLines[E, P]{client: c, yield: yield}
		of, err := what.ready()
		if err == nil {
			err = c.repeat(ctx, of, func(ctx context.Context) *failure {
				failed := e.stream(ctx, of)
				if failed != nil && e.begun {
					failed.again = false
				}
				return failed
			})
		}
		if err != nil {
			var none E
			yield(none, err)
		}
	}
}

// stream yields the lines of one answer. It returns nil at the end, and when the caller has left
// the loop.
func (r *eventLines[E, P]) stream(ctx context.Context, what call) *failure {
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
func (r *eventLines[E, P]) read(ctx context.Context, response *http.Response, patience *time.Timer) *failure {
	lines := linesOf(response)
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
	return r.client.ended(ctx, response, lines, r.whole, "it ended before the summary")
}

func (r *eventLines[E, P]) event(response *http.Response, n int, line []byte) (E, *failure) {
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
		into, last := P(&event).line(kind.Outcome)
		if into == nil {
			return event, undocumented(response, fmt.Sprintf("line %d is of no known kind", n), nil)
		}
		r.whole, err = last, json.Unmarshal(line, into)
		if refused, is := into.(*Refusal); is {
			*refused = *refusalOf(refused.Outcome)
		}
	}
	if err != nil {
		return event, undocumented(response, fmt.Sprintf("line %d does not have the documented form", n), err)
	}
	return event, nil
}

func linesOf(response *http.Response) *bufio.Scanner {
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(make([]byte, 0, 4<<10), maxProblem)
	return lines
}

// ended returns the failure of an incomplete answer of lines, otherwise nil.
func (c *Client) ended(ctx context.Context, response *http.Response, lines *bufio.Scanner, whole bool, otherwise string) *failure {
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return undocumented(response, fmt.Sprintf("a line has more than %d bytes", maxProblem), nil)
	case err != nil:
		return c.unreachable(ctx, err)
	case !whole:
		return c.unreachable(ctx, errors.New(otherwise))
	default:
		return nil
	}
}

// endOf returns the failure for the error at the end of an answer of lines.
func endOf(o message.Outcome) *failure {
	switch o.Code {
	case CodeRefitRunning, CodeCampaignRunning, CodeVersionMismatch, CodeNotFound:
		return &failure{err: refusalOf(o)}
	case CodeInvalidField:
		return &failure{err: invalidOf(o)}
	case CodeUnavailable, CodeStoreFull, CodeStoreUnfit:
		return &failure{again: true, err: &UnavailableError{Code: o.Code, Detail: o.Detail}}
	default:
		return &failure{err: &ResponseError{Code: o.Code, Detail: o.Detail}}
	}
}
