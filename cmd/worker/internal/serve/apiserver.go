package serve

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/cmd/internal/channelcheck"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/contact"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/refit"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// apiServer is the API with its parts.
type apiServer struct {
	http.Handler

	submitter   *submit.Submitter
	deadLetters *deadletters.DeadLetters
	refitter    *refit.Refitter
	stopping    chan struct{}
	admin       http.Handler // answers at an address of its own, see admin_listen
}

// newAPIServer returns the API on a store. Close it.
func newAPIServer(
	b *backend.Backend, c config.Config, accounts *accounts.Accounts, m *serviceMetrics, held *heldBack, logger *slog.Logger,
) (_ *apiServer, err error) {
	s := &apiServer{stopping: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	submits := store.SubmitterOptions(c)
	if s.refitter, err = refit.New(b, refit.Options{Options: submits}); err != nil {
		return nil, err
	}
	submits.Batch = true // many concurrent requests must not take all connections
	if s.submitter, err = submit.New(b, submits); err != nil {
		return nil, err
	}
	if s.deadLetters, err = deadletters.New(b); err != nil {
		return nil, err
	}
	stats, err := newStats(b.Client, c.Prefix, cli.Version())
	if err != nil {
		return nil, err
	}
	o, err := api.PartsOf(b, contact.Callbacks{AllowInternal: c.EventsAllowInternal})
	if err != nil {
		return nil, err
	}
	checks, measured := probes(b, c, held, s.stopping, logger), m.handler(logger)
	s.admin = adminHandler(checks, measured)
	if c.AdminListen != "" {
		checks, measured = nil, nil
	}
	o.Accounts, o.Submitter, o.DeadLetters, o.Refitter = accounts, s.submitter, s.deadLetters, s.refitter
	o.Stats, o.Now, o.Logger, o.Tracer, o.Version = stats, time.Now, logger, b.Tracer, cli.Version()
	o.RequireKeys, o.TrustedProxies, o.LoginRefused = asksForKeys(c), c.TrustedProxies, m.refusedLogins.Inc
	o.Metrics, o.Probes, o.Stopping, o.Before = measured, checks, s.stopping, s.unlessStopping
	o.Contacts, o.CheckDevice = contact.Rule{AllowInternal: c.AllowInternalWebhooks}, channelcheck.New(c).Device
	o.Limits = api.Limits{
		Streams: c.Streams, StreamsPerAccount: c.StreamsPerAccount, Idle: c.StreamIdle,
		InFlight: c.Requests, InFlightPerAccount: c.RequestsPerAccount, ReadsPerAccount: c.ReadsPerAccount,
		Followers: c.EventStreams, FollowersPerAccount: c.EventStreamsPerAccount,
	}
	served, err := api.New(o)
	if err != nil {
		return nil, err
	}
	s.Handler = m.measured(served)
	if c.Dashboard {
		if s.Handler, err = s.withDashboard(s.Handler, served, b, c, accounts, logger); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// asksForKeys reports whether the API requires a key.
func asksForKeys(c config.Config) bool { return c.RequireKeys || c.Exposed() }

// unlessStopping refuses new operations once the worker stops. Running operations finish,
// and the health endpoint answers to the end.
func (s *apiServer) unlessStopping(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-s.stopping:
			w.Header().Set("Connection", "close")
			api.WriteProblem(w, message.Outcome{
				Outcome: message.Errored, Code: fault.CodeUnavailable,
				Detail: "this server stops: ask another, or this one again in a moment",
			})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// stop refuses new operations and ends the batches. Call it once.
func (s *apiServer) stop() { close(s.stopping) }

// close writes the remaining confirmations of accepted and retried messages. Requests that
// are answered later may miss theirs, and lose nothing.
func (s *apiServer) close() error {
	var err error
	if s.submitter != nil {
		err = s.submitter.Close()
	}
	if s.refitter != nil {
		err = errors.Join(err, s.refitter.Close())
	}
	if s.deadLetters != nil {
		s.deadLetters.Close()
	}
	return err
}
