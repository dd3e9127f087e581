package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// EventsRequest selects events.
type EventsRequest struct {
	// Account selects an account. "" is the key's account, and all accounts for a key with admin.
	Account string
	// After is the id of the event to continue after; "0" begins with the oldest stored event. ""
	// is the same for Events, but FollowEvents then begins with new events.
	After    string
	PageSize int // of Events: per request; zero means the API's default
}

// ErrEventsMissing is yielded by Events and FollowEvents, with a zero Event, where events may be
// missing, since the event to continue after is not stored any more. The next stored events follow.
var ErrEventsMissing = errors.New("events may be missing here: the one to go on behind is not kept any more")

const (
	eventsPath = "/v1/events"
	// typeEvents is the media type of server-sent events.
	typeEvents = "text/event-stream"
	// heartbeat is more than the time between two comments of a stream. A connection that is silent
	// for longer is dead.
	heartbeat = 40 * time.Second
)

// Events yields the stored events, the oldest first. It ends after an error other than
// ErrEventsMissing.
func (c *Client) Events(ctx context.Context, r EventsRequest) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		what := call{
			doing: "follow the events", method: http.MethodGet, path: eventsPath,
			query: values("account", r.Account, "after", r.After, "follow", "false", "limit", count(r.PageSize)),
		}
		for {
			page, err := value[message.Events](ctx, c, what)
			if err != nil {
				yield(Event{}, err)
				return
			}
			if page.Gap && !yield(Event{}, ErrEventsMissing) {
				return
			}
			for _, e := range page.Events {
				if !yield(e, nil) {
					return
				}
			}
			if len(page.Events) == 0 || page.Next == what.query.Get("after") {
				return
			}
			what.query.Set("after", page.Next)
		}
	}
}

// FollowEvents yields events as they happen, until ctx ends or the caller leaves the loop. After a
// broken connection it continues after the last event, any number of times. It yields each event at
// least once. It ends with an error only if ctx ends or a retry is useless; ErrEventsMissing does
// not end it.
func (c *Client) FollowEvents(ctx context.Context, r EventsRequest) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := &follower{client: c, request: r, yield: yield}
		for failures := 1; ; failures++ {
			progressed, failed := f.stream(ctx)
			if f.left {
				return
			}
			if progressed {
				failures = 1
			}
			if failed != nil && !failed.again {
				yield(Event{}, fmt.Errorf("follow the events: %w", failed.err))
				return
			}
			wait := backoff(failures)
			if failed != nil {
				wait = max(wait, failed.after)
			}
			if !sleep(ctx, wait) {
				yield(Event{}, fmt.Errorf("follow the events: %w", ctx.Err()))
				return
			}
		}
	}
}

// follower follows events over several connections.
type follower struct {
	client  *Client
	request EventsRequest
	yield   func(Event, error) bool
	left    bool // the caller has left the loop
}

// stream reads one connection to its end. progressed is set if the API answered.
func (f *follower) stream(ctx context.Context) (progressed bool, failed *failure) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := time.AfterFunc(f.client.timeout, func() { cancel(errStalled) })
	defer patience.Stop()
	response, failed := f.client.ask(ctx, call{method: http.MethodGet, path: eventsPath, query: values("account", f.request.Account, "after", f.request.After)})
	if failed != nil {
		return false, failed
	}
	defer response.Body.Close()
	if !is(response, typeEvents) {
		return false, undocumented(response, "it is not "+typeEvents, nil)
	}
	lines := linesOf(response)
	var id, kind string
	var data []byte
	for lines.Scan() {
		patience.Reset(max(heartbeat, f.client.timeout))
		field, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "id":
			id = string(value)
		case "event":
			kind = string(value)
		case "data":
			data = append(data[:0], value...)
		case "":
			if len(lines.Bytes()) > 0 { // a comment
				continue
			}
			patience.Stop() // while the caller works
			if failed := f.dispatch(response, id, kind, data); failed != nil || f.left {
				return true, failed
			}
			patience.Reset(max(heartbeat, f.client.timeout))
			kind, data = "", data[:0]
		}
	}
	return true, f.client.ended(ctx, response, lines, false, "unexpected EOF")
}

// dispatch yields an event, and records where to continue.
func (f *follower) dispatch(response *http.Response, id, kind string, data []byte) *failure {
	switch {
	case len(data) == 0:
	case kind == "gap":
		f.left = !f.yield(Event{}, ErrEventsMissing)
	default:
		var e Event
		if err := json.Unmarshal(data, &e); err != nil {
			return undocumented(response, "an event does not have the documented form", err)
		}
		f.left = !f.yield(e, nil)
	}
	if id != "" {
		f.request.After = id
	}
	return nil
}
