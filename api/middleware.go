package api

import (
	"context"
	"encoding/binary"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
)

// exchange holds the state of a request while it is answered.
type exchange struct {
	http.ResponseWriter

	id     string
	route  string         // method and pattern; "" if there is no such route
	path   string         // pattern of the route
	status int            // 0 until it is written
	caller caller         // once it is known
	scope  accounts.Scope // that the route needs
	slot   slot           // once it has one

	unsealed error            // why a cursor could not be sealed
	failed   *message.Outcome // what a request that failed was answered; nil for one that did not
}

type exchangeKey struct{}

// exchangeOf returns the exchange of the request to which ctx belongs.
func exchangeOf(ctx context.Context) *exchange {
	if e, some := ctx.Value(exchangeKey{}).(*exchange); some {
		return e
	}
	return &exchange{}
}

// WriteHeader records the status.
func (e *exchange) WriteHeader(status int) {
	if e.status == 0 && status >= http.StatusOK { // what comes before is only informational
		e.status = status
	}
	e.ResponseWriter.WriteHeader(status)
}

// Write writes a part of the body. It records the status 200 if there was none.
func (e *exchange) Write(b []byte) (int, error) {
	if e.status == 0 {
		e.status = http.StatusOK
	}
	return e.ResponseWriter.Write(b)
}

// Unwrap returns the writer for http.ResponseController.
func (e *exchange) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// observe gives each request an id, and logs its answer. It does not log paths, since they contain
// users' names.
func (s *server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := s.Now()
		e := &exchange{ResponseWriter: w, id: r.Header.Get(web.RequestIDHeader)}
		if !validRequestID(e.id) {
			e.id = newRequestID(began)
		}
		w.Header().Set(web.RequestIDHeader, e.id)
		setHeaders(w.Header(), r)
		ctx := tracing.WithRequest(context.WithValue(r.Context(), exchangeKey{}, e), e.id)
		defer func() {
			if s.Logger.Enabled(ctx, slog.LevelDebug) {
				s.Logger.DebugContext(ctx, "request answered", "route", e.route, "status", e.status,
					"duration", s.Now().Sub(began), "account", e.caller.account(), "key", e.caller.identity.Key.ID)
			}
		}()
		if underV1(r) {
			traced, span := s.Tracer.Request(ctx, r)
			ctx = traced
			defer func() { span.EndRequest(r.Method, e.path, e.status) }()
		}
		next.ServeHTTP(e, r.WithContext(ctx))
	})
}

// setHeaders sets the headers of every answer. Answers of operations are for programs: a browser
// saves them, and neither shows them nor lets another page show them. The pages of the
// documentation have a different Content-Security-Policy.
func setHeaders(h http.Header, r *http.Request) {
	values := [...]string{ // in one piece of memory
		"nosniff", "no-referrer", "default-src 'none'; frame-ancestors 'none'", `attachment; filename="answer.json"`,
	}
	h["X-Content-Type-Options"], h["Referrer-Policy"], h["Content-Security-Policy"] = values[0:1:1], values[1:2:2], values[2:3:3]
	if underV1(r) {
		h["Content-Disposition"] = values[3:4:4]
	}
	if r.TLS != nil {
		h.Set("Strict-Transport-Security", "max-age=31536000") // a year
	}
}

// newRequestID returns a UUIDv7 for a request without an id. It is no secret, and must only be
// unique.
func newRequestID(now time.Time) string {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], uint64(now.UnixMilli())<<16|0x7000|rand.Uint64()&0x0fff)
	binary.BigEndian.PutUint64(id[8:], 1<<63|rand.Uint64()>>2)
	return id.String()
}

// validRequestID reports whether a caller's id is short and safe for headers and logs.
func validRequestID(id string) bool {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-"
	return id != "" && len(id) <= 128 && strings.Trim(id, allowed) == ""
}

// recovered answers a panic with a problem without details, and logs the panic.
func (s *server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if reason := recover(); reason != nil {
				s.answerPanic(w, r, reason)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

func (s *server) answerPanic(w http.ResponseWriter, r *http.Request, reason any) {
	if reason == http.ErrAbortHandler { //nolint:errorlint // recover gives the very value
		panic(reason)
	}
	e := exchangeOf(r.Context())
	s.Logger.ErrorContext(r.Context(), "a request panicked", "reason", reason, "route", e.route,
		"stack", string(debug.Stack()))
	if e.status != 0 {
		// An answer that has begun can only be aborted.
		panic(http.ErrAbortHandler)
	}
	web.WriteProblem(w, internalError())
}

// sameOrigin refuses requests of another site's page, unless they only read. A browser that can
// reach this address may show any page.
func sameOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		web.WriteProblem(w, message.Outcome{
			Outcome: message.Errored, Code: web.CodeCrossOrigin,
			Detail: "the request came from a page of another site",
		})
	}))
	return protection.Handler(next)
}
