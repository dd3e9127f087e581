// Package dashboard serves pages for operators and for planners of campaigns: an overview, the
// timeline of a user, messages, plans, policies, and the forecast. It needs no build step, no other
// server and no further process.
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
// A page uses the API of this process through package client, as commands do, for the session's key
// (api.InProcess). So scopes, limits of requests, the bounds of an account and the words of a
// refusal are decided in one place. Pages of lists, which need a cursor, and lines that go on to
// the browser use Dashboard.request. Names of users and messages are in queries, never in paths:
// browsers treat ".." as a step.
//
// # Bodies
//
// No body is read before its sender is known and has the scope of the route. Then the request takes
// a turn (api.Turns), of which an account has at most half. A form has limits of bytes and seconds;
// a file is compressed in memory (received.go, upload.go). A login takes no turn, and has at most 4
// KiB.
//
// # Access
//
// A login with an API key starts a session, see package session. The table of routes names the
// scope that a change needs. On loopback without required keys every caller may do everything, as
// in the API, if the address in the browser can't be another site's name and no proxy sent the
// request. http.CrossOriginProtection refuses changes from other sites.
//
// Below a base path, requests come without it, and all that leads back here has it: parsePages adds
// it to the links of templates, redirect to redirects, and common.js to the requests of scripts.
//
// Every change, and each look at the content of a message, is an entry of the audit log: the API
// writes it before, and adds the outcome afterwards. What can't be logged is not done.
//
// # Scripts
//
// Pages work without scripts, except plans, live updates, dragging and counting misfits. Times are in
// UTC then, and otherwise in the zone that the reader chose (common.js). The
// Content-Security-Policy allows no inline script or style. Texts of users are written by
// html/template or as textContent, and isolated from the text around them (bdi).
//
// The overview is live by server-sent events. One goroutine reads the store once a second for all
// browsers of the process, and only if there are any. An account sees its own numbers, which are
// not live.
//
// # Vendored
//
// assets/uPlot.iife.min.js and uPlot.min.css are uPlot 1.6.32, MIT, see assets/uPlot.LICENSE.
package dashboard
