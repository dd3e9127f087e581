package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Headers of a request without a key. Who can send one has all rights, so that they only tell whose
// request it is. With a key, the key tells that, and they are refused.
const (
	// ByHeader has the name of the operator for the audit log and versions of policies.
	ByHeader = "Sendlimit-By"
	// AccountHeader has the account that is charged for submits. The request reaches only its
	// messages.
	AccountHeader = "Sendlimit-Account"
)

// caller is the sender of a request. The zero value may do nothing.
type caller struct {
	identity accounts.Identity
	// keyless is set if there is no key and the server requires none.
	keyless bool
	// hand is set for a Hand, with its Note.
	hand  bool
	note  string
	by    string       // an operator's name, of a Hand or from ByHeader
	first *atomic.Bool // of a command: whether it has made a change; nil for others
}

// may reports whether the caller has a scope. A key without an account has none, since it can't be
// confined to an account.
func (c caller) may(scope accounts.Scope) bool {
	return c.keyless || c.account() != "" && c.identity.May(scope)
}

// account returns the account that is charged for the caller's messages, or "".
func (c caller) account() string { return c.identity.Account.Name }

// confined reports whether the caller reaches only the messages of its own account.
func (c caller) confined() bool {
	return !c.may(accounts.ScopeAdmin) || c.keyless && c.account() != ""
}

// callerOf returns the caller of the request to which ctx belongs.
func callerOf(ctx context.Context) caller { return exchangeOf(ctx).caller }

const (
	// loginFresh is how long a valid key is not looked up again.
	loginFresh = time.Second
	// loginKnown is how long a key that was valid is looked up directly. Other keys go through the
	// keyScreen first.
	loginKnown = 24 * time.Hour
	// loginOutlasts is how long a key that was valid may read metrics while the store is away.
	loginOutlasts = time.Hour
	// maxLogins is the largest number of valid keys to remember.
	maxLogins = 10_000
)

// logins caches keys that were valid, by their SHA-256.
type logins struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]login
}

type login struct {
	identity accounts.Identity
	at       time.Time
}

// valid reports whether the login is younger than within and its key has not expired.
func (l login) valid(now time.Time, within time.Duration) bool {
	expires := l.identity.Key.ExpiresAt
	return !l.at.IsZero() && now.Sub(l.at) < within && (expires.IsZero() || now.Before(expires))
}

func (l *logins) get(key [sha256.Size]byte) login {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[key]
}

func (l *logins) add(key [sha256.Size]byte, identity accounts.Identity, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, there := l.known[key]; !there && len(l.known) >= maxLogins {
		l.forget(now)
	}
	if l.known == nil {
		l.known = make(map[[sha256.Size]byte]login)
	}
	l.known[key] = login{identity: identity, at: now}
}

// forget removes old logins, and all logins if too many remain. A removed key is looked up again.
func (l *logins) forget(now time.Time) {
	for key, login := range l.known {
		if !login.valid(now, loginKnown) {
			delete(l.known, key)
		}
	}
	if len(l.known) >= maxLogins {
		clear(l.known)
	}
}

func (l *logins) remove(key [sha256.Size]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, key)
}

// authenticate returns the caller of a request. It also checks a key that is not required. With
// outlasts, it accepts a key that was valid within loginOutlasts while the store is away.
func (s *server) authenticate(r *http.Request, outlasts bool) (caller, error) {
	given := r.Header.Values("Authorization")
	if who, known := r.Context().Value(callerKey{}).(caller); known && len(given) == 0 {
		return who, nil
	}
	if !s.RequireKeys {
		if err := checkHost(r.Host); err != nil {
			return caller{}, err
		}
	}
	if len(given) == 0 {
		if s.RequireKeys {
			return caller{}, unauthorized("this API asks for a key: send it as Authorization: Bearer sk_…", "")
		}
		return s.withoutKey(r)
	}
	if err := checkUnnamed(r.Header); err != nil {
		return caller{}, err
	}
	secret, ok := bearer(given)
	if !ok {
		return caller{}, unauthorized("the Authorization header is not Bearer and one key", "invalid_request")
	}
	key, now := sha256.Sum256([]byte(secret)), s.Now()
	seen := s.logins.get(key)
	if seen.valid(now, loginFresh) {
		return caller{identity: seen.identity}, nil
	}
	// A client that closed its half of the connection still waits for its answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), s.Limits.Timeout)
	defer cancel()
	if seen.valid(now, loginKnown) {
		return s.renew(ctx, r, secret, key, seen, outlasts)
	}
	return s.firstLogin(ctx, r, secret, key)
}

// withoutKey returns the caller of a request without a key, to a server that requires none.
func (s *server) withoutKey(r *http.Request) (caller, error) {
	who := caller{keyless: true}
	if err := checkDirect(r.Header); err != nil {
		return who, err
	}
	if by := r.Header.Get(ByHeader); by != "" {
		who.by = web.Printable(by)
	}
	account := r.Header.Get(AccountHeader)
	switch {
	case account == "":
		return who, nil
	case !accounts.ValidName(account):
		return caller{}, &fault.InvalidError{Field: "account", Value: account, Want: keyspace.WantName}
	}
	who.identity.Account.Name = account
	return who, s.Submitter.CheckAccount(r.Context(), account)
}

// checkUnnamed refuses a request with a key that also names an operator or an account.
func checkUnnamed(h http.Header) error {
	for _, name := range []string{ByHeader, AccountHeader} {
		if h.Get(name) != "" {
			return fault.Wrong(name, "%s is for requests without a key: leave it out, since the key tells whose request it is", name)
		}
	}
	return nil
}

// renew looks up a key that was valid before. Concurrent requests share one lookup. With an error
// of the store it also returns the key's known identity, since an operator may read more of the
// error.
func (s *server) renew(
	ctx context.Context, r *http.Request, secret string, key [sha256.Size]byte, seen login, outlasts bool,
) (caller, error) {
	// The shared lookup has its own deadline: the caller that began it may have less time left.
	shared := context.WithoutCancel(ctx)
	found, err, _ := s.renewals.Do(string(key[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(shared, s.Limits.Timeout)
		defer cancel()
		identity, ok, err := s.Accounts.Authenticate(ctx, secret)
		if err != nil {
			return nil, err
		}
		if !ok {
			s.logins.remove(key)
			return nil, nil
		}
		s.logins.add(key, identity, s.Now())
		return identity, nil
	})
	now := s.Now()
	if err != nil {
		if outlasts && seen.valid(now, loginOutlasts) {
			return caller{identity: seen.identity}, nil
		}
		return caller{identity: seen.identity}, err
	}
	if identity, ok := found.(accounts.Identity); ok {
		return caller{identity: identity}, nil
	}
	return caller{}, s.failedLogin(ctx, r, s.failures.blocked(s.address(r), now))
}

// firstLogin looks up an unknown key. A valid key is accepted even if its address has failed
// logins: only failures are throttled. A key that was not generated here may be short enough to
// guess, so its address waits.
func (s *server) firstLogin(ctx context.Context, r *http.Request, secret string, key [sha256.Size]byte) (caller, error) {
	wait := s.failures.blocked(s.address(r), s.Now())
	if wait > 0 && !accounts.MadeKey(secret) {
		return caller{}, s.failedLogin(ctx, r, wait)
	}
	exists, err := s.screen.exists(ctx, accounts.HashKey(secret))
	var identity accounts.Identity
	if err == nil && exists {
		identity, exists, err = s.Accounts.Authenticate(ctx, secret)
	}
	switch {
	case err != nil:
		return caller{}, s.unchecked(ctx, err)
	case !exists:
		return caller{}, s.failedLogin(ctx, r, wait)
	}
	s.logins.add(key, identity, s.Now())
	return caller{identity: identity}, nil
}

// failedLogin returns the error for a wrong key. wait is how long the address is blocked. If it is
// zero, the failure is counted.
func (s *server) failedLogin(ctx context.Context, r *http.Request, wait time.Duration) error {
	s.LoginRefused()
	if wait == 0 {
		var err error
		if wait, err = s.failures.count(ctx, s.address(r), s.Now()); err != nil {
			return s.unchecked(ctx, err)
		}
		if wait > 0 {
			s.tellBlocked(ctx, s.address(r), wait)
		}
	}
	if wait > 0 {
		return tooManyLogins(wait)
	}
	return unauthorized("the key is unknown, has expired, or its account is disabled", "invalid_token")
}

// tellBlocked logs an address that has just been blocked, at most one a minute.
func (s *server) tellBlocked(ctx context.Context, address string, wait time.Duration) {
	if others, ok := s.failures.tell(s.Now()); ok {
		s.Logger.WarnContext(ctx, "wrong keys come from an address, which now waits", "address", address, "wait", wait,
			"others_before", others)
	}
}

// unchecked returns the error for a key that could not be checked because of err. The key
// may be a guess, so the details of err go to the log only.
func (s *server) unchecked(ctx context.Context, err error) error {
	level := slog.LevelWarn
	if away, ok := errors.AsType[*fault.UnavailableError](err); ok && away.Err != nil {
		level = slog.LevelDebug // others warn of an outage, once
	}
	s.Logger.Log(ctx, level, "could not check a key", "error", err)
	return &fault.UnavailableError{Detail: "keys can't be checked at the moment: send the request again"}
}

// bearer returns the key in an Authorization header.
func bearer(given []string) (string, bool) {
	scheme, secret, _ := strings.Cut(given[0], " ")
	secret = strings.TrimSpace(secret)
	ok := len(given) == 1 && strings.EqualFold(scheme, "Bearer") && secret != "" && !strings.ContainsAny(secret, " ,")
	return secret, ok
}

const challenge = `Bearer realm="sendlimit"`

// unauthorized returns the error for a request without a valid key. reason is a word of
// RFC 6750, or "" if there was no key.
func unauthorized(detail, reason string) error {
	header := http.Header{"Www-Authenticate": {challenge}}
	if reason != "" {
		header.Set("WWW-Authenticate", challenge+`, error="`+reason+`"`)
	}
	return &web.Error{Status: http.StatusUnauthorized, Header: header, Outcome: message.Outcome{
		Outcome: message.Errored, Code: fault.CodeUnauthorized, Detail: detail,
	}}
}

func tooManyLogins(wait time.Duration) error {
	return &web.Error{
		Status: http.StatusTooManyRequests,
		Header: http.Header{"Retry-After": {retryAfter(wait)}},
		Outcome: message.Outcome{
			Outcome: message.Refused, Code: fault.CodeRateLimited,
			Detail: "too many requests with wrong keys from this address: wait for Retry-After",
		},
	}
}

// retryAfter returns a wait in whole seconds, at least one.
func retryAfter(wait time.Duration) string {
	return strconv.FormatInt(max(int64(math.Ceil(wait.Seconds())), 1), 10)
}
