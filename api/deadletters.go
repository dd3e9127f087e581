package api

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
)

const deadLetterPattern = "/v1/users/{user}/dead-letters/{id}"

func (s *server) deadLetterRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("listDeadLetters", http.MethodGet, "/v1/dead-letters", "dead letters",
				"List dead letters",
				"Without their content, oldest first. A page that a filter makes short has `next_cursor` while there may be more. "+operatorsMetadata),
			scope: accounts.ScopeAdmin, says: "A page of dead letters.",
		}, s.listDeadLetters),
		operation(s, route{
			Operation: named("getDeadLetter", http.MethodGet, deadLetterPattern, "dead letters",
				"Get a dead letter",
				operatorsContent),
			scope: accounts.ScopeAdmin, says: "The dead letter.", refuses: []int{http.StatusNotFound},
		}, s.showDeadLetter),
		operation(s, route{
			Operation: named("purgeDeadLetter", http.MethodDelete, deadLetterPattern, "dead letters",
				"Remove a dead letter",
				"Removes its content, its record and its id."),
			scope: accounts.ScopeAdmin, says: "Purged.", refuses: []int{http.StatusNotFound},
		}, s.purgeDeadLetter),
		operation(s, route{
			Operation: named("retryDeadLetter", http.MethodPost, deadLetterPattern+"/retry", "dead letters",
				"Send a dead letter again",
				"Schedules it at its user's next free time, with all its attempts. If that is not possible, it stays a dead letter."),
			scope: accounts.ScopeAdmin, says: "Scheduled again, at send_at.", refuses: []int{http.StatusNotFound, http.StatusConflict},
		}, s.retryDeadLetter),
		operation(s, route{
			Operation: named("retryDeadLetters", http.MethodPost, "/v1/dead-letters/retry", "dead letters",
				"Send dead letters again, oldest first",
				"Each is scheduled as by retryDeadLetter. A refused one stays a dead letter, and its outcome "+
					"has the reason. While the answer has `next_cursor`, send the request again with it: no message that fails again meanwhile is retried twice."),
			scope: accounts.ScopeAdmin, says: "The outcome of each.",
		}, s.retryDeadLetters),
		operation(s, route{
			Operation: named("purgeDeadLetters", http.MethodDelete, "/v1/dead-letters", "dead letters",
				"Remove old dead letters",
				"Removes their content, their records and their ids, oldest first. "+purgesAgain),
			scope: accounts.ScopeAdmin, says: "Removed.",
		}, s.purgeOlder(s.DeadLetters.PurgeBefore)),
	}
}

// afterLetters returns the cursor of the page that begins after a dead letter, "" if there is none.
func (s *server) afterLetters(ctx context.Context, last message.Status, before time.Time) string {
	if last.User == "" {
		return ""
	}
	next := web.Cursor{Milliseconds: last.EndedAt.UnixMilli(), ID: last.ID, User: last.User}
	if !before.IsZero() {
		next.Before = before.UnixMilli()
	}
	return s.sealed(ctx, next.String())
}

// ofDeadLetters selects dead letters of a list.
type ofDeadLetters struct {
	User     string          `query:"user" doc:"Only dead letters to this user."`
	Reason   string          `query:"reason" doc:"Only those given up for this reason."`
	Account  string          `query:"account" doc:"Only those of this account."`
	Campaign string          `query:"campaign" doc:"Only those of this campaign."`
	Cursor   web.UsersCursor `query:"cursor"`
}

func (in *ofDeadLetters) request(limit int) (request deadletters.ListRequest, err error) {
	switch {
	case in.Reason != "" && (strings.TrimSpace(in.Reason) == "" || len(in.Reason) > channels.MaxSendingReason || strings.ContainsFunc(in.Reason, unicode.IsControl)):
		return request, &fault.InvalidError{Field: "reason", Value: in.Reason, Want: "a reason such as unavailable"}
	case in.Account != "" && !accounts.ValidName(in.Account):
		return request, &fault.InvalidError{Field: "account", Value: in.Account, Want: keyspace.WantName}
	}
	if err := keyspace.CheckCampaign(in.Campaign); err != nil {
		return request, err
	}
	request = deadletters.ListRequest{User: in.User, Reason: in.Reason, Account: in.Account, Campaign: in.Campaign, Limit: limit}
	if after := in.Cursor; after != (web.UsersCursor{}) {
		request.After = message.Status{ID: after.ID, User: after.User, EndedAt: message.Time{Time: after.Time()}}
	}
	return request, nil
}

type deadLetterPage struct {
	ofDeadLetters

	Limit int `query:"limit" usual:"100" most:"1000" doc:"Dead letters a page."`
}

func (s *server) listDeadLetters(ctx context.Context, in deadLetterPage) (page message.DeadLetters, err error) {
	request, err := in.request(in.Limit)
	if err != nil {
		return page, err
	}
	letters, next, err := s.DeadLetters.List(ctx, request)
	page.DeadLetters, page.NextCursor = letters, s.afterLetters(ctx, next, request.Before)
	for i, letter := range page.DeadLetters {
		page.DeadLetters[i] = s.shown(ctx, letter)
	}
	return page, err
}

type ofDeadLetter struct {
	ofMessage

	Content bool `query:"content" doc:"Includes the content: title, body, data and push options. For another account's message this requires the scope content."`
}

func (s *server) showDeadLetter(ctx context.Context, in ofDeadLetter) (message.Status, error) {
	letter, known, err := s.DeadLetters.Get(ctx, in.User, in.ID)
	switch {
	case err != nil:
		return letter, err
	case !known:
		return letter, &refusal{deadletters.NoDeadLetter(in.User, in.ID)}
	case !in.Content:
		letter.Content = message.Content{}
	case !callerOf(ctx).sees(letter.Account):
		return letter, forbidden(accounts.ScopeContent)
	}
	return s.shown(ctx, letter), nil
}

func (s *server) purgeDeadLetter(ctx context.Context, in ofMessage) (message.Outcome, error) {
	return s.DeadLetters.Purge(ctx, in.User, in.ID)
}

func (s *server) retryDeadLetter(ctx context.Context, in ofMessage) (message.Outcome, error) {
	return s.DeadLetters.Retry(ctx, in.User, in.ID)
}

type deadLetterRetries struct {
	ofDeadLetters

	Limit int `query:"limit" usual:"100" most:"1000" doc:"Dead letters a request."`
}

func (s *server) retryDeadLetters(ctx context.Context, in deadLetterRetries) (done message.DeadRetry, err error) {
	request, err := in.request(in.Limit)
	if err != nil {
		return done, err
	}
	if request.Before = time.UnixMilli(in.Cursor.Before); in.Cursor.Before == 0 {
		if request.Before, err = s.DeadLetters.Now(ctx); err != nil {
			return done, err
		}
	}
	letters, next, err := s.DeadLetters.List(ctx, request)
	if err != nil {
		return done, err
	}
	done = message.DeadRetry{Outcomes: make([]message.Outcome, 0, len(letters))}
	for _, letter := range letters {
		o, err := s.DeadLetters.Retry(ctx, letter.User, letter.ID)
		if err != nil {
			return done, err
		}
		if o.Code != fault.CodeNotFound { // else somebody else was quicker
			done.Outcomes = append(done.Outcomes, o)
		}
	}
	done.NextCursor = s.afterLetters(ctx, next, request.Before)
	return done, nil
}
