package api

import (
	"context"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const callbackPattern = accountPattern + "/callback"

func (s *server) callbackRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("getCallback", http.MethodGet, callbackPattern, "events",
				"Get where an account's events are posted, and how far that is",
				""),
			scope: accounts.ScopeAdmin, says: "The callback, without its secret.", refuses: []int{http.StatusNotFound},
		}, func(ctx context.Context, in ofAccount) (message.Callback, error) {
			return s.Callbacks.Status(ctx, in.Account)
		}),
		operation(s, route{
			Operation: named("setCallback", http.MethodPut, callbackPattern, "events",
				"Set where an account's events are posted",
				"Workers post what becomes of the account's messages to the URL, in signed batches of CloudEvents: see the webhook "+
					"`events`. The first one begins with the events from now on; another URL goes on where the former one was. "+
					"The answer to the request that makes the secret has it. The events have the metadata of the account's messages: for another "+
					"account it takes the scope content too. Each request is an entry of the audit log, and the contact of the account is told of a change."),
			scope: accounts.ScopeAdmin, allows: seesAccount, says: "Set.", refuses: []int{http.StatusNotFound},
		}, s.setCallback),
		operation(s, route{
			Operation: named("removeCallback", http.MethodDelete, callbackPattern, "events",
				"Post an account's events no longer",
				"Removes the URL and its secret. Dead events stay. Each request is an entry of the audit log, and the contact of the account is told."),
			scope: accounts.ScopeAdmin, says: "Removed: the account as it is now.", refuses: []int{http.StatusNotFound},
		}, func(ctx context.Context, in ofAccount) (message.Account, error) {
			if err := s.Callbacks.Remove(ctx, in.Account); err != nil {
				return message.Account{}, err
			}
			return s.showAccount(ctx, in)
		}),
		operation(s, route{
			Operation: named("rotateCallbackSecret", http.MethodPost, callbackPattern+"/rotate", "events",
				"Replace the secret of a callback by a new one",
				"For the overlap both secrets sign, so that there is time to install the new one: `webhook-signature` has two "+
					"signatures then. Each request makes a secret, repeated ones too, is an entry of the audit log, and is told the contact of the account."),
			scope: accounts.ScopeAdmin, once: true, says: "Rotated: the secret is told this once.", refuses: []int{http.StatusNotFound},
		}, s.rotateCallback),
	}
}

// seesAccount returns an error unless the caller may see the metadata of the account's messages.
func seesAccount(r *http.Request) error {
	if !callerOf(r.Context()).sees(r.PathValue("account")) {
		return forbidden(accounts.ScopeContent)
	}
	return nil
}

// newCallback is a callback to set.
type newCallback struct {
	ofAccount

	Body object[message.CallbackDraft]
}

func (in *newCallback) check(_ context.Context, s *server) error {
	var wrong fault.InvalidErrors
	wrong.Add(fault.InField(s.Callbacks.Check(in.Body.value.URL), "url"))
	if secret := in.Body.value.Secret; secret != "" {
		wrong.Add(accounts.ValidEventsSecret(secret))
	}
	return wrong.Err()
}

func (s *server) setCallback(ctx context.Context, in newCallback) (message.Callback, error) {
	return s.Callbacks.Set(ctx, in.Account, in.Body.value.URL, in.Body.value.Secret)
}

// secretRotation is the rotation of a callback's secret.
type secretRotation struct {
	ofAccount

	Body    object[message.SecretRotation]
	overlap time.Duration
}

func (in *secretRotation) check(context.Context, *server) (err error) {
	in.overlap, err = overlapOf(in.Body.value.Overlap)
	return err
}

func (s *server) rotateCallback(ctx context.Context, in secretRotation) (message.Callback, error) {
	return s.Callbacks.Rotate(ctx, in.Account, in.overlap)
}
