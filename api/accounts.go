package api

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

const (
	accountsPath   = "/v1/accounts"
	accountPattern = accountsPath + "/{account}"
)

// AccountOf returns an account in the form of answers.
func AccountOf(a accounts.Account) message.Account {
	account := message.Account{
		Name: a.Name, Tier: a.Tier, Contact: a.Contact, TimeZone: a.TimeZone, ReportAt: a.ReportAt,
		Disabled: a.Disabled, CreatedAt: message.Time{Time: a.CreatedAt}, Keys: make([]message.APIKey, len(a.Keys)),
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
	after, limit, err := pageOf(q)
	if err != nil {
		return web.Answer{}, err
	}
	all, next, err := s.accounts.Page(r.Context(), after, limit)
	if err != nil {
		return web.Answer{}, err
	}
	list := message.Accounts{Accounts: make([]message.Account, len(all)), NextCursor: web.NameCursor(next)}
	for i, account := range all {
		list.Accounts[i] = AccountOf(account)
	}
	return web.Done(list), nil
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
	draft, err := web.ReadBody[message.AccountDraft](s.bodies(), r, nil)
	if err != nil {
		return web.Answer{}, err
	}
	if err := s.contacts.Check("contact", draft.Contact); err != nil {
		return web.Answer{}, err
	}
	account, err := s.accounts.Create(r.Context(), accounts.Account{
		Name: draft.Name, Tier: draft.Tier, Contact: draft.Contact, TimeZone: draft.TimeZone, ReportAt: draft.ReportAt,
	})
	if wrong, ok := errors.AsType[*fault.InvalidError](err); ok && wrong.Field == "account" {
		wrong.Field = "name" // as the request calls it
	}
	if err != nil {
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
	patch, err := web.ReadBody[message.AccountPatch](s.bodies(), r, nil)
	if err != nil {
		return web.Answer{}, err
	}
	if patch.Contact != nil {
		if err := s.contacts.Check("contact", *patch.Contact); err != nil {
			return web.Answer{}, err
		}
	}
	account, err := s.charges.SetAccount(r.Context(), s.accounts, r.PathValue("account"), accounts.Change{
		Tier: patch.Tier, Contact: patch.Contact, TimeZone: patch.TimeZone, ReportAt: patch.ReportAt, Disabled: patch.Disabled,
	})
	if err != nil {
		return web.Answer{}, err
	}
	return web.Done(AccountOf(account)), nil
}

// expiryOf reads the expiry of a key. The zero time means never.
func expiryOf(d message.APIKeyDraft) (time.Time, error) {
	if d.ExpiresAt == "" {
		return time.Time{}, nil
	}
	at, now, err := message.ParseTime(d.ExpiresAt)
	if err != nil || now {
		want := "an RFC 3339 time such as 2040-06-22T11:11:11Z"
		if err != nil {
			want = err.Error()
		}
		return time.Time{}, &fault.InvalidError{Field: "expires_at", Value: d.ExpiresAt, Want: want}
	}
	return at, nil
}
