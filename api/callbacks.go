package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const callbackPattern = accountPattern + "/callback"

func (s *server) showCallbackRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "getCallback", Method: http.MethodGet, Path: callbackPattern, Tags: []string{"events"},
			Summary:    "Get where an account's events are posted, and how far that is",
			Parameters: []*huma.Param{accountParameter()},
			Responses:  responses[message.Callback](s, "The callback, without its secret.", http.StatusNotFound),
		},
		scope: accounts.ScopeAdmin, do: func(r *http.Request, _ web.Query) (web.Answer, error) {
			return done(s.callbacks.Status(r.Context(), r.PathValue("account")))
		},
	}
}

func (s *server) setCallbackRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "setCallback", Method: http.MethodPut, Path: callbackPattern, Tags: []string{"events"},
			Summary: "Set where an account's events are posted",
			Description: "Workers post what becomes of the account's messages to the URL, in signed batches of CloudEvents: see the webhook " +
				"`events`. The first one begins with the events from now on; another URL goes on where the former one was. " +
				"The answer to the request that makes the secret has it. The events have the metadata of the account's messages: for another " +
				"account it takes the scope content too. Each request is an entry of the audit log, and the contact of the account is told of a change.",
			Parameters:  []*huma.Param{accountParameter()},
			RequestBody: jsonBody[message.CallbackDraft](s),
			Responses:   responses[message.Callback](s, "Set.", bodyProblems(http.StatusNotFound)...),
		},
		scope: accounts.ScopeAdmin, do: s.setCallback, allows: seesAccount,
	}
}

// seesAccount returns an error unless the caller may see the metadata of the account's messages.
func seesAccount(r *http.Request) error {
	if !callerOf(r.Context()).sees(r.PathValue("account")) {
		return forbidden(accounts.ScopeContent)
	}
	return nil
}

func (s *server) setCallback(r *http.Request, _ web.Query) (web.Answer, error) {
	ctx, account := r.Context(), r.PathValue("account")
	draft, err := web.ReadBody(s.bodies(), r, func(d message.CallbackDraft) error {
		var wrong fault.InvalidErrors
		wrong.Add(fault.InField(s.callbacks.Check(d.URL), "url"))
		if d.Secret != "" {
			wrong.Add(accounts.ValidEventsSecret(d.Secret))
		}
		return wrong.Err()
	})
	if err != nil {
		return web.Answer{}, err
	}
	return done(s.callbacks.Set(ctx, account, draft.URL, draft.Secret))
}

func (s *server) removeCallbackRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "removeCallback", Method: http.MethodDelete, Path: callbackPattern, Tags: []string{"events"},
			Summary:     "Post an account's events no longer",
			Description: "Removes the URL and its secret. Dead events stay. Each request is an entry of the audit log, and the contact of the account is told.",
			Parameters:  []*huma.Param{accountParameter()},
			Responses:   responses[message.Account](s, "Removed: the account as it is now.", http.StatusNotFound),
		},
		scope: accounts.ScopeAdmin, do: func(r *http.Request, q web.Query) (web.Answer, error) {
			if err := s.callbacks.Remove(r.Context(), r.PathValue("account")); err != nil {
				return web.Answer{}, err
			}
			return s.showAccount(r, q)
		},
	}
}

func (s *server) rotateCallbackRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "rotateCallbackSecret", Method: http.MethodPost, Path: callbackPattern + "/rotate", Tags: []string{"events"},
			Summary: "Replace the secret of a callback by a new one",
			Description: "For the overlap both secrets sign, so that there is time to install the new one: `webhook-signature` has two " +
				"signatures then. Each request makes a secret, repeated ones too, is an entry of the audit log, and is told the contact of the account.",
			Parameters:  []*huma.Param{accountParameter()},
			RequestBody: jsonBody[message.SecretRotation](s),
			Responses:   responses[message.Callback](s, "Rotated: the secret is told this once.", bodyProblems(http.StatusNotFound)...),
		},
		scope: accounts.ScopeAdmin, do: s.rotateCallback,
	}
}

func (s *server) rotateCallback(r *http.Request, _ web.Query) (web.Answer, error) {
	if err := refuseIdempotencyKey(r.Header); err != nil {
		return web.Answer{}, err
	}
	overlap := accounts.DefaultOverlap
	_, err := web.ReadBody(s.bodies(), r, func(rotation message.SecretRotation) (err error) {
		if rotation.Overlap != "" {
			overlap, err = accounts.ParseOverlap(rotation.Overlap)
		}
		return err
	})
	if err != nil {
		return web.Answer{}, err
	}
	return done(s.callbacks.Rotate(r.Context(), r.PathValue("account"), overlap))
}

// done answers with a value, unless there is an error.
func done[T any](value T, err error) (web.Answer, error) {
	if err != nil {
		return web.Answer{}, err
	}
	return web.Done(value), nil
}
