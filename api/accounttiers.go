package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const (
	tiersPath   = "/v1/tiers"
	tierPattern = tiersPath + "/{tier}"
)

// TierOf returns a tier in the form of answers.
func TierOf(t accounts.Tier) message.Tier {
	return message.Tier{Name: t.Name, TierLimits: message.TierLimits{
		RequestsPerMinute: t.RequestsPerMinute, RequestsPerDay: t.RequestsPerDay, LinesPerMinute: t.LinesPerMinute,
		MessagesPerHour: t.MessagesPerHour, MessagesPerDay: t.MessagesPerDay, Devices: t.Devices, AlertAt: t.AlertAt,
	}}
}

func (s *server) listTiersRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "listTiers", Method: http.MethodGet, Path: tiersPath, Tags: []string{"accounts"},
			Summary:     "List the tiers",
			Description: "By name.",
			Parameters:  pageParameters("Tiers a page."),
			Responses:   responses[message.Tiers](s, "A page of them."),
		},
		scope: accounts.ScopeAdmin, do: s.listTiers,
	}
}

func (s *server) listTiers(r *http.Request, q web.Query) (web.Answer, error) {
	tiers, next, err := pageByName(s, r, q, s.accounts.PageTiers, TierOf)
	return web.Done(message.Tiers{Tiers: tiers, NextCursor: next}), err
}

func (s *server) showTierRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "getTier", Method: http.MethodGet, Path: tierPattern, Tags: []string{"accounts"},
			Summary:    "Get a tier",
			Parameters: []*huma.Param{tierParameter()},
			Responses:  responses[message.Tier](s, "The tier.", http.StatusNotFound),
		},
		scope: accounts.ScopeAdmin, do: s.showTier,
	}
}

func (s *server) showTier(r *http.Request, _ web.Query) (web.Answer, error) {
	name := r.PathValue("tier")
	tier, ok, err := s.accounts.GetTier(r.Context(), name)
	if err != nil {
		return web.Answer{}, err
	}
	if !ok {
		return web.Answer{}, &fault.NoSuchError{What: "tier", Name: name}
	}
	return web.Done(TierOf(tier)), nil
}

func (s *server) removeTierRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "removeTier", Method: http.MethodDelete, Path: tierPattern, Tags: []string{"accounts"},
			Summary: "Remove a tier",
			Description: "Refused while an account has the tier: detail names one, and changeAccount gives it another tier or none. " +
				"A tier that is in the settings of a worker comes back when that starts.",
			Parameters: []*huma.Param{tierParameter()},
			Responses:  responses[message.TierRemoval](s, "Removed.", http.StatusNotFound),
		},
		scope: accounts.ScopeAdmin, do: s.removeTier,
	}
}

func (s *server) removeTier(r *http.Request, _ web.Query) (web.Answer, error) {
	name := r.PathValue("tier")
	if err := s.accounts.RemoveTier(r.Context(), name); err != nil {
		return web.Answer{}, err
	}
	return web.Done(message.TierRemoval{Outcome: message.TierRemoved, Tier: name}), nil
}

func (s *server) setTierRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "setTier", Method: http.MethodPut, Path: tierPattern, Tags: []string{"accounts"},
			Summary: "Create or replace a tier",
			Description: "Takes effect for all its accounts within a second in every process. " +
				"Messages that are already charged stay charged. If they are past a threshold of a lower " +
				"quota, the accounts' contacts are alerted; the thresholds of a higher quota alert anew.",
			Parameters:  []*huma.Param{tierParameter()},
			RequestBody: jsonBody[message.TierLimits](s),
			Responses:   responses[message.Tier](s, "As it is now.", bodyProblems()...),
		},
		scope: accounts.ScopeAdmin, do: s.setTier,
	}
}

func (s *server) setTier(r *http.Request, _ web.Query) (web.Answer, error) {
	var tier accounts.Tier
	_, err := web.ReadBody(s.bodies(), r, func(limits message.TierLimits) error {
		tier = accounts.Tier{
			Name: r.PathValue("tier"), RequestsPerMinute: limits.RequestsPerMinute, RequestsPerDay: limits.RequestsPerDay, LinesPerMinute: limits.LinesPerMinute,
			MessagesPerHour: limits.MessagesPerHour, MessagesPerDay: limits.MessagesPerDay, Devices: limits.Devices, AlertAt: limits.AlertAt,
		}
		return tier.Validate()
	})
	if err != nil {
		return web.Answer{}, err
	}
	if err := s.charges.SetTier(r.Context(), s.accounts, tier); err != nil {
		return web.Answer{}, err
	}
	return web.Done(TierOf(tier)), nil
}
