package dashboard

import (
	"net/http"
	"runtime/debug"
)

// route is a page, a part of one that a script asks for, or a change.
type route struct {
	method, path string
	handle       http.HandlerFunc
	open         bool // for everybody: there is nothing to know or to change
	streams      bool // it lasts as long as the caller wants, and takes a body of any size
}

// table lists everything that the dashboard answers. Names of users and messages are in
// queries: as parts of a path, browsers would take ".." for a step.
func (d *Dashboard) table() []route {
	return []route{
		{method: http.MethodGet, path: "/{$}", handle: d.showOverview},
		{method: http.MethodGet, path: "/live", handle: d.follow, streams: true},
		{method: http.MethodGet, path: "/login", handle: d.showLogin, open: true},
		{method: http.MethodPost, path: "/login", handle: d.login, open: true},
		{method: http.MethodPost, path: "/logout", handle: d.logout},

		{method: http.MethodGet, path: "/users", handle: d.listUsers},
		{method: http.MethodGet, path: "/user", handle: d.showUser},
		{method: http.MethodGet, path: "/user/forbidden", handle: d.forbidden},
		{method: http.MethodPost, path: "/user/submit", handle: d.submit},
		{method: http.MethodPost, path: "/user/settings", handle: d.saveSettings},
		{method: http.MethodPost, path: "/user/device", handle: d.changeDevice},
		{method: http.MethodPost, path: "/user/erase", handle: d.eraseUser},

		{method: http.MethodGet, path: "/messages", handle: d.listMessages},
		{method: http.MethodGet, path: "/message", handle: d.showMessage},
		{method: http.MethodPost, path: "/message/move", handle: d.moveMessage},
		{method: http.MethodPost, path: "/message/cancel", handle: d.cancelMessage},

		{method: http.MethodGet, path: "/campaigns", handle: d.findCampaign},
		{method: http.MethodGet, path: "/campaign", handle: d.showCampaign},
		{method: http.MethodPost, path: "/campaign", handle: d.changeCampaign},

		{method: http.MethodGet, path: "/plan", handle: d.showPlan},
		{method: http.MethodPost, path: "/plan/read", handle: d.readPlan, streams: true},
		{method: http.MethodPost, path: "/plan/judge", handle: d.judgePlan, streams: true},
		{method: http.MethodPost, path: "/plan/submit", handle: d.submitPlan, streams: true},

		{method: http.MethodGet, path: "/policies", handle: d.listPolicies},
		{method: http.MethodGet, path: "/policy", handle: d.showPolicy},
		{method: http.MethodPost, path: "/policy/check", handle: d.checkPolicy},
		{method: http.MethodPost, path: "/policy/apply", handle: d.applyPolicy},
		{method: http.MethodPost, path: "/policy/preview", handle: d.previewPolicy, streams: true},
		{method: http.MethodPost, path: "/policy/refit", handle: d.refitPolicy, streams: true},
		{method: http.MethodPost, path: "/policy/rollback", handle: d.rollbackPolicy},
		{method: http.MethodPost, path: "/policy/delete", handle: d.deletePolicy},

		{method: http.MethodGet, path: "/future", handle: d.showFuture},

		{method: http.MethodGet, path: "/accounts", handle: d.listAccounts},
		{method: http.MethodPost, path: "/accounts", handle: d.createAccount},
		{method: http.MethodGet, path: "/account", handle: d.showAccount},
		{method: http.MethodPost, path: "/account/change", handle: d.changeAccount},
		{method: http.MethodPost, path: "/account/key", handle: d.changeKey},
		{method: http.MethodGet, path: "/tiers", handle: d.listTiers},
		{method: http.MethodPost, path: "/tiers", handle: d.changeTier},

		{method: http.MethodGet, path: "/dead-letters", handle: d.listDeadLetters},
		{method: http.MethodPost, path: "/dead-letters", handle: d.changeDeadLetters},
		{method: http.MethodGet, path: "/alerts", handle: d.listAlerts},
		{method: http.MethodPost, path: "/alerts", handle: d.changeAlerts},

		{method: http.MethodGet, path: "/workers", handle: d.showWorkers},
		{method: http.MethodPost, path: "/workers/pace", handle: d.changePace},
		{method: http.MethodPost, path: "/workers/channel", handle: d.resumeChannel},
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

// routes returns what answers each path.
func (d *Dashboard) routes() http.Handler {
	mux := http.NewServeMux()
	for _, rt := range d.table() {
		handle := rt.handle
		if !rt.open {
			handle = d.identified(handle)
		}
		if !rt.streams {
			handle = bounded(handle)
		}
		mux.HandleFunc(rt.method+" "+rt.path, handle)
	}
	mux.Handle("GET /assets/", d.assets.handler())
	return mux
}

// mostForm bounds the body of a form.
const mostForm = 1 << 20

// bounded returns a handler of a form.
func bounded(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, mostForm)
		next(w, r)
	}
}

// protected returns a handler that sets what every answer has, refuses changes that a page of
// another site asks for, and answers a panic.
func (d *Dashboard) protected(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.showError(w, r, &problem{
			Status: http.StatusForbidden, Code: "cross_origin", Detail: "A page of another site asked for this. Only a page of this address can.",
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
