package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const usageDescription = "How many messages of the present hour and day are charged: those that were sent and those still scheduled, " +
	"by their send times. Messages of later hours and days count there. If the tier limits requests per day, also how many of them are made."

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
			Outcome: message.Refused, Code: fault.CodeNotFound, Field: "account",
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
	usage.Requests, err = RequestsOf(ctx, s.counters, name, tier)
	return web.Done(usage), err
}

// RequestsOf returns how many requests of the present day an account has made, nil if its
// tier has no limit for them.
func RequestsOf(ctx context.Context, c *counters.Counters, account string, t accounts.Tier) (*message.RequestsUsage, error) {
	if t.RequestsPerDay == 0 {
		return nil, nil
	}
	var usage message.RequestsUsage
	for _, kind := range []struct {
		event string
		into  *message.RequestUsage
	}{{submitEvent, &usage.Submit}, {readEvent, &usage.Read}, {changeEvent, &usage.Change}} {
		d, err := c.Peek(ctx, counters.Request{Event: kind.event, Key: account, Counters: tierCounters(kind.event, t)})
		if err != nil {
			return nil, err
		}
		for _, u := range d.Counters {
			if strings.HasSuffix(u.Counter.Name, perDay) {
				*kind.into = message.RequestUsage{
					Used: u.Used, Limit: u.Counter.Limit, Remaining: u.Remaining(),
					From: message.Time{Time: u.From}, Until: message.Time{Time: u.Until},
				}
			}
		}
	}
	return &usage, nil
}
