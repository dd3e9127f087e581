package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const (
	tiersPath   = "/v1/tiers"
	tierPattern = tiersPath + "/{tier}"
)

// Tier is what its accounts may send, as callers see it.
type Tier struct {
	Name string `json:"name" doc:"1 to 64 of a-z 0-9 _ -"`
	TierLimits
}

// TierLimits are what a tier limits; 0 is no limit.
type TierLimits struct {
	RequestsPerMinute int64 `json:"requests_per_minute" required:"false" doc:"Requests that submit, in each natural minute; 0 is no limit."`
	MessagesPerHour   int64 `json:"messages_per_hour" required:"false" doc:"Messages to be sent in each natural hour of the account's time zone; 0 is no limit."`
	MessagesPerDay    int64 `json:"messages_per_day" required:"false" doc:"Messages to be sent in each natural day of the account's time zone; 0 is no limit."`
	AlertAt           []int `json:"alert_at,omitzero" doc:"Percents of messages_per_day at which the account's contact is told; absent is 80 and 100, empty is never."`
}

// Tiers are all of them.
type Tiers struct {
	Tiers []Tier `json:"tiers" doc:"By name."`
}

// TierOf is a tier as callers see it.
func TierOf(t accounts.Tier) Tier {
	return Tier{Name: t.Name, TierLimits: TierLimits{
		RequestsPerMinute: t.RequestsPerMinute,
		MessagesPerHour:   t.MessagesPerHour, MessagesPerDay: t.MessagesPerDay, AlertAt: t.AlertAt,
	}}
}

func (s *server) listTiersRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "listTiers", Method: http.MethodGet, Path: tiersPath, Tags: []string{"accounts"},
			Summary:   "List the tiers",
			Responses: responses[Tiers](s, "All of them."),
		},
		scope: accounts.ScopeAdmin, do: s.listTiers,
	}
}

func (s *server) listTiers(r *http.Request, _ query) (answer, error) {
	all, err := s.accounts.ListTiers(r.Context())
	if err != nil {
		return answer{}, err
	}
	list := Tiers{Tiers: make([]Tier, len(all))}
	for i, tier := range all {
		list.Tiers[i] = TierOf(tier)
	}
	return done(list), nil
}

func (s *server) showTierRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "getTier", Method: http.MethodGet, Path: tierPattern, Tags: []string{"accounts"},
			Summary:    "Look at a tier",
			Parameters: []*huma.Param{tierParameter()},
			Responses:  responses[Tier](s, "The tier.", http.StatusNotFound),
		},
		scope: accounts.ScopeAdmin, do: s.showTier,
	}
}

func (s *server) showTier(r *http.Request, _ query) (answer, error) {
	name := r.PathValue("tier")
	tier, ok, err := s.accounts.GetTier(r.Context(), name)
	if err != nil {
		return answer{}, err
	}
	if !ok {
		return answer{}, &fault.NoSuchError{What: "tier", Name: name}
	}
	return done(TierOf(tier)), nil
}

func (s *server) setTierRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "setTier", Method: http.MethodPut, Path: tierPattern, Tags: []string{"accounts"},
			Summary: "Make a tier, or replace it",
			Description: "Holds for all its accounts from their next requests on, in every process within a second. " +
				"What is charged stays charged.",
			Parameters:  []*huma.Param{tierParameter()},
			RequestBody: jsonBody[TierLimits](s),
			Responses:   responses[Tier](s, "As it is now.", bodyProblems()...),
		},
		scope: accounts.ScopeAdmin, do: s.setTier,
	}
}

func (s *server) setTier(r *http.Request, _ query) (answer, error) {
	limits, err := readBody[TierLimits](s, r)
	if err != nil {
		return answer{}, err
	}
	tier := accounts.Tier{
		Name: r.PathValue("tier"), RequestsPerMinute: limits.RequestsPerMinute,
		MessagesPerHour: limits.MessagesPerHour, MessagesPerDay: limits.MessagesPerDay, AlertAt: limits.AlertAt,
	}
	if err := s.accounts.SetTier(r.Context(), tier); err != nil {
		return answer{}, err
	}
	return done(TierOf(tier)), nil
}
