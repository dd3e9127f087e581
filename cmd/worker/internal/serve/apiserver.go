package serve

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// apiServer is the API with its parts.
type apiServer struct {
	http.Handler

	submitter   *submit.Submitter
	deadLetters *deadletters.DeadLetters
	draining    chan struct{} // closed once the worker is about to stop, and not ready
	drain       func()        // closes draining
	stopping    chan struct{}
	admin       http.Handler // answers at an address of its own, see admin_listen
	end         func() error
}

// newAPIServer returns the API on a store. Close it.
func newAPIServer(
	b *backend.Backend, c config.Config, accounts *accounts.Accounts, m *serviceMetrics, held *heldBack, logger *slog.Logger,
) (_ *apiServer, err error) {
	parts := operations.Parts(c)
	parts.Submits.Batch = true // many concurrent requests must not take all connections
	o, end, err := operations.Open(b, c, parts)
	if err != nil {
		return nil, err
	}
	s := &apiServer{draining: make(chan struct{}), stopping: make(chan struct{}), submitter: o.Submitter, deadLetters: o.DeadLetters, end: end}
	s.drain = sync.OnceFunc(func() { close(s.draining) })
	defer func() {
		if err != nil {
			err = errors.Join(err, end())
		}
	}()
	o.Stats = newStats(o.Stats)
	checks, measured := probes(b, c, held, s.draining, logger), m.handler(logger)
	s.admin = adminHandler(checks, measured)
	if c.AdminListen != "" {
		checks, measured = nil, nil
	}
	o.Accounts, o.Logger, o.Tracer = accounts, logger, b.Tracer
	o.RequireKeys, o.TrustedProxies, o.BasePath, o.LoginRefused = asksForKeys(c), c.TrustedProxies, c.BasePath, m.refusedLogins.Inc
	o.Metrics, o.Probes, o.Stopping, o.Before = measured, checks, s.stopping, s.unlessStopping
	o.Limits = api.Limits{
		Streams: c.Streams, StreamsPerAccount: c.StreamsPerAccount, Idle: c.StreamIdle,
		InFlight: c.Requests, InFlightPerAccount: c.RequestsPerAccount, ReadsPerAccount: c.ReadsPerAccount,
		Followers: c.EventStreams, FollowersPerAccount: c.EventStreamsPerAccount,
	}
	served, err := api.New(o)
	if err != nil {
		return nil, err
	}
	s.Handler = m.measured(namingStore(served, c))
	if c.Dashboard {
		if s.Handler, err = s.withDashboard(s.Handler, served, o.Parts, c, logger); err != nil {
			return nil, err
		}
	}
	s.Handler = s.unlessDraining(below(c.BasePath, s.Handler))
	return s, nil
}

// namingStore marks each answer if the store is the embedded one.
func namingStore(next http.Handler, c config.Config) http.Handler {
	if c.RedisURL != "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(operations.StoreHeader, operations.Embedded)
		next.ServeHTTP(w, r)
	})
}

// below removes the base path from the paths of requests that have it. A proxy may remove it
// already.
func below(basePath string, next http.Handler) http.Handler {
	if basePath == "" {
		return next
	}
	inside := http.StripPrefix(basePath, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == basePath:
			http.Redirect(w, r, basePath+"/", http.StatusPermanentRedirect)
		case strings.HasPrefix(r.URL.EscapedPath(), basePath+"/"):
			inside.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// asksForKeys reports whether the API requires a key.
func asksForKeys(c config.Config) bool { return c.RequireKeys || c.Exposed() }

// unlessDraining keeps connections open for further requests, unless the worker is about to stop:
// then their next requests go to another worker.
func (s *apiServer) unlessDraining(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-s.draining:
			w.Header().Set("Connection", "close")
		default:
		}
		next.ServeHTTP(w, r)
	})
}

// unlessStopping refuses new operations once the worker stops. Running operations finish,
// and the health endpoint answers to the end.
func (s *apiServer) unlessStopping(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-s.stopping:
			api.WriteProblem(w, message.Outcome{
				Outcome: message.Errored, Code: fault.CodeUnavailable,
				Detail: "this server is stopping: try another one, or this one in a moment",
			})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// stop refuses new operations and ends the batches. Call it once.
func (s *apiServer) stop() {
	s.drain()
	close(s.stopping)
}

// close writes the remaining confirmations of accepted and retried messages. Requests that are
// answered later may miss theirs, without a loss.
func (s *apiServer) close() error { return s.end() }
