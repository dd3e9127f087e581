package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/tasks/message"
)

// refit is a preview or a refit under way.
type refit struct {
	client *Client
	yield  func(RefitEvent, error) bool
	begun  bool // an event was yielded
	whole  bool // the summary was yielded
}

// stream yields the lines of one answer. It returns nil at the end and when the caller
// has left the loop.
func (r *refit) stream(ctx context.Context, what call) *failure {
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
func (r *refit) read(ctx context.Context, response *http.Response, patience *time.Timer) *failure {
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(make([]byte, 0, 4<<10), mostProblem)
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
		return undocumented(response, fmt.Sprintf("a line has more than %d bytes", mostProblem), nil)
	case err != nil:
		return r.client.unreachable(ctx, err)
	case !r.whole:
		return r.client.unreachable(ctx, errors.New("it ended before the summary"))
	default:
		return nil
	}
}

// event decodes the n-th line.
func (r *refit) event(response *http.Response, n int, line []byte) (RefitEvent, *failure) {
	var kind struct {
		Outcome string `json:"outcome"`
	}
	err := json.Unmarshal(line, &kind)
	var event RefitEvent
	if r.whole && kind.Outcome != message.Errored {
		return event, undocumented(response, fmt.Sprintf("line %d comes after the summary", n), err)
	}
	switch kind.Outcome {
	case message.Errored:
		var o message.Outcome
		if err = json.Unmarshal(line, &o); err == nil {
			return event, endOf(o)
		}
	case message.RefitProgressing:
		err = json.Unmarshal(line, &event.Progress)
	case message.Previewed, message.Refitted:
		r.whole = true
		err = json.Unmarshal(line, &event.Summary)
	case MisfitFound, MisfitMoved, MisfitCancelled, MisfitKept, MisfitGone:
		err = json.Unmarshal(line, &event.Misfit)
	default:
		return event, undocumented(response, fmt.Sprintf("line %d is of no known kind", n), err)
	}
	if err != nil {
		return event, undocumented(response, fmt.Sprintf("line %d does not have the documented form", n), err)
	}
	return event, nil
}

// endOf returns the failure of a preview or a refit that ended with an error.
func endOf(o message.Outcome) *failure {
	switch o.Code {
	case CodeRefitRunning, CodeVersionMismatch:
		return &failure{err: refusalOf(o)}
	case CodeInvalidField:
		return &failure{err: invalidOf(o)}
	case CodeUnavailable, CodeStoreFull:
		return &failure{again: true, err: &UnavailableError{Code: o.Code, Detail: o.Detail}}
	default:
		return &failure{err: &ResponseError{Code: o.Code, Detail: o.Detail}}
	}
}
