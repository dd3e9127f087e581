package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// caller is the sender of a request. The zero value has no rights.
type caller struct {
	identity accounts.Identity
	keyless  bool // nobody has logged in, and nobody has to
	cookie   string
	address  string // of the client, for the audit log
	note     string // for the audit log too, see api.Hand
}

// Account returns the name of the account, "" without one.
func (c caller) Account() string { return c.identity.Account.Name }

// Key returns the id of the API key, "" without one.
func (c caller) Key() string { return c.identity.Key.ID }

// Known reports whether the caller has logged in.
func (c caller) Known() bool { return c.Account() != "" }

// Admin reports whether the caller reaches the messages of all accounts.
func (c caller) Admin() bool { return c.may(accounts.ScopeAdmin) }

// Submits reports whether the caller may submit and change messages.
func (c caller) Submits() bool { return c.may(accounts.ScopeSubmit) }

// Reads reports whether the caller may read messages.
func (c caller) Reads() bool { return c.may(accounts.ScopeRead) }

func (c caller) may(scope accounts.Scope) bool {
	return c.keyless || c.Known() && c.identity.May(scope)
}

type callerKey struct{}

// callerOf returns the caller of the request to which ctx belongs.
func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// of returns a request with a caller.
func of(r *http.Request, who caller) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, who))
}

// The name of the cookie. Over TLS a prefix makes browsers accept it only from TLS: hostPrefix also
// keeps other hosts of the domain from setting it, but requires the path "/".
const (
	cookieName   = "sendlimit_session"
	hostPrefix   = "__Host-"
	securePrefix = "__Secure-"
)

// identified returns a handler for callers with a scope; "" for any caller. It answers others
// itself: with the login page, or with a status for a script.
func (d *Dashboard) identified(scope accounts.Scope, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := d.find(r)
		switch {
		case err != nil:
			d.showError(w, r, err)
		case !who.Known() && !who.keyless:
			d.askForLogin(w, r)
		case who.keyless && !api.LocalHost(r.Host):
			d.showError(w, r, &problem{
				Status: http.StatusForbidden,
				Detail: "Another site could use this host name: without a login, use the IP address of this server or localhost.",
			})
		case who.keyless && api.Proxied(r.Header) != "":
			d.showError(w, r, &problem{
				Status: http.StatusUnauthorized, Code: fault.CodeUnauthorized,
				Detail: "This request came through a proxy (" + api.Proxied(r.Header) + "), which others can use too: log in with a key at /login, and set require_keys: true.",
			})
		case scope != "" && !who.may(scope):
			d.showError(w, of(r, who), needs(scope))
		default:
			next(w, of(r, who))
		}
	}
}

// find returns the caller of a request.
func (d *Dashboard) find(r *http.Request) (caller, error) {
	who := caller{address: d.address(r), cookie: d.sessionCookie(r)}
	if who.cookie != "" {
		identity, ok, err := d.o.Sessions.Find(r.Context(), who.cookie, d.o.Now())
		if err != nil {
			return caller{}, err
		}
		if ok {
			who.identity = identity
			return who, nil
		}
	}
	who.keyless = !d.o.RequireKeys
	return who, nil
}

// sessionCookie returns the cookie of a session. A cookie that only TLS can set takes precedence.
func (d *Dashboard) sessionCookie(r *http.Request) string {
	c, err := r.Cookie(d.secureName())
	if err != nil && !d.secure(r) {
		c, err = r.Cookie(cookieName)
	}
	if err != nil {
		return ""
	}
	return c.Value
}

func (d *Dashboard) cookieName(r *http.Request) string {
	if d.secure(r) {
		return d.secureName()
	}
	return cookieName
}

func (d *Dashboard) secureName() string {
	if d.o.BasePath != "" {
		return securePrefix + cookieName
	}
	return hostPrefix + cookieName
}

// secure reports whether the browser used TLS, as far as this server can know. It trusts any proxy
// and browser: a false claim only makes the cookie require TLS.
func (d *Dashboard) secure(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") || strings.HasPrefix(r.Header.Get("Origin"), "https://")
}

// address returns the address of the client, as far as this server can know it; "" if unknown.
func (d *Dashboard) address(r *http.Request) string {
	from := api.ClientOf(r, d.o.TrustedProxies)
	if !from.IsValid() {
		return ""
	}
	return from.String()
}

// askForLogin answers a request without a session.
func (d *Dashboard) askForLogin(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || wantsJSON(r) {
		d.showError(w, r, &problem{Status: http.StatusUnauthorized, Code: "unauthorized", Detail: "Your session has ended: log in again."})
		return
	}
	to := url.Values{"to": {r.URL.RequestURI()}}
	if r.URL.Path == "/" && r.URL.RawQuery == "" {
		to = nil
	}
	d.redirect(w, r, withQuery("/login", to))
}

// needs returns the problem of a caller without a scope.
func needs(scope accounts.Scope) *problem {
	return &problem{
		Status: http.StatusForbidden, Code: fault.CodeForbidden,
		Detail: "This requires the scope " + string(scope) + ": log in with another key.",
	}
}
