package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

const usageDescription = "How many messages of the present hour and day are charged: those that were sent and those still scheduled, " +
	"by their send times. Messages of later hours and days count there."

func (s *server) accountUsageRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "getAccountUsage", Method: http.MethodGet, Path: accountPattern + "/usage", Tags: []string{"accounts"},
			Summary:     "Get how much of its quota an account has used",
			Description: usageDescription,
			Parameters:  []*huma.Param{accountParameter()},
			Responses:   responses[message.AccountUsage](s, "What is used.", http.StatusNotFound),
		},
		scope: accounts.ScopeAdmin, do: s.showAccountUsage,
	}
}

func (s *server) showAccountUsage(r *http.Request, _ web.Query) (web.Answer, error) {
	return s.usageOf(r.Context(), r.PathValue("account"))
}

func (s *server) ownUsageRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "getOwnUsage", Method: http.MethodGet, Path: "/v1/usage", Tags: []string{"accounts"},
			Summary:     "Get how much of its quota the key's account has used",
			Description: usageDescription + " Without a key there is no account, and the answer is 404.",
			Responses:   responses[message.AccountUsage](s, "What is used.", http.StatusNotFound),
		},
		scope: accounts.ScopeRead, do: s.showOwnUsage,
	}
}

func (s *server) showOwnUsage(r *http.Request, _ web.Query) (web.Answer, error) {
	account := callerOf(r.Context()).account()
	if account == "" {
		return web.Answer{}, &web.Error{Status: http.StatusNotFound, Outcome: message.Outcome{
			Outcome: message.Errored, Code: fault.CodeNotFound,
			Detail: "the request has no API key, so it has no account: ask for /v1/accounts/{account}/usage",
		}}
	}
	return s.usageOf(r.Context(), account)
}

func (s *server) usageOf(ctx context.Context, name string) (web.Answer, error) {
	account, tier, ok, err := s.accounts.Resolve(ctx, name)
	if err != nil {
		return web.Answer{}, err
	}
	if !ok {
		return web.Answer{}, fault.NoSuchAccount(name)
	}
	usage, err := s.submitter.AccountUsage(ctx, account, tier)
	if err != nil {
		return web.Answer{}, err
	}
	return web.Done(usage), nil
}
