package api

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const (
	accountsPath   = "/v1/accounts"
	accountPattern = accountsPath + "/{account}"
)

// AccountOf returns an account in the form of answers.
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

// KeyOf returns an API key in the form of answers.
func KeyOf(k accounts.APIKey) message.APIKey {
	scopes := make([]message.Scope, len(k.Scopes))
	for i, scope := range k.Scopes {
		scopes[i] = message.Scope(scope)
	}
	return message.APIKey{ID: k.ID, Scopes: scopes, CreatedAt: message.Time{Time: k.CreatedAt}, ExpiresAt: message.Time{Time: k.ExpiresAt}}
}

func (s *server) listAccountsRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "listAccounts", Method: http.MethodGet, Path: accountsPath, Tags: []string{"accounts"},
			Summary:     "List the accounts",
			Description: "By name.",
			Parameters:  pageParameters("Accounts a page."),
			Responses:   responses[message.Accounts](s, "A page of them."),
		},
		scope: accounts.ScopeAdmin, do: s.listAccounts,
	}
}

func (s *server) listAccounts(r *http.Request, q web.Query) (web.Answer, error) {
	all, next, err := pageByName(s, r, q, s.accounts.Page, AccountOf)
	return web.Done(message.Accounts{Accounts: all, NextCursor: next}), err
}

func (s *server) createAccountRoute() route {
	all := responses[message.Account](s, "", bodyProblems(http.StatusConflict)...)
	delete(all, strconv.Itoa(http.StatusOK))
	all[strconv.Itoa(http.StatusCreated)] = jsonResponse[message.Account](s, "Made, without a key.")
	return route{
		Operation: huma.Operation{
			OperationID: "createAccount", Method: http.MethodPost, Path: accountsPath, Tags: []string{"accounts"},
			Summary:     "Create an account",
			RequestBody: jsonBody[message.AccountDraft](s),
			Responses:   all,
		},
		scope: accounts.ScopeAdmin, do: s.createAccount,
	}
}

func (s *server) createAccount(r *http.Request, _ web.Query) (web.Answer, error) {
	var account accounts.Account
	_, err := web.ReadBody(s.bodies(), r, func(d message.AccountDraft) error {
		account = accounts.Account{Name: d.Name, Tier: d.Tier, Contact: d.Contact, TimeZone: d.TimeZone, ReportAt: d.ReportAt}
		var wrong fault.InvalidErrors
		wrong.Add(account.Validate())
		for i, problem := range wrong {
			if problem.Field == "account" {
				renamed := *problem
				renamed.Field = "name" // as the request calls it
				wrong[i] = &renamed
			}
		}
		wrong.Add(s.contacts.Check("contact", d.Contact))
		return wrong.Err()
	})
	if err != nil {
		return web.Answer{}, err
	}
	if account, err = s.accounts.Create(r.Context(), account); err != nil {
		return web.Answer{}, err
	}
	return web.Answer{Status: http.StatusCreated, Body: AccountOf(account)}, nil
}

func (s *server) showAccountRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "getAccount", Method: http.MethodGet, Path: accountPattern, Tags: []string{"accounts"},
			Summary:    "Get an account",
			Parameters: []*huma.Param{accountParameter()},
			Responses:  responses[message.Account](s, "The account.", http.StatusNotFound),
		},
		scope: accounts.ScopeAdmin, do: s.showAccount,
	}
}

func (s *server) showAccount(r *http.Request, _ web.Query) (web.Answer, error) {
	name := r.PathValue("account")
	account, ok, err := s.accounts.Get(r.Context(), name)
	if err != nil {
		return web.Answer{}, err
	}
	if !ok {
		return web.Answer{}, &fault.NoSuchError{What: "account", Name: name}
	}
	return web.Done(AccountOf(account)), nil
}

func (s *server) changeAccountRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "changeAccount", Method: http.MethodPatch, Path: accountPattern, Tags: []string{"accounts"},
			Summary:     "Change an account",
			Description: "Takes effect within a second in every process. Messages that are already charged stay charged.",
			Parameters:  []*huma.Param{accountParameter()},
			RequestBody: jsonBody[message.AccountPatch](s),
			Responses:   responses[message.Account](s, "Changed.", bodyProblems(http.StatusNotFound)...),
		},
		scope: accounts.ScopeAdmin, do: s.changeAccount,
	}
}

func (s *server) changeAccount(r *http.Request, _ web.Query) (web.Answer, error) {
	var change accounts.Change
	_, err := web.ReadBody(s.bodies(), r, func(p message.AccountPatch) error {
		change = accounts.Change{
			Tier: p.Tier, Contact: p.Contact, TimeZone: p.TimeZone, ReportAt: p.ReportAt, Disabled: p.Disabled,
		}
		var wrong fault.InvalidErrors
		wrong.Add(change.Validate())
		if p.Contact != nil {
			wrong.Add(s.contacts.Check("contact", *p.Contact))
		}
		return wrong.Err()
	})
	if err != nil {
		return web.Answer{}, err
	}
	account, err := s.charges.SetAccount(r.Context(), s.accounts, r.PathValue("account"), change)
	if err != nil {
		return web.Answer{}, err
	}
	return web.Done(AccountOf(account)), nil
}
