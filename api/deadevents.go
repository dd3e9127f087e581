package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

const deadEventsPath = "/v1/dead-events"

// ofAccount documents the parameter that accountMeant reads.
func ofAccount(description string) *huma.Param {
	return &huma.Param{
		Name: "account", In: "query", Example: "acme", Description: description, Schema: parameterSchema("account"),
	}
}

func deadEventID(description string) *huma.Param {
	return &huma.Param{
		Name: "id", In: "query", Example: "1795305600000-0", Description: description,
		Schema: &huma.Schema{Type: huma.TypeString, Pattern: whole(eventIDPattern)},
	}
}

// accountMeant returns the account that a request is about: the one that it names, or the
// caller's own, which may be "". A confined caller reaches only its own.
func accountMeant(ctx context.Context, q web.Query) (string, error) {
	own := callerOf(ctx).account()
	account, given := q["account"]
	switch {
	case !given || account == own && own != "":
		return own, nil
	case callerOf(ctx).confined():
		return "", forbidden(accounts.ScopeAdmin)
	case !accounts.ValidName(account):
		return "", &fault.InvalidError{Field: "account", Value: account, Want: keyspace.WantName}
	}
	return account, nil
}

// whoseDeadEvents is accountMeant for what only one account has.
func whoseDeadEvents(ctx context.Context, q web.Query) (string, error) {
	account, err := accountMeant(ctx, q)
	if err == nil && account == "" {
		err = fault.Wrong("account", "the request has no API key, so it has no account: name one with ?account=")
	}
	return account, err
}

// deadEventOf returns the id of the only dead event that is meant; "" for all. An empty one is
// refused: it would mean all.
func deadEventOf(q web.Query) (string, error) {
	id, given := q["id"]
	if _, _, ok := events.ParseID(id); given && !ok {
		return "", &fault.InvalidError{Field: "id", Value: id, Want: `the id of a dead event such as "1795305600000-0"`}
	}
	return id, nil
}

func (s *server) listDeadEventsRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "listDeadEvents", Method: http.MethodGet, Path: deadEventsPath, Tags: []string{"events"},
			Summary:     "List the dead events of an account",
			Description: "Those that its callback did not accept for too long, the oldest first. " + operatorsMetadata,
			Parameters: []*huma.Param{
				ofAccount("The account; by default the key's own. Another one needs the scope admin."),
				countParameter("limit", "Dead events a page.", usualPage, events.MaxRead), cursorParameter(),
			},
			Responses: responses[message.DeadEvents](s, "A page of them."),
		},
		scope: accounts.ScopeRead, do: s.listDeadEvents,
	}
}

func (s *server) listDeadEvents(r *http.Request, q web.Query) (web.Answer, error) {
	account, err := whoseDeadEvents(r.Context(), q)
	if err != nil {
		return web.Answer{}, err
	}
	limit, err := q.Count("limit", usualPage, events.MaxRead)
	if err != nil {
		return web.Answer{}, err
	}
	after, err := q.NameCursor()
	if err != nil {
		return web.Answer{}, err
	}
	page, err := s.callbacks.DeadEvents(r.Context(), account, after, limit)
	if err != nil {
		return web.Answer{}, err
	}
	for i := range page.DeadEvents {
		event := &page.DeadEvents[i].Event
		event.Data = s.shownEvent(r.Context(), event.Data)
	}
	page.NextCursor = s.sealed(r.Context(), web.NameCursor(page.NextCursor))
	return web.Done(page), nil
}

func (s *server) retryDeadEventsRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "retryDeadEvents", Method: http.MethodPost, Path: deadEventsPath + "/retry", Tags: []string{"events"},
			Summary: "Post dead events again",
			Description: "Appends dead events to the events of the account, under new ids: the one with the id, or else the oldest ones. " +
				"So those who follow the account's events see them again, too. `left` says how many dead events there still are.",
			Parameters: []*huma.Param{
				ofAccount("The account; by default the key's own. Another one needs the scope admin."),
				deadEventID("The only dead event to retry, by its id among the dead events."),
				countParameter("limit", "How many are retried at most.", events.MaxRead, events.MaxRead),
			},
			Responses: responses[message.DeadEventsRetry](s, "Retried.", http.StatusNotFound),
		},
		scope: accounts.ScopeSubmit, do: s.retryDeadEvents,
	}
}

func (s *server) retryDeadEvents(r *http.Request, q web.Query) (web.Answer, error) {
	account, err := whoseDeadEvents(r.Context(), q)
	if err != nil {
		return web.Answer{}, err
	}
	limit, err := q.Count("limit", events.MaxRead, events.MaxRead)
	if err != nil {
		return web.Answer{}, err
	}
	id, err := deadEventOf(q)
	if err != nil {
		return web.Answer{}, err
	}
	return done(s.callbacks.RetryDead(r.Context(), account, id, limit))
}

func (s *server) purgeDeadEventsRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "purgeDeadEvents", Method: http.MethodDelete, Path: deadEventsPath, Tags: []string{"events"},
			Summary:     "Remove dead events",
			Description: "Removes the one with the id, or else all of the account.",
			Parameters: []*huma.Param{
				ofAccount("The account; by default the key's own. Another one needs the scope admin."),
				deadEventID("The only dead event to remove, by its id among the dead events."),
			},
			Responses: responses[message.DeadEventsPurge](s, "Removed.", http.StatusNotFound),
		},
		scope: accounts.ScopeSubmit, do: s.purgeDeadEvents,
	}
}

func (s *server) purgeDeadEvents(r *http.Request, q web.Query) (web.Answer, error) {
	account, err := whoseDeadEvents(r.Context(), q)
	if err != nil {
		return web.Answer{}, err
	}
	id, err := deadEventOf(q)
	if err != nil {
		return web.Answer{}, err
	}
	return done(s.callbacks.PurgeDead(r.Context(), account, id))
}
