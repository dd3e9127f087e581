package serve

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/dashboard"
)

// withDashboard returns a handler that serves the dashboard at its addresses, and others elsewhere.
// The dashboard uses the API of this process.
func (s *apiServer) withDashboard(others, served http.Handler, parts api.Parts, c config.Config, logger *slog.Logger) (http.Handler, error) {
	pages, err := dashboard.New(dashboard.Options{
		API: served, Sessions: parts.Sessions, Overview: parts.Overview, Timeline: s.submitter.Timeline, Now: time.Now, Logger: logger,
		Version: cli.Version(), RequireKeys: asksForKeys(c), TrustedProxies: c.TrustedProxies, BasePath: c.BasePath, Stopping: s.stopping,
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
