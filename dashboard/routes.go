package dashboard

import (
	"cmp"
	"net/http"
	"runtime/debug"

	"github.com/sendlimit/sendlimiter/records/accounts"
)

// route is a page, a part of one for a script, or a change.
type route struct {
	method, path string
	handle       http.HandlerFunc
	open         bool           // for everybody: there is nothing to know or to change
	scope        accounts.Scope // that a key needs; "" for any key
	form         int64          // bytes that a form may have; zero means maxForm
	uploads      bool           // the body is a file
	follows      bool           // the answer lasts as long as its caller wants
}

// most returns the most bytes of a form.
func (rt route) most() int64 { return cmp.Or(rt.form, maxForm) }

// table lists all routes. Names of users and messages are in queries: in paths, browsers would
// treat ".." as a step.
func (d *Dashboard) table() []route {
	const submits, admin = accounts.ScopeSubmit, accounts.ScopeAdmin
	return []route{
		{method: http.MethodGet, path: "/{$}", handle: d.showOverview},
		{method: http.MethodGet, path: "/live", handle: d.follow, scope: admin, follows: true},
		{method: http.MethodGet, path: "/login", handle: d.showLogin, open: true},
		{method: http.MethodPost, path: "/login", handle: d.login, open: true, form: maxKey},
		{method: http.MethodPost, path: "/logout", handle: d.logout},

		{method: http.MethodGet, path: "/search", handle: d.search},
		{method: http.MethodGet, path: "/users", handle: d.listUsers},
		{method: http.MethodGet, path: "/user", handle: d.showUser},
		{method: http.MethodGet, path: "/user/forbidden", handle: d.forbidden},
		{method: http.MethodPost, path: "/user/submit", handle: d.submit, scope: submits},
		{method: http.MethodPost, path: "/user/settings", handle: d.saveSettings, scope: admin},
		{method: http.MethodPost, path: "/user/device", handle: d.changeDevice, scope: submits},
		{method: http.MethodPost, path: "/user/erase", handle: d.eraseUser, scope: admin},

		{method: http.MethodGet, path: "/messages", handle: d.listMessages},
		{method: http.MethodPost, path: "/messages", handle: d.changeMessages, scope: submits, form: maxChosen},
		{method: http.MethodGet, path: "/message", handle: d.showMessage},
		{method: http.MethodPost, path: "/message/move", handle: d.moveMessage, scope: submits},
		{method: http.MethodPost, path: "/message/cancel", handle: d.cancelMessage, scope: submits},

		{method: http.MethodGet, path: "/campaigns", handle: d.findCampaign},
		{method: http.MethodGet, path: "/campaign", handle: d.showCampaign},
		{method: http.MethodPost, path: "/campaign", handle: d.changeCampaign, scope: submits},

		{method: http.MethodGet, path: "/plan", handle: d.showPlan},
		{method: http.MethodPost, path: "/plan/read", handle: d.readPlan, scope: submits, uploads: true},
		{method: http.MethodPost, path: "/plan/judge", handle: d.judgePlan, scope: submits, uploads: true},
		{method: http.MethodPost, path: "/plan/submit", handle: d.submitPlan, scope: submits, uploads: true},

		{method: http.MethodGet, path: "/policies", handle: d.listPolicies},
		{method: http.MethodGet, path: "/policy", handle: d.showPolicy},
		{method: http.MethodPost, path: "/policy/check", handle: d.checkPolicy, scope: admin, form: maxPolicy},
		{method: http.MethodPost, path: "/policy/apply", handle: d.applyPolicy, scope: admin, form: maxPolicy},
		{method: http.MethodPost, path: "/policy/dry-run", handle: d.dryRunPolicy, scope: admin, form: maxPolicy},
		{method: http.MethodPost, path: "/policy/refit", handle: d.refitPolicy, scope: admin},
		{method: http.MethodPost, path: "/policy/rollback", handle: d.rollbackPolicy, scope: admin},
		{method: http.MethodPost, path: "/policy/delete", handle: d.deletePolicy, scope: admin},

		{method: http.MethodGet, path: "/schedule", handle: d.showSchedule, scope: admin},

		{method: http.MethodGet, path: "/accounts", handle: d.listAccounts},
		{method: http.MethodPost, path: "/accounts", handle: d.createAccount, scope: admin},
		{method: http.MethodGet, path: "/account", handle: d.showAccount},
		{method: http.MethodPost, path: "/account/change", handle: d.changeAccount, scope: admin},
		{method: http.MethodPost, path: "/account/key", handle: d.changeKey, scope: admin},
		{method: http.MethodGet, path: "/tiers", handle: d.listTiers},
		{method: http.MethodPost, path: "/tiers", handle: d.changeTier, scope: admin},

		{method: http.MethodGet, path: "/dead-letters", handle: d.listDeadLetters},
		{method: http.MethodPost, path: "/dead-letters", handle: d.changeDeadLetters, scope: admin, form: maxChosen},
		{method: http.MethodGet, path: "/alerts", handle: d.listAlerts},
		{method: http.MethodPost, path: "/alerts", handle: d.changeAlerts, scope: admin},

		{method: http.MethodPost, path: "/sending", handle: d.changeSending, scope: admin},
		{method: http.MethodGet, path: "/workers", handle: d.showWorkers, scope: admin},
		{method: http.MethodPost, path: "/workers/pace", handle: d.changePace, scope: admin},
		{method: http.MethodPost, path: "/workers/channel", handle: d.resumeChannel, scope: admin},
		{method: http.MethodGet, path: "/audit", handle: d.showAudit},
	}
}

// paths returns the paths of all routes.
func (d *Dashboard) paths() map[string]bool {
	paths := make(map[string]bool)
	for _, rt := range d.table() {
		if rt.path == "/{$}" {
			rt.path = "/"
		}
		paths[rt.path] = true
	}
	return paths
}

// routes returns the handlers of all paths.
func (d *Dashboard) routes() http.Handler {
	mux := http.NewServeMux()
	for _, rt := range d.table() {
		handle := d.viewed(rt)
		if rt.method == http.MethodPost {
			handle = d.received(rt)
		}
		if !rt.open {
			handle = d.identified(rt.scope, handle)
		}
		mux.HandleFunc(rt.method+" "+rt.path, handle)
	}
	mux.Handle("GET /assets/", d.assets.handler())
	return mux
}

// protected returns a handler that sets the common headers, refuses changes from other sites, and
// answers a panic.
func (d *Dashboard) protected(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.showError(w, r, &problem{
			Status: http.StatusForbidden, Code: "cross_origin", Detail: "The request came from a page of another site.",
		})
	}))
	safe := protection.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		if r.TLS != nil {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000") // a year
		}
		defer func() {
			reason := recover()
			if reason == nil {
				return
			}
			if reason == http.ErrAbortHandler { //nolint:errorlint // recover gives the very value
				panic(reason)
			}
			d.o.Logger.ErrorContext(r.Context(), "a request to the dashboard panicked", "reason", reason, "page", r.URL.Path, "stack", string(debug.Stack()))
			panic(http.ErrAbortHandler)
		}()
		safe.ServeHTTP(w, r)
	})
}
