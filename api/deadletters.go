package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
)

const deadLetterPattern = "/v1/users/{user}/dead-letters/{id}"

func (s *server) listDeadLettersRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "listDeadLetters", Method: http.MethodGet, Path: "/v1/dead-letters", Tags: []string{"dead letters"},
			Summary:     "List dead letters",
			Description: "Without their content, the oldest first. " + operatorsMetadata,
			Parameters: []*huma.Param{
				{
					Name: "user", In: "query", Description: "Only those to this user.",
					Schema: parameterSchema("user"),
				},
				countParameter("limit", "Dead letters a page.", usualPage, messages.MaxDeadLetters), cursorParameter(),
			},
			Responses: responses[message.DeadLetters](s, "A page of them."),
		},
		scope: accounts.ScopeAdmin, do: s.listDeadLetters,
	}
}

func (s *server) listDeadLetters(r *http.Request, q web.Query) (web.Answer, error) {
	request, err := letterPage(q, usualPage)
	if err != nil {
		return web.Answer{}, err
	}
	letters, err := s.deadLetters.List(r.Context(), request)
	if err != nil {
		return web.Answer{}, err
	}
	page := message.DeadLetters{DeadLetters: letters, NextCursor: s.afterLetters(r.Context(), letters, request.Limit)}
	for i, letter := range letters {
		letters[i] = s.shown(r.Context(), letter)
	}
	return web.Done(page), nil
}

// letterPage returns which dead letters a request is for.
func letterPage(q web.Query, usual int) (request deadletters.ListRequest, err error) {
	user, given := q["user"]
	if given && !keyspace.ValidUser(user) { // an empty one would be everybody
		return request, &fault.InvalidError{Field: "user", Value: user, Want: "1 to 256 bytes of UTF-8 without control characters"}
	}
	request.User = user
	if request.Limit, err = q.Count("limit", usual, messages.MaxDeadLetters); err != nil {
		return request, err
	}
	after, err := q.Cursor(true)
	if after != (web.Cursor{}) {
		request.After = message.Status{ID: after.ID, User: after.User, EndedAt: message.Time{Time: after.Time()}}
	}
	return request, err
}

// afterLetters returns the cursor of the page after these, "" if there is none.
func (s *server) afterLetters(ctx context.Context, letters []message.Status, limit int) string {
	if len(letters) < limit {
		return ""
	}
	last := letters[limit-1]
	return s.sealed(ctx, web.Cursor{Milliseconds: last.EndedAt.UnixMilli(), ID: last.ID, User: last.User}.String())
}

func (s *server) showDeadLetterRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "getDeadLetter", Method: http.MethodGet, Path: deadLetterPattern, Tags: []string{"dead letters"},
			Summary:     "Get a dead letter",
			Description: operatorsContent,
			Parameters: []*huma.Param{
				userParameter(), idParameter(),
				{
					Name: "content", In: "query", Description: "Shows the content too: title, body, data, and what it says for devices. That of another account's message needs the scope content.",
					Schema: &huma.Schema{Type: huma.TypeBoolean, Default: false},
				},
			},
			Responses: responses[message.Status](s, "The dead letter.", http.StatusNotFound),
		},
		scope: accounts.ScopeAdmin, do: s.showDeadLetter,
	}
}

func (s *server) showDeadLetter(r *http.Request, q web.Query) (web.Answer, error) {
	content, err := q.Flag("content")
	if err != nil {
		return web.Answer{}, err
	}
	user, id := r.PathValue("user"), r.PathValue("id")
	letter, known, err := s.deadLetters.Get(r.Context(), user, id)
	if err != nil {
		return web.Answer{}, err
	}
	if !known {
		return web.Answer{}, &refusal{deadletters.NoDeadLetter(user, id)}
	}
	switch {
	case !content:
		letter.Content = message.Content{}
	case !callerOf(r.Context()).sees(letter.Account):
		return web.Answer{}, forbidden(accounts.ScopeContent)
	}
	return web.Done(s.shown(r.Context(), letter)), nil
}

func (s *server) purgeDeadLetterRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "purgeDeadLetter", Method: http.MethodDelete, Path: deadLetterPattern, Tags: []string{"dead letters"},
			Summary:     "Remove a dead letter",
			Description: "Removes its content, its record and its id.",
			Parameters:  []*huma.Param{userParameter(), idParameter()},
			Responses:   responses[message.Outcome](s, "Purged.", http.StatusNotFound),
		},
		scope: accounts.ScopeAdmin, do: s.purgeDeadLetter,
	}
}

func (s *server) purgeDeadLetter(r *http.Request, _ web.Query) (web.Answer, error) {
	return doneUnlessRefused(s.deadLetters.Purge(r.Context(), r.PathValue("user"), r.PathValue("id")))
}

func (s *server) retryDeadLetterRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "retryDeadLetter", Method: http.MethodPost, Path: deadLetterPattern + "/retry", Tags: []string{"dead letters"},
			Summary:     "Send a dead letter again",
			Description: "Schedules it at the next free time of its user, with all its attempts. If that is not possible, it stays a dead letter.",
			Parameters:  []*huma.Param{userParameter(), idParameter()},
			Responses:   responses[message.Outcome](s, "Retried: it is sent at send_at.", http.StatusNotFound, http.StatusConflict),
		},
		scope: accounts.ScopeAdmin, do: s.retryDeadLetter,
	}
}

func (s *server) retryDeadLetter(r *http.Request, _ web.Query) (web.Answer, error) {
	return doneUnlessRefused(s.deadLetters.Retry(r.Context(), r.PathValue("user"), r.PathValue("id")))
}

// usualRetries is how many dead letters one request sends again.
const usualRetries = 100

func (s *server) retryDeadLettersRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "retryDeadLetters", Method: http.MethodPost, Path: "/v1/dead-letters/retry", Tags: []string{"dead letters"},
			Summary: "Send dead letters again, the oldest first",
			Description: "Each is scheduled at the next free time of its user, as by retryDeadLetter. One that is refused stays a dead letter, and its outcome " +
				"says why. While the answer has `next_cursor`, send the request again with it, and with its `ended_before`: so none that fails again meanwhile is retried twice.",
			Parameters: []*huma.Param{
				{
					Name: "user", In: "query", Description: "Only those to this user.",
					Schema: parameterSchema("user"),
				},
				timeParameter("ended_before", "Only those that ended before. By default now, by the store's clock."),
				countParameter("limit", "Dead letters a request.", usualRetries, messages.MaxDeadLetters), cursorParameter(),
			},
			Responses: responses[message.DeadRetry](s, "What became of each."),
		},
		scope: accounts.ScopeAdmin, do: s.retryDeadLetters,
	}
}

func (s *server) retryDeadLetters(r *http.Request, q web.Query) (web.Answer, error) {
	ctx := r.Context()
	request, err := letterPage(q, usualRetries)
	if err != nil {
		return web.Answer{}, err
	}
	now, err := s.deadLetters.Now(ctx)
	if err != nil {
		return web.Answer{}, err
	}
	if request.Before, err = q.Time("ended_before", now); err != nil {
		return web.Answer{}, err
	}
	if request.Before.IsZero() {
		request.Before = now
	}
	letters, err := s.deadLetters.List(ctx, request)
	if err != nil {
		return web.Answer{}, err
	}
	done := message.DeadRetry{Outcomes: make([]message.Outcome, 0, len(letters)), EndedBefore: message.Time{Time: request.Before}}
	for _, letter := range letters {
		o, err := s.deadLetters.Retry(ctx, letter.User, letter.ID)
		if err != nil {
			return web.Answer{}, err
		}
		if o.Code != fault.CodeNotFound { // else somebody else was quicker
			done.Outcomes = append(done.Outcomes, o)
		}
	}
	done.NextCursor = s.afterLetters(ctx, letters, request.Limit)
	return web.Done(done), nil
}

func (s *server) purgeDeadLettersRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "purgeDeadLetters", Method: http.MethodDelete, Path: "/v1/dead-letters", Tags: []string{"dead letters"},
			Summary:     "Remove old dead letters",
			Description: "Removes their content, their records and their ids, the oldest first. " + purgesAgain,
			Parameters:  purgeParameters(messages.MaxDeadLetters),
			Responses:   responses[message.DeadPurge](s, "Removed."),
		},
		scope: accounts.ScopeAdmin, do: s.purgeDeadLetters,
	}
}

func (s *server) purgeDeadLetters(r *http.Request, q web.Query) (web.Answer, error) {
	return s.purgeOlder(r, q, messages.MaxDeadLetters, s.deadLetters.PurgeBefore)
}

// purgesAgain documents the answer to a request that removes by age.
const purgesAgain = "Send the request again while the answer has `more`."

// olderThan is the parameter that says how old what is removed is.
const olderThan = "older_than"

// purgeParameters are those of a request that removes by age. The age is required: without
// one, a mistake would remove everything.
func purgeParameters(most int) []*huma.Param {
	return []*huma.Param{
		{
			Name: olderThan, In: "query", Required: true, Example: "7d",
			Description: "Removes what ended longer ago than this, such as 7d or 36h by the store's clock. 0s removes all.",
			Schema:      parameterSchema(olderThan),
		},
		countParameter("limit", "How many are removed at most.", most, most),
	}
}

// purgeOlder answers a request that removes by age.
func (s *server) purgeOlder(
	r *http.Request, q web.Query, most int, purge func(ctx context.Context, before time.Time, limit int) (int, bool, error),
) (web.Answer, error) {
	age, err := calendar.ParseDuration(q[olderThan])
	if err != nil || age < 0 {
		return web.Answer{}, &fault.InvalidError{
			Field: olderThan, Value: q[olderThan], Want: "a length of time such as 90m, 36h or 7d, or 0s for all",
		}
	}
	limit, err := q.Count("limit", most, most)
	if err != nil {
		return web.Answer{}, err
	}
	now, err := s.deadLetters.Now(r.Context())
	if err != nil {
		return web.Answer{}, err
	}
	purged, more, err := purge(r.Context(), now.Add(-age), limit)
	return done(message.DeadPurge{Purged: purged, More: more}, err)
}
