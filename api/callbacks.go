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
			Operation: named("setCallback", http.MethodPut, callbackPattern, "events",
				"Set the callback of an account",
				"Workers post the events of the account's messages to the URL, in signed batches of CloudEvents: see the webhook "+
					"`events`. A first URL gets the events from now on; another URL continues where the former one stopped. "+
					"The answer to the request that creates the secret shows it. The events contain the metadata of the account's messages: for another "+
					"account the scope content is required too. Each request is an entry of the audit log, and the contact of the account is informed of a change."),
			scope: accounts.ScopeAdmin, allows: seesAccount, says: "Set.", refuses: []int{http.StatusNotFound},
		}, s.setCallback),
		operation(s, route{
			Operation: named("removeCallback", http.MethodDelete, callbackPattern, "events",
				"Remove the callback of an account",
				"Removes the URL and its secret. Dead events stay. Each request is an entry of the audit log, and the contact of the account is informed."),
			scope: accounts.ScopeAdmin, says: "Removed. The account after the change.", refuses: []int{http.StatusNotFound},
		}, func(ctx context.Context, in ofAccount) (message.Account, error) {
			if err := s.Callbacks.Remove(ctx, in.Account); err != nil {
				return message.Account{}, err
			}
			account, _, err := s.resolve(ctx, in.Account)
			return AccountOf(account), err
		}),
		operation(s, route{
			Operation: named("rotateCallbackSecret", http.MethodPost, callbackPattern+"/rotate", "events",
				"Replace the secret of a callback",
				"During the overlap both secrets sign, so that you can install the new one: `webhook-signature` has two "+
					"signatures then. Each request, even a repeated one, creates a secret and an entry of the audit log, and informs the contact of the account."),
			scope: accounts.ScopeAdmin, once: true, says: "Replaced. The secret is shown only once.", refuses: []int{http.StatusNotFound},
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
