package api

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// authorized returns a handler that checks the key and its scope before the route runs.
func (s *server) authorized(rt route) http.HandlerFunc {
	var next http.Handler = s.allowed(s.audited(rt.handle, rt), rt)
	if !rt.monitors {
		next = s.slotted(s.limited(next, rt), rt)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := s.authenticate(r, rt.monitors)
		e := exchangeOf(r.Context())
		e.caller, e.scope = who, rt.scope
		if err == nil && !who.may(rt.scope) {
			err = forbidden(rt.scope)
		}
		if err != nil {
			s.writeError(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	}
}

// allowed returns a handler that checks whether the caller may do this to the resource in the path.
func (s *server) allowed(next http.HandlerFunc, rt route) http.HandlerFunc {
	if rt.allows == nil {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if err := rt.allows(r); err != nil {
			s.writeError(w, r, err)
			return
		}
		next(w, r)
	}
}

// The events that requests count as. Each has its own counter, so a caller that polls a status can
// still submit.
const (
	submitEvent = "submit" // submits and dry runs; a batch is one
	readEvent   = "read"   // GET and HEAD
	changeEvent = "change" // all others
)

// Event is an event that this server counts, so that limits of "sendlimit-worker event-limit" apply to it.
type Event struct{ Name, Counts string }

// Events returns the events that this server counts, each for every account.
func Events() []Event {
	return []Event{
		{submitEvent, "requests that submit: a message, a dry run, or a batch"},
		{readEvent, "requests that read (GET)"},
		{changeEvent, "all other requests, such as moves and cancels"},
	}
}

// event returns the event that counts the requests of a route.
func (rt route) event() string {
	switch {
	case rt.submits:
		return submitEvent
	case rt.Method == http.MethodGet:
		return readEvent
	default:
		return changeEvent
	}
}

// tierCounters returns the counters of an event with the limits of a tier.
func tierCounters(event string, t accounts.Tier) []counters.Counter {
	kind := map[string]string{submitEvent: "requests", readEvent: "reads", changeEvent: "changes"}[event]
	var limits []counters.Counter
	if t.RequestsPerMinute > 0 {
		limits = append(limits, counters.Counter{Name: kind + "_per_minute", Limit: t.RequestsPerMinute, Period: calendar.Minute})
	}
	if t.RequestsPerDay > 0 {
		limits = append(limits, counters.Counter{Name: kind + perDay, Limit: t.RequestsPerDay, Period: calendar.Day})
	}
	return limits
}

const perDay = "_per_day"

// limited counts a request for its account before next runs: against the limits of the
// account's tier, and against those of the event. A request without a key has no account,
// and is not counted.
func (s *server) limited(next http.Handler, rt route) http.Handler {
	event := rt.event()
	guard := counters.Guard[*http.Request]{
		Counters: s.counters, Event: event,
		Key: func(ctx context.Context, _ *http.Request) string {
			if who := callerOf(ctx); !who.keyless {
				return who.account()
			}
			return ""
		},
		Extra: func(ctx context.Context, _ *http.Request) []counters.Counter {
			return tierCounters(event, callerOf(ctx).identity.Tier)
		},
		OnNotices: s.Submitter.Announce,
	}
	return counters.GuardHandler(guard, next, func(w http.ResponseWriter, r *http.Request, _ int, err error) {
		s.writeError(w, r, err)
	})
}

func forbidden(scope accounts.Scope) error {
	return &web.Error{
		Status: http.StatusForbidden,
		Header: http.Header{"Www-Authenticate": {challenge + `, error="insufficient_scope", scope="` + string(scope) + `"`}},
		Outcome: message.Outcome{
			Outcome: message.Errored, Code: fault.CodeForbidden, Detail: "this requires the scope " + string(scope) + ": use another key",
		},
	}
}

// charging returns the submitter for new messages. It charges the caller's account.
func (s *server) charging(ctx context.Context) *submit.Submitter {
	return s.actingFor(callerOf(ctx).account())
}

// reaching returns the submitter for reads and changes. For a confined caller, messages of other
// accounts do not exist. A change checks the owner in the same step.
func (s *server) reaching(ctx context.Context) *submit.Submitter {
	who := callerOf(ctx)
	if !who.confined() {
		return s.Submitter
	}
	return s.actingFor(who.account())
}

func (s *server) actingFor(account string) *submit.Submitter {
	if account == "" {
		return s.Submitter
	}
	return s.Submitter.For(account)
}

// concealed returns an outcome without the ids of other accounts' messages. It still shows whether
// they conflict.
func (s *server) concealed(ctx context.Context, o message.Outcome) (message.Outcome, error) {
	err := s.concealIn(ctx, o)
	o.NoteOthers()
	return o, err
}

// concealIn removes the ids of other accounts' messages from the violations of an outcome.
func (s *server) concealIn(ctx context.Context, o message.Outcome) error {
	if len(o.Violations) == 0 {
		return nil
	}
	lists := make([][]message.Conflict, len(o.Violations))
	for i, v := range o.Violations {
		lists[i] = v.Conflicts
	}
	return s.conceal(ctx, o.User, lists...)
}

// conceal removes the ids of other accounts' messages from lists of a user's messages, with one
// lookup for all lists. A message that is not found belongs to another account.
func (s *server) conceal(ctx context.Context, user string, lists ...[]message.Conflict) error {
	if !callerOf(ctx).confined() {
		return nil
	}
	own := make(map[string]bool)
	for _, list := range lists {
		for _, conflict := range list {
			own[conflict.ID] = false
		}
	}
	submitter := s.reaching(ctx)
	for ids := range slices.Chunk(slices.Collect(maps.Keys(own)), maxLook) {
		statuses, err := submitter.Statuses(ctx, user, ids...)
		if err != nil {
			return err
		}
		for i, status := range statuses {
			own[ids[i]] = status.Status != ""
		}
	}
	for _, list := range lists {
		for i := range list {
			if !own[list[i].ID] {
				list[i].ID = ""
			}
		}
	}
	return nil
}

// maxLook bounds how many messages one round trip looks up.
const maxLook = 1000
