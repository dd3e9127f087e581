package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const (
	keysPattern = accountPattern + "/keys"
	keyPattern  = keysPattern + "/{key}"
)

func keyParameter() *huma.Param {
	return &huma.Param{
		Name: "key", In: "path", Required: true, Example: "Zx3kQ9aB",
		Description: "The key's id, which is not secret.",
		Schema:      &huma.Schema{Type: huma.TypeString, Pattern: "^[A-Za-z0-9]{8}$"},
	}
}

// madeKey documents an operation that answers with a new key.
func (s *server) madeKey() map[string]*huma.Response {
	all := responses[message.NewAPIKey](s, "", bodyProblems(http.StatusNotFound)...)
	delete(all, strconv.Itoa(http.StatusOK))
	all[strconv.Itoa(http.StatusCreated)] = jsonResponse[message.NewAPIKey](s, "Made: the key is told this once.")
	return all
}

func (s *server) addKeyRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "addAccountKey", Method: http.MethodPost, Path: keysPattern, Tags: []string{"accounts"},
			Summary:     "Add an API key to an account",
			Description: "The other keys stay valid. rotateAccountKey replaces one. Each request makes a key, repeated ones too.",
			Parameters:  []*huma.Param{accountParameter()},
			RequestBody: jsonBody[message.APIKeyDraft](s),
			Responses:   s.madeKey(),
		},
		scope: accounts.ScopeAdmin, do: s.addKey,
	}
}

func (s *server) addKey(r *http.Request, _ web.Query) (web.Answer, error) {
	if err := refuseIdempotencyKey(r.Header); err != nil {
		return web.Answer{}, err
	}
	var scopes []accounts.Scope
	var expires time.Time
	_, err := web.ReadBody(s.bodies(), r, func(draft message.APIKeyDraft) error {
		var wrong fault.InvalidErrors
		var err error
		scopes, err = scopesOf(draft)
		wrong.Add(err)
		expires, err = expiryOf(draft)
		wrong.Add(err)
		return wrong.Err()
	})
	if err != nil {
		return web.Answer{}, err
	}
	if err := mayGive(r.Context(), scopes); err != nil {
		return web.Answer{}, err
	}
	secret, key, err := s.accounts.AddKey(r.Context(), r.PathValue("account"), scopes, expires)
	if err != nil {
		return web.Answer{}, err
	}
	return newKey(secret, key), nil
}

// mayGive returns the error of a caller who may not make a key with these scopes: who does
// not see contents can't help themselves to a key that does.
func mayGive(ctx context.Context, scopes []accounts.Scope) error {
	if slices.Contains(scopes, accounts.ScopeContent) && !callerOf(ctx).may(accounts.ScopeContent) {
		return forbidden(accounts.ScopeContent)
	}
	return nil
}

// newKey answers with a new key.
func newKey(secret string, key accounts.APIKey) web.Answer {
	return web.Answer{Status: http.StatusCreated, Body: message.NewAPIKey{APIKey: KeyOf(key), Secret: secret}}
}

// scopesOf reads the scopes of a key. Without the field a key gets the usual ones. An empty
// list asks for none.
func scopesOf(d message.APIKeyDraft) ([]accounts.Scope, error) {
	if d.Scopes != nil && len(d.Scopes) == 0 {
		return nil, fault.Wrong("scopes", "scopes is empty: a key needs at least one of submit, read and admin")
	}
	return accounts.ParseScopes(d.Scopes...)
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

func (s *server) rotateKeyRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "rotateAccountKey", Method: http.MethodPost, Path: keyPattern + "/rotate", Tags: []string{"accounts"},
			Summary: "Replace an API key by a new one",
			Description: "Makes a key with the same scopes, which does not expire. The old key works for the overlap, unless it expires " +
				"earlier, so that there is time to install the new one. Each request makes a key, repeated ones too; none lets the old key live longer.",
			Parameters:  []*huma.Param{accountParameter(), keyParameter()},
			RequestBody: jsonBody[message.APIKeyRotation](s),
			Responses:   s.madeKey(),
		},
		scope: accounts.ScopeAdmin, do: s.rotateKey,
	}
}

func (s *server) rotateKey(r *http.Request, _ web.Query) (web.Answer, error) {
	if err := refuseIdempotencyKey(r.Header); err != nil {
		return web.Answer{}, err
	}
	overlap := accounts.DefaultOverlap
	_, err := web.ReadBody(s.bodies(), r, func(rotation message.APIKeyRotation) (err error) {
		if rotation.Overlap != "" {
			overlap, err = accounts.ParseOverlap(rotation.Overlap)
		}
		return err
	})
	if err != nil {
		return web.Answer{}, err
	}
	account, _, err := s.accounts.Get(r.Context(), r.PathValue("account"))
	if err != nil {
		return web.Answer{}, err
	}
	for _, old := range account.Keys { // a key keeps its scopes, and the new one has the same
		if old.ID == r.PathValue("key") {
			if err := mayGive(r.Context(), old.Scopes); err != nil {
				return web.Answer{}, err
			}
		}
	}
	secret, key, err := s.accounts.RotateKey(r.Context(), r.PathValue("account"), r.PathValue("key"), overlap)
	if err != nil {
		return web.Answer{}, err
	}
	return newKey(secret, key), nil
}

func (s *server) removeKeyRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "removeAccountKey", Method: http.MethodDelete, Path: keyPattern, Tags: []string{"accounts"},
			Summary:     "Remove an API key",
			Description: "The key becomes invalid within a second in every process.",
			Parameters:  []*huma.Param{accountParameter(), keyParameter()},
			Responses:   responses[message.Account](s, "Removed: the account as it is now.", http.StatusNotFound),
		},
		scope: accounts.ScopeAdmin, do: s.removeKey,
	}
}

func (s *server) removeKey(r *http.Request, _ web.Query) (web.Answer, error) {
	account, err := s.accounts.RemoveKey(r.Context(), r.PathValue("account"), r.PathValue("key"))
	if err != nil {
		return web.Answer{}, err
	}
	return web.Done(AccountOf(account)), nil
}
