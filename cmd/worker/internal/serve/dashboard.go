package serve

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/dashboard"
	"github.com/sendlimit/sendlimiter/records/audit"
	"github.com/sendlimit/sendlimiter/records/session"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/overview"
)

// withDashboard returns a handler that serves the dashboard, and others at all other addresses.
// The dashboard asks the API of this process.
func (s *apiServer) withDashboard(
	others, api http.Handler, b *backend.Backend, c config.Config, sessions *session.Sessions, logger *slog.Logger,
) (http.Handler, error) {
	reader, err := overview.New(b)
	if err != nil {
		return nil, err
	}
	log, err := audit.New(b.Client, audit.Options{Prefix: c.Prefix})
	if err != nil {
		return nil, err
	}
	pages, err := dashboard.New(dashboard.Options{
		API: api, Sessions: sessions, Overview: reader, Audit: log, Timeline: s.submitter.Timeline, Now: time.Now, Logger: logger,
		Version: cli.Version(), RequireKeys: asksForKeys(c), TrustedProxies: c.TrustedProxies, Stopping: s.stopping,
	})
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if pages.Serves(r.URL.Path) {
			pages.ServeHTTP(w, r)
			return
		}
		others.ServeHTTP(w, r)
	}), nil
}
