package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Scope is what an API key may be used for.
type Scope string

// The scopes. With submit and read a key reaches its account's own messages;
// admin reaches everything.
const (
	ScopeSubmit Scope = "submit"
	ScopeRead   Scope = "read"
	ScopeAdmin  Scope = "admin"
)

// Account is who sends.
type Account struct {
	Name      string    `json:"name"`
	Tier      string    `json:"tier"`      // "" limits nothing
	Contact   string    `json:"contact"`   // who is told about its quota: an e-mail address or an https: URL
	TimeZone  string    `json:"time_zone"` // IANA
	ReportAt  string    `json:"report_at"` // local time of the daily report; "" for none
	Disabled  bool      `json:"disabled"`
	CreatedAt time.Time `json:"created_at"`
	Keys      []APIKey  `json:"keys"`
}

// APIKey is what is known of an API key: not the key itself.
type APIKey struct {
	ID        string    `json:"id"`
	Scopes    []Scope   `json:"scopes"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"` // zero for never
}

// NewAccount is an account to be made; Name has to be there.
type NewAccount struct {
	Name     string `json:"name"`
	Tier     string `json:"tier,omitempty"`
	Contact  string `json:"contact,omitempty"`
	TimeZone string `json:"time_zone,omitempty"` // "" means UTC
	ReportAt string `json:"report_at,omitempty"`
}

// AccountChange says what to change of an account; what is nil stays.
type AccountChange struct {
	Tier     *string `json:"tier,omitempty"`
	Contact  *string `json:"contact,omitempty"`
	TimeZone *string `json:"time_zone,omitempty"`
	ReportAt *string `json:"report_at,omitempty"`
	Disabled *bool   `json:"disabled,omitempty"`
}

// Tier is what its accounts may send; a limit of zero is none.
type Tier struct {
	Name              string `json:"name"`
	RequestsPerMinute int64  `json:"requests_per_minute"`
	MessagesPerHour   int64  `json:"messages_per_hour"`
	MessagesPerDay    int64  `json:"messages_per_day"`
	// AlertAt are the percents of MessagesPerDay at which an account's contact is
	// told; nil means 80 and 100, empty never.
	AlertAt []int `json:"alert_at,omitzero"`
}

// Accounts returns all accounts by name. It takes a key with the scope admin,
// as do all calls about accounts and tiers.
func (c *Client) Accounts(ctx context.Context) ([]Account, error) {
	var answer struct {
		Accounts []Account `json:"accounts"`
	}
	err := c.do(ctx, call{doing: "listing accounts", method: http.MethodGet, path: accountsPath()}, &answer)
	return answer.Accounts, err
}

// Account returns an account. The error is ErrNotFound where there is none.
func (c *Client) Account(ctx context.Context, name string) (Account, error) {
	return c.aboutAccount(ctx, call{doing: "asking for an account", method: http.MethodGet}, nil, name)
}

// CreateAccount makes an account, without a key. It is sent once: where the
// answer got lost, an *InvalidError that says that the account exists may mean
// that it was made.
func (c *Client) CreateAccount(ctx context.Context, a NewAccount) (Account, error) {
	return c.aboutAccount(ctx, call{doing: "making an account", method: http.MethodPost, once: true}, a)
}

// ChangeAccount changes an account.
func (c *Client) ChangeAccount(ctx context.Context, name string, change AccountChange) (Account, error) {
	return c.aboutAccount(ctx, call{doing: "changing an account", method: http.MethodPatch}, change, name)
}

// AddAPIKey gives an account one more key, and returns it: it can't be had
// again. A zero expiry is none. It is sent once: where the answer got lost, there
// may be a key that nobody has, to be removed.
func (c *Client) AddAPIKey(ctx context.Context, account string, expires time.Time, scopes ...Scope) (Key, APIKey, error) {
	body := struct {
		Scopes    []Scope   `json:"scopes,omitempty"`
		ExpiresAt time.Time `json:"expires_at,omitzero"`
	}{scopes, expires}
	var answer struct {
		APIKey

		Key string `json:"key"`
	}
	what := call{doing: "adding an API key", method: http.MethodPost, once: true}
	err := c.change(ctx, what, body, &answer, account, "keys")
	return Key(answer.Key), answer.APIKey, err
}

// RemoveAPIKey removes a key by its id, and returns the account as it is then.
// ErrNotFound may mean that a first try, whose answer got lost, has done it.
func (c *Client) RemoveAPIKey(ctx context.Context, account, id string) (Account, error) {
	return c.aboutAccount(ctx, call{doing: "removing an API key", method: http.MethodDelete}, nil, account, "keys", id)
}

// Tiers returns all tiers by name.
func (c *Client) Tiers(ctx context.Context) ([]Tier, error) {
	var answer struct {
		Tiers []Tier `json:"tiers"`
	}
	err := c.do(ctx, call{doing: "listing tiers", method: http.MethodGet, path: "/v1/tiers"}, &answer)
	return answer.Tiers, err
}

// Tier returns a tier. The error is ErrNotFound where there is none.
func (c *Client) Tier(ctx context.Context, name string) (Tier, error) {
	var t Tier
	err := c.do(ctx, call{doing: "asking for a tier", method: http.MethodGet, path: "/v1/tiers/" + segment(name)}, &t)
	return t, err
}

// SetTier makes a tier, or replaces the one of its name.
func (c *Client) SetTier(ctx context.Context, t Tier) (Tier, error) {
	const doing = "setting a tier"
	limits := map[string]any{
		"requests_per_minute": t.RequestsPerMinute, "messages_per_hour": t.MessagesPerHour, "messages_per_day": t.MessagesPerDay,
	}
	if t.AlertAt != nil {
		limits["alert_at"] = t.AlertAt
	}
	body, err := json.Marshal(limits)
	if err != nil {
		return Tier{}, fmt.Errorf("%s: %w", doing, err)
	}
	var set Tier
	err = c.do(ctx, call{doing: doing, method: http.MethodPut, path: "/v1/tiers/" + segment(t.Name), body: body}, &set)
	return set, err
}

// aboutAccount makes a call that answers with an account.
func (c *Client) aboutAccount(ctx context.Context, what call, body any, below ...string) (Account, error) {
	var a Account
	err := c.change(ctx, what, body, &a, below...)
	return a, err
}

// change makes a call below the path of the accounts.
func (c *Client) change(ctx context.Context, what call, body, into any, below ...string) error {
	if slices.Contains(below, "") {
		return fmt.Errorf("%s: %w", what.doing, invalid("account", "and key take a name: an empty one would be another address"))
	}
	what.path = accountsPath(below...)
	what, err := what.with(body)
	if err != nil {
		return err
	}
	return c.do(ctx, what, into)
}

// accountsPath is the path of the accounts, or of what is below.
func accountsPath(below ...string) string {
	segments := []string{"/v1/accounts"}
	for _, name := range below {
		segments = append(segments, segment(name))
	}
	return strings.Join(segments, "/")
}
