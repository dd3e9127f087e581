package api

import (
	"context"
	"net/http"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/tasks"
)

// authorized lets through who may do what a route does.
func (s *server) authorized(rt route) http.HandlerFunc {
	var next http.Handler = rt.handle
	if rt.limited {
		next = s.limited(next)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := s.authenticate(r)
		if err == nil && !who.may(rt.scope) {
			err = forbidden(rt.scope)
		}
		if err != nil {
			s.writeError(w, r, err)
			return
		}
		exchangeOf(r.Context()).caller = who
		next.ServeHTTP(w, r)
	}
}

// submitEvent is what a request that submits counts as.
const submitEvent = "submit"

// limited counts a request for its account, before next may judge messages: in
// the account's tier, and in what is set for the event.
func (s *server) limited(next http.Handler) http.Handler {
	guard := sendlimit.Guard[*http.Request]{
		Counters: s.counters, Event: submitEvent,
		Key: func(ctx context.Context, _ *http.Request) string { return callerOf(ctx).account() },
		Extra: func(ctx context.Context, _ *http.Request) []sendlimit.Counter {
			limit := callerOf(ctx).identity.Tier.RequestsPerMinute
			if limit == 0 {
				return nil
			}
			return []sendlimit.Counter{{Name: "requests_per_minute", Limit: limit, Period: sendlimit.Minute}}
		},
	}
	return sendlimit.GuardHandler(guard, next, func(w http.ResponseWriter, r *http.Request, _ int, err error) {
		s.writeError(w, r, err)
	})
}

func forbidden(scope sendlimit.Scope) error {
	return &httpError{
		status: http.StatusForbidden,
		header: http.Header{"Www-Authenticate": {challenge + `, error="insufficient_scope", scope="` + string(scope) + `"`}},
		outcome: tasks.Outcome{
			Outcome: tasks.Errored, Code: codeForbidden, Detail: "the key has not the scope " + string(scope) + ", which this wants",
		},
	}
}

// own refuses to touch a message of another account: to the caller, there is no
// such message.
func (s *server) own(ctx context.Context, user, id string) error {
	who := callerOf(ctx)
	if !who.confined() {
		return nil
	}
	owners, err := s.submitter.Owners(ctx, user, id)
	if err != nil {
		return err
	}
	if !who.owns(owners[0]) {
		return &refusal{tasks.NotWaiting(user, id)}
	}
	return nil
}

// concealed is an outcome for the caller to see: without the ids of others'
// messages in the way.
func (s *server) concealed(ctx context.Context, o tasks.Outcome) (tasks.Outcome, error) {
	if !callerOf(ctx).confined() || len(o.Violations) == 0 {
		return o, nil
	}
	lists := make([][]tasks.Conflict, len(o.Violations))
	for i, v := range o.Violations {
		lists[i] = v.Conflicts
	}
	return o, s.conceal(ctx, o.User, lists...)
}

// conceal takes the ids of others' messages out of lists of a user's. Whose they
// are is looked up once for all lists.
func (s *server) conceal(ctx context.Context, user string, lists ...[]tasks.Conflict) error {
	who := callerOf(ctx)
	if !who.confined() {
		return nil
	}
	var ids []string
	owner := make(map[string]string)
	for _, list := range lists {
		for _, conflict := range list {
			if _, listed := owner[conflict.ID]; !listed {
				owner[conflict.ID] = ""
				ids = append(ids, conflict.ID)
			}
		}
	}
	owners, err := s.submitter.Owners(ctx, user, ids...)
	if err != nil {
		return err
	}
	for i, id := range ids {
		owner[id] = owners[i]
	}
	for _, list := range lists {
		for i := range list {
			if !who.owns(owner[list[i].ID]) {
				list[i].ID = ""
			}
		}
	}
	return nil
}
