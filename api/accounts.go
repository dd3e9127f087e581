package api

import (
	"cmp"
	"context"
	"net/http"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const (
	accountsPath   = "/v1/accounts"
	accountPattern = accountsPath + "/{account}"
)

// AccountOf returns an account as answers show it.
func AccountOf(a accounts.Account) message.Account {
	account := message.Account{
		Name: a.Name, Tier: a.Tier, Contact: a.Contact, TimeZone: a.TimeZone, ReportAt: a.ReportAt,
		EventsURL: a.EventsURL, Disabled: a.Disabled, CreatedAt: message.Time{Time: a.CreatedAt}, Keys: make([]message.APIKey, len(a.Keys)),
	}
	if account.TimeZone == "" {
		account.TimeZone = "UTC"
	}
	if !a.ZoneFrom.IsZero() {
		account.FormerTimeZone, account.TimeZoneFrom = cmp.Or(a.FormerZone, "UTC"), &message.Time{Time: a.ZoneFrom}
	}
	for i, key := range a.Keys {
		account.Keys[i] = KeyOf(key)
	}
	return account
}

// KeyOf returns an API key as answers show it.
func KeyOf(k accounts.APIKey) message.APIKey {
	scopes := make([]message.Scope, len(k.Scopes))
	for i, scope := range k.Scopes {
		scopes[i] = message.Scope(scope)
	}
	return message.APIKey{ID: k.ID, Scopes: scopes, CreatedAt: message.Time{Time: k.CreatedAt}, ExpiresAt: message.Time{Time: k.ExpiresAt}}
}

func (s *server) accountRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("listAccounts", http.MethodGet, accountsPath, "accounts",
				"List the accounts",
				"Sorted by name."),
			scope: accounts.ScopeAdmin, says: "A page of accounts.",
		}, s.listAccounts),
		operation(s, route{
			Operation: named("createAccount", http.MethodPost, accountsPath, "accounts",
				"Create an account",
				""),
			scope: accounts.ScopeAdmin, says: "Created, without a key.", makes: true, refuses: []int{http.StatusConflict},
		}, s.createAccount),
		operation(s, route{
			Operation: named("getAccount", http.MethodGet, accountPattern, "accounts",
				"Get an account",
				"With its usage, and its callback and its progress. "+usageDescription),
			scope: accounts.ScopeAdmin, says: "The account.", refuses: []int{http.StatusNotFound},
		}, s.showAccount),
		operation(s, route{
			Operation: named("changeAccount", http.MethodPatch, accountPattern, "accounts",
				"Change an account",
				"Takes effect within a second in every process. Messages already charged stay charged."),
			scope: accounts.ScopeAdmin, says: "Changed.", refuses: []int{http.StatusNotFound},
		}, s.changeAccount),
	}
}

func (s *server) listAccounts(ctx context.Context, p pageByName) (message.Accounts, error) {
	all, next, err := readPage(ctx, s, p, s.Accounts.Page, AccountOf)
	return message.Accounts{Accounts: all, NextCursor: next}, err
}

type newAccount struct {
	Body    object[message.AccountDraft]
	account accounts.Account
}

func (in *newAccount) check(_ context.Context, s *server) error {
	d := in.Body.value
	in.account = accounts.Account{Name: d.Name, Tier: d.Tier, Contact: d.Contact, TimeZone: d.TimeZone, ReportAt: d.ReportAt}
	var wrong fault.InvalidErrors
	wrong.Add(in.account.Validate())
	for i, problem := range wrong {
		if problem.Field == "account" {
			renamed := *problem
			renamed.Field = "name" // as the request calls it
			wrong[i] = &renamed
		}
	}
	wrong.Add(s.Contacts.Check("contact", d.Contact))
	return wrong.Err()
}

func (s *server) createAccount(ctx context.Context, in newAccount) (message.Account, error) {
	account, err := s.Accounts.Create(ctx, in.account)
	return AccountOf(account), err
}

func (s *server) showAccount(ctx context.Context, in ofAccount) (shown message.AccountDetails, err error) {
	account, tier, err := s.resolve(ctx, in.Account)
	if err != nil {
		return shown, err
	}
	shown.Account = AccountOf(account)
	if shown.Usage, err = s.usageOf(ctx, account, tier); err != nil || account.EventsURL == "" {
		return shown, err
	}
	callback, err := s.Callbacks.StatusOf(ctx, account)
	shown.Callback = &callback
	return shown, err
}

// resolve returns an account and its tier.
func (s *server) resolve(ctx context.Context, name string) (accounts.Account, accounts.Tier, error) {
	account, tier, ok, err := s.Accounts.Resolve(ctx, name)
	if err == nil && !ok {
		err = fault.NoSuchAccount(name)
	}
	return account, tier, err
}

type accountChange struct {
	ofAccount

	Body   object[message.AccountPatch]
	change accounts.Change
}

func (in *accountChange) check(_ context.Context, s *server) error {
	p := in.Body.value
	in.change = accounts.Change{Tier: p.Tier, Contact: p.Contact, TimeZone: p.TimeZone, ReportAt: p.ReportAt, Disabled: p.Disabled}
	var wrong fault.InvalidErrors
	wrong.Add(in.change.Validate())
	if p.Contact != nil {
		wrong.Add(s.Contacts.Check("contact", *p.Contact))
	}
	return wrong.Err()
}

func (s *server) changeAccount(ctx context.Context, in accountChange) (message.Account, error) {
	account, err := s.Charges.SetAccount(ctx, s.Accounts, in.Account, in.change)
	return AccountOf(account), err
}
