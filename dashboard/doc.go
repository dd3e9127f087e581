// Package dashboard serves pages for operators and for those who plan campaigns: how everything
// is doing, the timeline of a user, what became of a message, plans, policies, and what is
// scheduled. It needs no build step, no other server and no further process.
//
// # The way of a request
//
//	            ┌► page, made by html/template
//	protected ─► identified ─┤              in this process       store
//	   │             │       ├► api ──────────────────────────────► tasks
//	headers,      session,   │   (what a key may, limits, answers)
//	cross-origin  login      ├► overview, timeline: what the API does not have
//	              │          └► change ─► api, which logs it
//	              └► /login
//
// Everything that the API can answer, a page asks of the API of this process through package
// client, as commands do, on behalf of the session's key (api.InProcess). So scopes, limits of
// requests, the bounds of an account and the words of a refusal are the same there and here, and
// are decided in one place. A page of a list, which needs the cursor, and lines that go on to the
// browser as they come are no methods of the client: Dashboard.request asks for them. The names of
// users and messages are in queries, never in paths: browsers take ".." for a step.
//
// # Bodies
//
// Nothing is read of a body before its sender is known and has the scope of the route. Then the
// request takes a turn (api.Turns), of which an account has at most half. A form has the bytes
// and the seconds that it needs; a file is packed in memory (received.go, upload.go). A login
// takes no turn, and has at most 4 KiB.
//
// # Access
//
// Who logs in with an API key gets a session, see package session. The table of routes names the
// scope that a change needs. On loopback without required keys everybody may do everything, as in
// the API, if the address in the browser can't be another site's name and no proxy sent the request. http.CrossOriginProtection refuses changes that another site asks for.
//
// Every change is an entry of the audit log, which the API writes before the change is made, and
// which gets its outcome after. What can't be logged is not done. To show the content of a message
// is no change of the API: the dashboard writes its entry (audited).
//
// # Scripts
//
// Pages work without scripts, but for plans, live updates, dragging and counting what would not
// fit. The Content-Security-Policy allows no inline script or style. Texts of users are written
// by html/template or as textContent, and isolated from the text around them (bdi).
//
// The overview is live by server-sent events. One goroutine looks at the store once a second for
// all browsers of the process, and only if there are any. An account sees its own numbers, which
// are not live.
//
// # Vendored
//
// assets/uPlot.iife.min.js and uPlot.min.css are uPlot 1.6.32, MIT, see assets/uPlot.LICENSE.
package dashboard
