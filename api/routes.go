package api

import (
	"fmt"
	"net/http"

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
	if s.metrics != nil {
		routes = append(routes, s.metricsRoute())
	}
	for path, probe := range s.probes {
		routes = append(routes, route{
			Operation: huma.Operation{Method: http.MethodGet, Path: path}, handle: probe.ServeHTTP, monitors: true,
		})
	}
	var all web.Router
	for _, r := range append(routes, pages...) {
		if r.do != nil {
			r.handle = s.answered(r)
		}
		if r.scope != "" {
			r.handle = s.authorized(r)
		}
		all.Handle(r.Method, r.Path, s.bounded(r))
	}
	return all, nil
}

// routes returns all operations in the order of the documentation.
func (s *server) routes() []route {
	return []route{
		s.submitRoute(),
		s.dryRunRoute(),
		s.batchRoute(),
		s.checkBatchRoute(),
		s.recordSentRoute(),
		s.findRoute(),
		s.findAllRoute(),
		s.statusRoute(),
		s.moveRoute(),
		s.cancelRoute(),
		s.listRoute(),
		s.usageRoute(),
		s.nextFreeRoute(),
		s.countCampaignRoute(),
		s.pauseCampaignRoute(),
		s.resumeCampaignRoute(),
		s.cancelCampaignRoute(),
		s.moveCampaignRoute(),
		s.listDeadLettersRoute(),
		s.showDeadLetterRoute(),
		s.purgeDeadLetterRoute(),
		s.retryDeadLetterRoute(),
		s.retryDeadLettersRoute(),
		s.purgeDeadLettersRoute(),
		s.listDeadAlertsRoute(),
		s.showDeadAlertRoute(),
		s.retryDeadAlertRoute(),
		s.purgeDeadAlertRoute(),
		s.purgeDeadAlertsRoute(),
		s.listAccountsRoute(),
		s.createAccountRoute(),
		s.showAccountRoute(),
		s.changeAccountRoute(),
		s.accountUsageRoute(),
		s.ownUsageRoute(),
		s.addKeyRoute(),
		s.rotateKeyRoute(),
		s.removeKeyRoute(),
		s.listSessionsRoute(),
		s.endSessionRoute(),
		s.listTiersRoute(),
		s.showTierRoute(),
		s.setTierRoute(),
		s.removeTierRoute(),
		s.listPoliciesRoute(),
		s.showPolicyRoute(),
		s.applyPolicyRoute(),
		s.deletePolicyRoute(),
		s.policyVersionsRoute(),
		s.rollbackPolicyRoute(),
		s.previewPolicyRoute(),
		s.refitPolicyRoute(),
		s.listUsersRoute(),
		s.showSettingsRoute(),
		s.putSettingsRoute(),
		s.changeSettingsRoute(),
		s.clearSettingsRoute(),
		s.listDevicesRoute(),
		s.addDeviceRoute(),
		s.removeDeviceRoute(),
		s.exportUserRoute(),
		s.eraseUserRoute(),
		s.listEventLimitsRoute(),
		s.showEventLimitsRoute(),
		s.setEventLimitsRoute(),
		s.removeEventLimitsRoute(),
		s.showPaceRoute(),
		s.setPaceRoute(),
		s.clearPaceRoute(),
		s.listChannelsRoute(),
		s.resumeChannelRoute(),
		s.followEventsRoute(),
		s.showCallbackRoute(),
		s.setCallbackRoute(),
		s.removeCallbackRoute(),
		s.rotateCallbackRoute(),
		s.listDeadEventsRoute(),
		s.retryDeadEventsRoute(),
		s.purgeDeadEventsRoute(),
		s.statsRoute(),
		s.listAuditRoute(),
	}
}

// scoped returns an error if a route has no scope, and so would be open to everybody.
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
		scope:     accounts.ScopeAdmin, handle: s.metrics.ServeHTTP, monitors: true,
	}
}
