package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/callbacks"
)

const (
	eventsPath = "/v1/events"
	// eventStream is the media type of server-sent events.
	eventStream = "text/event-stream"
	// lastEventID is the header with which a client resumes a stream.
	lastEventID = "Last-Event-Id"

	eventIDPattern = `[0-9]{1,20}-[0-9]{1,20}`

	heartbeatEvery = 15 * time.Second
	// eventsAtOnce is how many events are read and written at a time.
	eventsAtOnce = 100
	// rereadAfter is how long a stream waits after the store did not answer.
	rereadAfter = time.Second
)

func (s *server) eventsRoutes() []route {
	return []route{stream(s, route{
		Operation: named("followEvents", http.MethodGet, eventsPath, "events",
			"Follow the events of an account",
			"Events of accepted messages: delivered, postponed, dropped, failed, uncertain, moved, "+
				"cancelled. A key with admin, and a request without a key, gets the events of all accounts, or of the account that it "+
				"names; any other key only those of its own. Events are stored from two seconds after the first request, and kept for "+
				"a time that the operator sets, by default three days. They are stored as long as requests continue within this time.\n\n"+
				"Send the id of the last event in the header `Last-Event-ID`, as browsers do, or as `after`, which takes precedence, and the stream continues after it. Each event "+
				"is delivered at least once, a message's events in the order of its changes. "+operatorsMetadata),
		scope: accounts.ScopeRead, attended: true, follows: true,
	}, s.eventAnswers, s.followEvents)}
}

// eventAnswers documents a page or a stream of events.
func (s *server) eventAnswers() map[string]*huma.Response {
	events := jsonResponse[message.Events](s, "With follow=false a page of events in JSON. Otherwise server-sent events, for as long as the client "+
		"stays: `id` is the event's id, `event` its type and `data` the CloudEvent in one line. An event `gap` means that events may be "+
		"missing before the next one, since events after the given id are no longer stored. A comment comes every "+
		heartbeatEvery.String()+". The stream of a key that was removed ends, and another one is answered with 401.")
	events.Content[eventStream] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	return map[string]*huma.Response{strconv.Itoa(http.StatusOK): events}
}

// following selects the events of a request.
type following struct {
	Account meant      `query:"account" example:"acme" doc:"The account; by default the key's own, and all for a key with admin. Another account requires the scope admin."`
	After   afterEvent `query:"after" example:"1795305600000-0" doc:"The id of the event to continue after; 0 for all stored events. By default a stream starts now, and a page with the oldest stored event."`
	Follow  bool       `query:"follow" usual:"true" doc:"false answers with a page in JSON."`
	Limit   int        `query:"limit" usual:"100" most:"1000" doc:"Events a page, with follow=false."`
	Resumed resumed

	log   string // the account, or keyspace.Everyone
	after string // the id to go on behind; "" for the default
}

// afterEvent is the id of the event to continue after; "" for the default.
type afterEvent string

func (*afterEvent) schema() *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: whole(events.Oldest + "|" + eventIDPattern)}
}

// UnmarshalText reads the parameter.
func (a *afterEvent) UnmarshalText(text []byte) error {
	*a = afterEvent(text)
	return knownEvent("after", string(text))
}

func knownEvent(field, id string) error {
	if _, _, ok := events.ParseID(id); !ok && id != events.Oldest {
		return &fault.InvalidError{Field: field, Value: id, Want: `the id of an event such as "1795305600000-0", or 0 for all that are kept`}
	}
	return nil
}

// resumed is the header with which a client resumes a stream.
type resumed string

func (resumed) document(*server, *inputs) {} // it is of server-sent events

func (id *resumed) read(_ *server, r *http.Request) (none message.Faults, err error) {
	*id = resumed(r.Header.Get(lastEventID))
	return none, nil
}

func (in *following) check(ctx context.Context, _ *server) (err error) {
	if in.log, err = in.Account.by(ctx); err != nil {
		return err
	}
	if !in.Account.given && !callerOf(ctx).confined() {
		in.log = keyspace.Everyone
	}
	in.after = string(in.After)
	if in.after == "" && in.Resumed != "" {
		in.after = string(in.Resumed)
		return knownEvent("Last-Event-ID", in.after)
	}
	return nil
}

func (s *server) followEvents(w http.ResponseWriter, r *http.Request, f following) {
	if err := s.Callbacks.Listen(r.Context(), f.log); err != nil {
		s.writeError(w, r, err)
		return
	}
	if !f.Follow {
		s.answerEvents(w, r, f)
		return
	}
	feed := s.feeds.join(f.log)
	defer s.feeds.leave(f.log)
	at, err := s.startOf(r.Context(), f)
	if err != nil {
		s.writeError(w, r, err)
		return
	}
	s.stream(w, r, f.log, at, feed)
}

func (s *server) answerEvents(w http.ResponseWriter, r *http.Request, f following) {
	ctx, cancel := context.WithTimeout(r.Context(), s.Limits.Timeout)
	defer cancel()
	_ = http.NewResponseController(w).SetWriteDeadline(s.Now().Add(s.Limits.Timeout + lastAnswerWithin))
	if f.after == events.Oldest {
		f.after = ""
	}
	list, gap, err := s.Callbacks.Log().ReadOn(ctx, f.log, f.after, f.Limit)
	if err != nil {
		s.writeError(w, r, err)
		return
	}
	page := message.Events{Events: callbacks.EventsOf(f.log, list), Gap: gap, Next: f.after}
	for i := range page.Events {
		page.Events[i].Data = s.shownEvent(ctx, page.Events[i].Data)
	}
	if len(list) > 0 {
		page.Next = list[len(list)-1].ID
	}
	web.Done(page).WriteUnlessKnown(w, r)
}

// position is where a stream continues.
type position struct {
	id    string // of the last event written, or the one to go on behind
	check bool   // events behind it may be missing
}

// startOf returns where a stream begins.
func (s *server) startOf(ctx context.Context, f following) (position, error) {
	switch f.after {
	case events.Oldest:
		return position{}, nil
	case "":
		latest, err := s.Callbacks.Log().Latest(ctx, f.log)
		return position{id: latest}, err
	}
	return position{id: f.after, check: true}, nil
}

// stream writes events until the client leaves, its key stops working or the server stops. A client
// with an ended key gets the error when it reconnects. A client that reads too slowly is cut off,
// and can resume.
func (s *server) stream(w http.ResponseWriter, r *http.Request, log string, at position, feed *feed) {
	ctx, stop := context.WithCancelCause(r.Context())
	defer s.endEarly(ctx, stop, func() {})()
	defer stop(nil)
	out := s.newAnswers(w, eventStream)
	heartbeat, listen, reread := time.NewTicker(heartbeatEvery), time.NewTicker(s.Callbacks.ListenEvery()), time.NewTimer(rereadAfter)
	defer heartbeat.Stop()
	defer listen.Stop()
	defer reread.Stop()
	_ = out.control.SetReadDeadline(time.Time{}) // only a client that leaves ends the request
	// The id to resume from. A client notes it although it comes without an event. If this write
	// fails, the next one does too.
	_ = out.send([]byte("retry: 1000\nid: " + cmp.Or(at.id, events.Oldest) + "\n\n"))
	for {
		changed := feed.changes()
		more, err := s.writeNext(ctx, out, log, &at)
		if _, gone := errors.AsType[*answerError](err); gone {
			return
		}
		if err != nil {
			reread.Reset(rereadAfter) // the store is away: no change tells when it is back
		} else if more && ctx.Err() == nil {
			continue
		}
		select {
		case <-changed:
		case <-reread.C:
		case <-heartbeat.C:
			if out.send([]byte(": still here\n\n")) != nil {
				return
			}
		case <-listen.C:
			_ = s.Callbacks.Listen(ctx, log) // the next time is early enough
		case <-ctx.Done():
			return
		}
	}
}

// writeNext writes the next events. It reports whether there may be more.
func (s *server) writeNext(ctx context.Context, out *answers, log string, at *position) (more bool, err error) {
	list, gap, err := s.Callbacks.Log().ReadOn(ctx, log, at.id, eventsAtOnce)
	if err != nil {
		return false, err
	}
	var text bytes.Buffer
	if gap && at.check {
		text.WriteString("event: gap\ndata: {\"after\":\"" + at.id + "\"}\n\n")
	}
	for _, e := range list {
		event := callbacks.EventOf(log, e)
		event.Data = s.shownEvent(ctx, event.Data)
		data, err := json.Marshal(event)
		if err != nil {
			return false, fmt.Errorf("writing event %s: %w", e.ID, err)
		}
		text.WriteString("id: " + e.ID + "\nevent: " + message.EventPrefix + string(e.Type) + "\ndata: ")
		text.Write(data)
		text.WriteString("\n\n")
		at.id = e.ID
	}
	// Only a reader that is behind can miss events.
	at.check = len(list) == eventsAtOnce
	if text.Len() == 0 {
		return false, nil
	}
	return at.check, out.send(text.Bytes())
}
