package api

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/records/accounts"
)

// router finds the route that answers a request. The error is about a route without a
// scope.
func (s *server) router(version string) (web.Router, error) {
	routes := s.routes()
	if err := scoped(routes); err != nil {
		return nil, err
	}
	pages := s.pages(version, routes)
	if s.Metrics != nil {
		routes = append(routes, s.metricsRoute())
	}
	for path, probe := range s.Probes {
		routes = append(routes, route{
			Operation: huma.Operation{Method: http.MethodGet, Path: path}, handle: probe.ServeHTTP, monitors: true,
		})
	}
	var all web.Router
	for _, r := range append(routes, pages...) {
		if r.scope != "" {
			r.handle = s.authorized(r)
		}
		all.Handle(r.Method, r.Path, s.bounded(r))
	}
	return all, nil
}

// routes returns all operations in the order of the documentation.
func (s *server) routes() []route {
	return slices.Concat(
		s.submitRoutes(), s.batchRoutes(), s.batchCheckRoutes(), s.recordSentRoutes(), s.findRoutes(), s.messageRoutes(), s.putRoutes(), s.userRoutes(),
		s.campaignRoutes(), s.deadLetterRoutes(), s.deadAlertRoutes(), s.accountRoutes(), s.accountUsageRoutes(), s.accountKeyRoutes(),
		s.sessionRoutes(), s.tierRoutes(), s.policyRoutes(), s.policyVersionRoutes(), s.refitRoutes(), s.userSettingsRoutes(),
		s.settingsRoutes(), s.deviceRoutes(), s.userDataRoutes(), s.eventLimitRoutes(), s.paceRoutes(), s.sendingRoutes(), s.channelRoutes(), s.eventsRoutes(),
		s.callbackRoutes(), s.deadEventRoutes(), s.statsRoutes(), s.overviewRoutes(), s.auditRoutes(),
	)
}

// scoped returns an error if a route has no scope, which would open it to everybody.
func scoped(routes []route) error {
	for _, r := range routes {
		if _, err := accounts.ParseScopes(string(r.scope)); err != nil {
			return fmt.Errorf("%s %s has no scope, and nobody would be kept out: %w", r.Method, r.Path, err)
		}
	}
	return nil
}

// metricsRoute serves Options.Metrics. It is not in the document, since it has no JSON.
func (s *server) metricsRoute() route {
	return route{
		Operation: huma.Operation{Method: http.MethodGet, Path: "/metrics"},
		scope:     accounts.ScopeAdmin, handle: s.Metrics.ServeHTTP, monitors: true,
	}
}
