package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const usageDescription = "How many messages of the present hour and day are charged: those that were sent and those still scheduled, " +
	"by their send times. Messages of later hours and days count there. If the tier limits requests per day, also the number of requests."

func (s *server) accountUsageRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("getOwnUsage", http.MethodGet, "/v1/usage", "accounts",
				"Get the usage of the key's account",
				usageDescription+" Without a key there is no account, and the answer is 404."),
			scope: accounts.ScopeRead, says: "The usage.", refuses: []int{http.StatusNotFound},
		}, s.showOwnUsage),
	}
}

func (s *server) showOwnUsage(ctx context.Context, _ nothing) (message.AccountUsage, error) {
	account := callerOf(ctx).account()
	if account == "" {
		return message.AccountUsage{}, &refusal{message.Outcome{
			Outcome: message.Refused, Code: fault.CodeNotFound, Field: "account",
			Detail: "the request has no API key, so it has no account: ask for /v1/accounts/{account}",
		}}
	}
	charged, tier, err := s.resolve(ctx, account)
	if err != nil {
		return message.AccountUsage{}, err
	}
	return s.usageOf(ctx, charged, tier)
}

func (s *server) usageOf(ctx context.Context, account accounts.Account, tier accounts.Tier) (usage message.AccountUsage, err error) {
	if usage, err = s.Submitter.AccountUsage(ctx, account, tier); err != nil {
		return usage, err
	}
	usage.Requests, err = requestsOf(ctx, s.counters, account.Name, tier)
	return usage, err
}

// requestsOf returns how many requests an account has made today, nil if its tier does not limit
// them.
func requestsOf(ctx context.Context, c *counters.Counters, account string, t accounts.Tier) (*message.RequestsUsage, error) {
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
