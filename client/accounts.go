package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

type (
	// Account describes an account.
	Account = message.Account
	// NewAccount describes the account to create. Name is required.
	NewAccount = message.AccountDraft
	// AccountChange lists the changes to an account. A nil field stays as it is.
	AccountChange = message.AccountPatch
	// AccountUsage says how much of its quota an account has used.
	AccountUsage = message.AccountUsage
	// RequestsUsage says how many requests of the present day an account has made.
	RequestsUsage = message.RequestsUsage
	// RequestUsage says how many requests of one kind an account has made.
	RequestUsage = message.RequestUsage
	// QuotaUsage says how many messages of an hour or a day an account has used.
	QuotaUsage = message.QuotaUsage
	// APIKey describes a key of an account, without its secret.
	APIKey = message.APIKey
	// Scope names what an API key allows.
	Scope = message.Scope
	// Tier is a named set of limits for accounts.
	Tier = message.Tier
	// TierLimits are the limits of a tier.
	TierLimits = message.TierLimits
	// TierRemoval is the answer to a tier that was removed.
	TierRemoval = message.TierRemoval
)

// The scopes of API keys.
const (
	ScopeSubmit  = message.ScopeSubmit
	ScopeRead    = message.ScopeRead
	ScopeAdmin   = message.ScopeAdmin
	ScopeContent = message.ScopeContent // with admin: shows the content of other accounts' messages
)

// Accounts yields all accounts by name. It asks for the next page when one is used up. An
// error is the last thing that it yields. All calls about accounts and tiers need a key
// with the scope admin.
func (c *Client) Accounts(ctx context.Context, r PageRequest) iter.Seq2[Account, error] {
	return pagesOf(ctx, c, "listing accounts", accountsPath(), r, func(a message.Accounts) ([]Account, string) {
		return a.Accounts, a.NextCursor
	})
}

// Account returns an account. The error is ErrNotFound if there is none.
func (c *Client) Account(ctx context.Context, name string) (Account, error) {
	return c.callAccount(ctx, call{doing: "asking for an account", method: http.MethodGet}, nil, name)
}

// CreateAccount creates an account without a key. It is not retried. If the answer got
// lost and you call it again, a *Refusal with CodeExists may mean that the first call
// created it.
func (c *Client) CreateAccount(ctx context.Context, a NewAccount) (Account, error) {
	return c.callAccount(ctx, call{doing: "making an account", method: http.MethodPost, once: true}, a)
}

// ChangeAccount changes an account.
func (c *Client) ChangeAccount(ctx context.Context, name string, change AccountChange) (Account, error) {
	return c.callAccount(ctx, call{doing: "changing an account", method: http.MethodPatch}, change, name)
}

// AccountUsage returns how much of its quota an account has used in the present hour and
// day. The error is ErrNotFound if there is no such account.
func (c *Client) AccountUsage(ctx context.Context, name string) (AccountUsage, error) {
	var u AccountUsage
	what := call{doing: "asking for an account's usage", method: http.MethodGet}
	err := c.callBelowAccounts(ctx, what, nil, &u, name, "usage")
	return u, err
}

// OwnUsage is AccountUsage for the account of the client's key, which needs the scope
// read. The error is ErrNotFound if the client has no key.
func (c *Client) OwnUsage(ctx context.Context) (AccountUsage, error) {
	var u AccountUsage
	err := c.do(ctx, call{doing: "asking for the own usage", method: http.MethodGet, path: "/v1/usage"}, &u)
	return u, err
}

// AddAPIKey adds a key to an account and returns it. The key can't be read again. A zero
// expiry means that it does not expire. AddAPIKey is not retried. If the answer got
// lost, the account may have a key that nobody knows; remove it.
func (c *Client) AddAPIKey(ctx context.Context, account string, expires time.Time, scopes ...Scope) (Key, APIKey, error) {
	body := message.APIKeyDraft{ExpiresAt: spell(expires)}
	for _, scope := range scopes {
		body.Scopes = append(body.Scopes, string(scope))
	}
	var answer message.NewAPIKey
	what := call{doing: "adding an API key", method: http.MethodPost, once: true}
	err := c.callBelowAccounts(ctx, what, body, &answer, account, "keys")
	return Key(answer.Secret), answer.APIKey, err
}

// RotateAPIKey replaces a key, by its id, by a new one with the same scopes, which does not
// expire. The old key works for the overlap, at most 366 days, unless it expires earlier;
// an overlap of 0 ends it at once. The new key can't be read again. RotateAPIKey is not
// retried. If the answer got lost, the account may have a key that nobody knows: remove it,
// and rotate the old key again before it ends.
func (c *Client) RotateAPIKey(ctx context.Context, account, id string, overlap time.Duration) (Key, APIKey, error) {
	var answer message.NewAPIKey
	what := call{doing: "rotating an API key", method: http.MethodPost, once: true}
	body := message.APIKeyRotation{Overlap: overlap.String()}
	err := c.callBelowAccounts(ctx, what, body, &answer, account, "keys", id, "rotate")
	return Key(answer.Secret), answer.APIKey, err
}

// RemoveAPIKey removes a key by its id and returns the account. ErrNotFound may mean that
// an earlier try, whose answer got lost, removed it.
func (c *Client) RemoveAPIKey(ctx context.Context, account, id string) (Account, error) {
	return c.callAccount(ctx, call{doing: "removing an API key", method: http.MethodDelete}, nil, account, "keys", id)
}

// Tiers yields all tiers by name, as Accounts yields the accounts.
func (c *Client) Tiers(ctx context.Context, r PageRequest) iter.Seq2[Tier, error] {
	return pagesOf(ctx, c, "listing tiers", "/v1/tiers", r, func(a message.Tiers) ([]Tier, string) {
		return a.Tiers, a.NextCursor
	})
}

// Tier returns a tier. The error is ErrNotFound if there is none.
func (c *Client) Tier(ctx context.Context, name string) (Tier, error) {
	return callTier[Tier](ctx, c, call{doing: "asking for a tier", method: http.MethodGet}, name, nil)
}

// SetTier creates a tier, or replaces the tier with its name.
func (c *Client) SetTier(ctx context.Context, t Tier) (Tier, error) {
	return callTier[Tier](ctx, c, call{doing: "setting a tier", method: http.MethodPut}, t.Name, t.TierLimits)
}

// RemoveTier removes a tier. The error is an *InvalidError whose detail names an account
// that has the tier, or ErrNotFound if there is no such tier. ErrNotFound may also mean
// that an earlier try, whose answer got lost, removed it.
func (c *Client) RemoveTier(ctx context.Context, name string) (TierRemoval, error) {
	return callTier[TierRemoval](ctx, c, call{doing: "removing a tier", method: http.MethodDelete}, name, nil)
}

// callTier makes a call about a tier.
func callTier[A any](ctx context.Context, c *Client, what call, name string, body any) (answer A, err error) {
	if name == "" {
		return answer, fmt.Errorf("%s: %w", what.doing, invalid("tier", "is missing"))
	}
	what.path = "/v1/tiers/" + segment(name)
	return answerTo[A](ctx, c, what, body)
}

// callAccount makes a call that returns an account.
func (c *Client) callAccount(ctx context.Context, what call, body any, below ...string) (Account, error) {
	var a Account
	err := c.callBelowAccounts(ctx, what, body, &a, below...)
	return a, err
}

// callBelowAccounts makes a call below the path of the accounts.
func (c *Client) callBelowAccounts(ctx context.Context, what call, body, into any, below ...string) error {
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

// accountsPath returns the path of the accounts, or of something below it.
func accountsPath(below ...string) string {
	segments := []string{"/v1/accounts"}
	for _, name := range below {
		segments = append(segments, segment(name))
	}
	return strings.Join(segments, "/")
}
