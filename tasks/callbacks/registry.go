package callbacks

import (
	"context"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier/notice"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/contact"
)

// Registry sets, removes and describes the callbacks of accounts. It is safe for concurrent
// use.
type Registry struct {
	client    redis.UniversalClient
	accounts  *accounts.Accounts
	listeners *events.Listeners
	callbacks *events.Callbacks
	log       *events.Log
	notices   *notices.Outbox
	rule      contact.Callbacks
}

// NewRegistry returns the callbacks of a store, with a rule for their URLs. The error is a
// *fault.InvalidError.
func NewRegistry(client redis.UniversalClient, o events.Options, rule contact.Callbacks) (*Registry, error) {
	keys := keyspace.KeysUnder(o.Prefix)
	r := &Registry{client: client, rule: rule, accounts: accounts.New(client, keys), listeners: events.NewListeners(client, keys)}
	var err error
	if r.log, err = events.NewLog(client, o); err != nil {
		return nil, err
	}
	if r.notices, err = notices.New(client, notices.Options{Prefix: o.Prefix}); err != nil {
		return nil, err
	}
	if r.callbacks, err = events.NewCallbacks(client, o); err != nil {
		return nil, err
	}
	return r, nil
}

// Set sets the callback URL of an account, see accounts.SetEvents. The callback gets the
// events from now on, or from the position of the former callback. The answer has the
// secret only if it was generated. The error is a *fault.NoSuchError or a *fault.InvalidError.
//
// The contact of the account gets an alert about a change.
func (r *Registry) Set(ctx context.Context, account, address, secret string) (message.Callback, error) {
	if err := r.rule.Check(address); err != nil {
		return message.Callback{}, err
	}
	if secret != "" {
		if err := accounts.ValidEventsSecret(secret); err != nil {
			return message.Callback{}, err
		}
	}
	found, ok, err := r.accounts.Get(ctx, account)
	if err == nil && !ok {
		err = fault.NoSuchAccount(account)
	}
	if err != nil {
		return message.Callback{}, err
	}
	// First, so that no event is missed. If the rest fails, the caller repeats it, and the senders
	// listen for every callback.
	begin := func() error { return r.callbacks.Begin(ctx, account, false) }
	if found.EventsURL == "" {
		begin = func() error { return r.callbacks.Replace(ctx, account) }
	}
	if err := begin(); err != nil {
		return message.Callback{}, err
	}
	if found.EventsURL != address || secret != "" {
		if err := r.tell(ctx, found, notice.CallbackSet, address); err != nil {
			return message.Callback{}, err
		}
	}
	_, made, err := r.accounts.SetEvents(ctx, account, address, secret)
	if err != nil {
		return message.Callback{}, err
	}
	if err := r.Listen(ctx, account); err != nil {
		return message.Callback{}, err
	}
	status, err := r.Status(ctx, account)
	status.Secret = made
	return status, err
}

// Remove removes the callback of an account, if there is one; dead events stay. The error is a
// *fault.NoSuchError.
func (r *Registry) Remove(ctx context.Context, account string) error {
	found, _, err := r.accounts.Get(ctx, account)
	if err == nil && found.EventsURL != "" {
		err = r.tell(ctx, found, notice.CallbackRemoved, "")
	}
	if err != nil {
		return err
	}
	if _, err := r.accounts.RemoveEvents(ctx, account); err != nil {
		return err
	}
	return r.callbacks.Forget(ctx, account)
}

// Rotate replaces the secret of a callback, see accounts.RotateEventsSecret. The answer has the new
// one.
func (r *Registry) Rotate(ctx context.Context, account string, overlap time.Duration) (message.Callback, error) {
	found, _, err := r.accounts.Get(ctx, account)
	if err == nil && found.EventsURL != "" {
		err = r.tell(ctx, found, notice.CallbackSecret, found.EventsURL)
	}
	if err != nil {
		return message.Callback{}, err
	}
	secret, err := r.accounts.RotateEventsSecret(ctx, account, overlap)
	if err != nil {
		return message.Callback{}, err
	}
	status, err := r.Status(ctx, account)
	status.Secret = secret
	return status, err
}

// tell alerts the contact of an account of a change of its callback.
func (r *Registry) tell(ctx context.Context, account accounts.Account, change, address string) error {
	return r.notices.PutChange(ctx, notices.CallbackChanged, account.Name, notices.Details{Change: change, Host: Host(address), TimeZone: account.TimeZone})
}

// Host returns the host of a callback's URL, whose path may have a secret.
func Host(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Host
}

// Status returns the progress of an account's callback. The error is a *fault.NoSuchError if
// there is no such account, or no callback.
func (r *Registry) Status(ctx context.Context, account string) (message.Callback, error) {
	found, ok, err := r.accounts.Get(ctx, account)
	switch {
	case err != nil:
		return message.Callback{}, err
	case !ok:
		return message.Callback{}, fault.NoSuchAccount(account)
	case found.EventsURL == "":
		return message.Callback{}, accounts.NoCallback(account)
	}
	return r.StatusOf(ctx, found)
}

// StatusOf is Status for an account with a callback.
func (r *Registry) StatusOf(ctx context.Context, account accounts.Account) (message.Callback, error) {
	p, err := r.callbacks.Progress(ctx, account.Name)
	if err != nil {
		return message.Callback{}, err
	}
	status := message.Callback{
		Account: account.Name, URL: account.EventsURL, Waiting: p.Waiting, Dead: p.Dead, Lost: p.Lost, Attempts: p.Attempts,
		Failing: message.Time{Time: p.Failing}, SucceededAt: message.Time{Time: p.SucceededAt},
		FailedAt: message.Time{Time: p.FailedAt}, Reason: p.Reason,
	}
	if p.Attempts > 0 {
		status.NextAt = message.Time{Time: p.NextAt}
	}
	return status, nil
}
