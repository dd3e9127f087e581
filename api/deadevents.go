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
)

const deadEventsPath = "/v1/dead-events"

func (s *server) deadEventRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("listDeadEvents", http.MethodGet, deadEventsPath, "events",
				"List the dead events of an account",
				"Lists events that the callback did not accept in time, oldest first. "+operatorsMetadata),
			scope: accounts.ScopeRead, says: "A page of dead events.",
		}, s.listDeadEvents),
		operation(s, route{
			Operation: named("retryDeadEvents", http.MethodPost, deadEventsPath+"/retry", "events",
				"Post dead events again",
				"Appends dead events to the account's events, with new ids: the one with the given id, otherwise the oldest ones. "+
					"Clients that follow the account's events see them again too. `left` is the number of remaining dead events."),
			scope: accounts.ScopeSubmit, says: "Retried.", refuses: []int{http.StatusNotFound},
		}, s.retryDeadEvents),
		operation(s, route{
			Operation: named("purgeDeadEvents", http.MethodDelete, deadEventsPath, "events",
				"Remove dead events",
				"Removes the one with the given id, otherwise all of the account."),
			scope: accounts.ScopeSubmit, says: "Removed.", refuses: []int{http.StatusNotFound},
		}, s.purgeDeadEvents),
	}
}

// ofDeadEvents selects the dead events of one account.
type ofDeadEvents struct {
	Account meant `query:"account" example:"acme" doc:"The account; by default the key's own. Another account requires the scope admin."`
}

// by returns the account that the request is about.
func (in ofDeadEvents) by(ctx context.Context) (string, error) {
	account, err := in.Account.by(ctx)
	if err == nil && account == "" {
		err = fault.Wrong("account", "the request has no API key, so it has no account: name one with ?account=")
	}
	return account, err
}

// deadEventID is the parameter id, which selects one dead event; "" selects all.
type deadEventID string

func (*deadEventID) schema() *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: whole(eventIDPattern)}
}

// UnmarshalText reads the parameter. It refuses an empty one, which would select all.
func (id *deadEventID) UnmarshalText(text []byte) error {
	*id = deadEventID(text)
	if _, _, ok := events.ParseID(string(text)); !ok {
		return &fault.InvalidError{Field: "id", Value: string(text), Want: `the id of a dead event such as "1795305600000-0"`}
	}
	return nil
}

type deadEventPage struct {
	ofDeadEvents

	Limit  int            `query:"limit" usual:"100" most:"1000" doc:"Dead events a page."`
	Cursor web.NameCursor `query:"cursor"`
}

func (s *server) listDeadEvents(ctx context.Context, in deadEventPage) (page message.DeadEvents, err error) {
	account, err := in.by(ctx)
	if err != nil {
		return page, err
	}
	page, err = s.Callbacks.DeadEvents(ctx, account, string(in.Cursor), in.Limit)
	for i := range page.DeadEvents {
		event := &page.DeadEvents[i].Event
		event.Data = s.shownEvent(ctx, event.Data)
	}
	page.NextCursor = s.sealed(ctx, web.NameCursor(page.NextCursor).String())
	return page, err
}

type deadEventRetries struct {
	ofDeadEvents

	ID    deadEventID `query:"id" example:"1795305600000-0" doc:"The id of a single dead event to retry."`
	Limit int         `query:"limit" usual:"1000" most:"1000" doc:"Maximum number to retry."`
}

func (s *server) retryDeadEvents(ctx context.Context, in deadEventRetries) (message.DeadEventsRetry, error) {
	account, err := in.by(ctx)
	if err != nil {
		return message.DeadEventsRetry{}, err
	}
	return s.Callbacks.RetryDead(ctx, account, string(in.ID), in.Limit)
}

type deadEventPurge struct {
	ofDeadEvents

	ID deadEventID `query:"id" example:"1795305600000-0" doc:"The id of a single dead event to remove."`
}

func (s *server) purgeDeadEvents(ctx context.Context, in deadEventPurge) (message.DeadEventsPurge, error) {
	account, err := in.by(ctx)
	if err != nil {
		return message.DeadEventsPurge{}, err
	}
	return s.Callbacks.PurgeDead(ctx, account, string(in.ID))
}
