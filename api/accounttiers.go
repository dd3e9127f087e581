package api

import (
	"context"
	"net/http"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const (
	tiersPath   = "/v1/tiers"
	tierPattern = tiersPath + "/{tier}"
)

// TierOf returns a tier as answers show it.
func TierOf(t accounts.Tier) message.Tier {
	return message.Tier{Name: t.Name, TierLimits: message.TierLimits{
		RequestsPerMinute: t.RequestsPerMinute, RequestsPerDay: t.RequestsPerDay, LinesPerMinute: t.LinesPerMinute,
		MessagesPerHour: t.MessagesPerHour, MessagesPerDay: t.MessagesPerDay, Devices: t.Devices, AlertAt: t.AlertAt,
	}}
}

func (s *server) tierRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("listTiers", http.MethodGet, tiersPath, "accounts",
				"List the tiers",
				"Sorted by name."),
			scope: accounts.ScopeAdmin, says: "A page of tiers.",
		}, s.listTiers),
		operation(s, route{
			Operation: named("getTier", http.MethodGet, tierPattern, "accounts",
				"Get a tier",
				""),
			scope: accounts.ScopeAdmin, says: "The tier.", refuses: []int{http.StatusNotFound},
		}, s.showTier),
		operation(s, route{
			Operation: named("removeTier", http.MethodDelete, tierPattern, "accounts",
				"Remove a tier",
				"Refused while an account has the tier: detail names one. Give it another tier, or none, with changeAccount. "+
					"A tier in the settings of a worker is created again when the worker starts."),
			scope: accounts.ScopeAdmin, says: "Removed.", refuses: []int{http.StatusNotFound},
		}, s.removeTier),
		operation(s, route{
			Operation: named("setTier", http.MethodPut, tierPattern, "accounts",
				"Create or replace a tier",
				"Takes effect for all its accounts within a second in every process. "+
					"Messages already charged stay charged. If they are over a threshold of a lower "+
					"quota, the accounts' contacts are alerted; the thresholds of a higher quota alert again."),
			scope: accounts.ScopeAdmin, says: "The tier after the change.",
		}, s.setTier),
	}
}

func (s *server) listTiers(ctx context.Context, p pageByName) (message.Tiers, error) {
	tiers, next, err := readPage(ctx, s, p, s.Accounts.PageTiers, TierOf)
	return message.Tiers{Tiers: tiers, NextCursor: next}, err
}

func (s *server) showTier(ctx context.Context, in ofTier) (message.Tier, error) {
	tier, ok, err := s.Accounts.GetTier(ctx, in.Tier)
	if err == nil && !ok {
		err = &fault.NoSuchError{What: "tier", Name: in.Tier}
	}
	return TierOf(tier), err
}

func (s *server) removeTier(ctx context.Context, in ofTier) (message.TierRemoval, error) {
	return message.TierRemoval{Outcome: message.TierRemoved, Tier: in.Tier}, s.Accounts.RemoveTier(ctx, in.Tier)
}

type newTier struct {
	ofTier

	Body object[message.TierLimits]
	tier accounts.Tier
}

func (in *newTier) check(context.Context, *server) error {
	limits := in.Body.value
	in.tier = accounts.Tier{
		Name: in.Tier, RequestsPerMinute: limits.RequestsPerMinute, RequestsPerDay: limits.RequestsPerDay, LinesPerMinute: limits.LinesPerMinute,
		MessagesPerHour: limits.MessagesPerHour, MessagesPerDay: limits.MessagesPerDay, Devices: limits.Devices, AlertAt: limits.AlertAt,
	}
	return in.tier.Validate()
}

func (s *server) setTier(ctx context.Context, in newTier) (message.Tier, error) {
	return TierOf(in.tier), s.Charges.SetTier(ctx, s.Accounts, in.tier)
}
