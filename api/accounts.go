package api

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

const (
	accountsPath   = "/v1/accounts"
	accountPattern = accountsPath + "/{account}"
)

// Account is who sends, as callers see it.
type Account struct {
	Name      string       `json:"name" doc:"1 to 64 of a-z 0-9 _ -"`
	Tier      string       `json:"tier,omitempty" doc:"Its tier; absent where nothing limits what it sends."`
	Contact   string       `json:"contact,omitempty" doc:"Who is told about its quota: an e-mail address or an https: URL."`
	TimeZone  string       `json:"time_zone" doc:"The IANA time zone whose hours and days its quota counts."`
	ReportAt  string       `json:"report_at,omitempty" doc:"The local time of its daily report; absent where it gets none."`
	Disabled  bool         `json:"disabled,omitempty" doc:"Its keys let nobody in; what it has submitted is still sent."`
	CreatedAt message.Time `json:"created_at" doc:"When it was made."`
	Keys      []Key        `json:"keys" doc:"Its API keys, the oldest first, without the keys themselves."`
}

// Key is what is known of an API key.
type Key struct {
	ID        string           `json:"id" doc:"Names the key, and lets nobody in."`
	Scopes    []accounts.Scope `json:"scopes" doc:"What it may be used for: submit, read, admin."`
	CreatedAt message.Time     `json:"created_at" doc:"When it was made."`
	ExpiresAt message.Time     `json:"expires_at,omitzero" doc:"From when on it lets nobody in; absent for never."`
}

// NewKey is an API key that was just made.
type NewKey struct {
	Key

	Secret string `json:"key" doc:"The key itself, which is told this once."`
}

// Accounts are all of them.
type Accounts struct {
	Accounts []Account `json:"accounts" doc:"By name."`
}

// AccountDraft is an account to be made.
type AccountDraft struct {
	Name     string `json:"name" doc:"1 to 64 of a-z 0-9 _ -"`
	Tier     string `json:"tier,omitempty" doc:"The name of a tier that exists; without one nothing limits what it sends."`
	Contact  string `json:"contact,omitempty" doc:"Who is told about its quota: an e-mail address or an https: URL."`
	TimeZone string `json:"time_zone,omitempty" doc:"An IANA time zone, by default UTC."`
	ReportAt string `json:"report_at,omitempty" doc:"Local time of a daily report, such as 08:00; by default there is none."`
}

// AccountPatch says what to change of an account; what is absent stays, and what
// is empty is taken away.
type AccountPatch struct {
	Tier     *string `json:"tier,omitempty" doc:"The name of a tier that exists."`
	Contact  *string `json:"contact,omitempty" doc:"An e-mail address or an https: URL."`
	TimeZone *string `json:"time_zone,omitempty" doc:"An IANA time zone."`
	ReportAt *string `json:"report_at,omitempty" doc:"Local time of a daily report, such as 08:00."`
	Disabled *bool   `json:"disabled,omitempty" doc:"Whether its keys let nobody in."`
}

// KeyDraft is an API key to be made.
type KeyDraft struct {
	Scopes    []string `json:"scopes,omitempty" doc:"What it may be used for: submit, read, admin; by default submit and read."`
	ExpiresAt string   `json:"expires_at,omitempty" doc:"RFC 3339: from when on it lets nobody in; by default never."`
}

// AccountOf is an account as callers see it.
func AccountOf(a accounts.Account) Account {
	account := Account{
		Name: a.Name, Tier: a.Tier, Contact: a.Contact, TimeZone: a.TimeZone, ReportAt: a.ReportAt,
		Disabled: a.Disabled, CreatedAt: message.Time{Time: a.CreatedAt}, Keys: make([]Key, len(a.Keys)),
	}
	if account.TimeZone == "" {
		account.TimeZone = "UTC"
	}
	for i, key := range a.Keys {
		account.Keys[i] = KeyOf(key)
	}
	return account
}

// KeyOf is an API key as callers see it.
func KeyOf(k accounts.APIKey) Key {
	return Key{ID: k.ID, Scopes: k.Scopes, CreatedAt: message.Time{Time: k.CreatedAt}, ExpiresAt: message.Time{Time: k.ExpiresAt}}
}

func (s *server) listAccountsRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "listAccounts", Method: http.MethodGet, Path: accountsPath, Tags: []string{"accounts"},
			Summary:   "List the accounts",
			Responses: responses[Accounts](s, "All of them."),
		},
		scope: accounts.ScopeAdmin, do: s.listAccounts,
	}
}

func (s *server) listAccounts(r *http.Request, _ query) (answer, error) {
	all, err := s.accounts.List(r.Context())
	if err != nil {
		return answer{}, err
	}
	list := Accounts{Accounts: make([]Account, len(all))}
	for i, account := range all {
		list.Accounts[i] = AccountOf(account)
	}
	return done(list), nil
}

func (s *server) createAccountRoute() route {
	all := responses[Account](s, "", bodyProblems()...)
	delete(all, strconv.Itoa(http.StatusOK))
	all[strconv.Itoa(http.StatusCreated)] = jsonResponse[Account](s, "Made, without a key.")
	return route{
		Operation: huma.Operation{
			OperationID: "createAccount", Method: http.MethodPost, Path: accountsPath, Tags: []string{"accounts"},
			Summary:     "Make an account",
			RequestBody: jsonBody[AccountDraft](s),
			Responses:   all,
		},
		scope: accounts.ScopeAdmin, do: s.createAccount,
	}
}

func (s *server) createAccount(r *http.Request, _ query) (answer, error) {
	draft, err := readBody[AccountDraft](s, r)
	if err != nil {
		return answer{}, err
	}
	account, err := s.accounts.Create(r.Context(), accounts.Account{
		Name: draft.Name, Tier: draft.Tier, Contact: draft.Contact, TimeZone: draft.TimeZone, ReportAt: draft.ReportAt,
	})
	if wrong, ok := errors.AsType[*fault.InvalidError](err); ok && wrong.Field == "account" {
		wrong.Field = "name" // as the request calls it
	}
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, body: AccountOf(account)}, nil
}

func (s *server) showAccountRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "getAccount", Method: http.MethodGet, Path: accountPattern, Tags: []string{"accounts"},
			Summary:    "Look at an account",
			Parameters: []*huma.Param{accountParameter()},
			Responses:  responses[Account](s, "The account.", http.StatusNotFound),
		},
		scope: accounts.ScopeAdmin, do: s.showAccount,
	}
}

func (s *server) showAccount(r *http.Request, _ query) (answer, error) {
	name := r.PathValue("account")
	account, ok, err := s.accounts.Get(r.Context(), name)
	if err != nil {
		return answer{}, err
	}
	if !ok {
		return answer{}, &fault.NoSuchError{What: "account", Name: name}
	}
	return done(AccountOf(account)), nil
}

func (s *server) changeAccountRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "changeAccount", Method: http.MethodPatch, Path: accountPattern, Tags: []string{"accounts"},
			Summary:     "Change an account",
			Description: "Holds from the next request of its keys on, in every process within a second. What is charged stays charged.",
			Parameters:  []*huma.Param{accountParameter()},
			RequestBody: jsonBody[AccountPatch](s),
			Responses:   responses[Account](s, "Changed.", bodyProblems(http.StatusNotFound)...),
		},
		scope: accounts.ScopeAdmin, do: s.changeAccount,
	}
}

func (s *server) changeAccount(r *http.Request, _ query) (answer, error) {
	patch, err := readBody[AccountPatch](s, r)
	if err != nil {
		return answer{}, err
	}
	account, err := s.accounts.Set(r.Context(), r.PathValue("account"), accounts.Change{
		Tier: patch.Tier, Contact: patch.Contact, TimeZone: patch.TimeZone, ReportAt: patch.ReportAt, Disabled: patch.Disabled,
	})
	if err != nil {
		return answer{}, err
	}
	return done(AccountOf(account)), nil
}

// time reads an expiry; the zero time is none.
func (d KeyDraft) time() (time.Time, error) {
	if d.ExpiresAt == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, d.ExpiresAt)
	if err != nil {
		return time.Time{}, &fault.InvalidError{
			Field: "expires_at", Value: d.ExpiresAt, Want: "an RFC 3339 time such as 2026-11-22T11:11:11Z",
		}
	}
	return at, nil
}
