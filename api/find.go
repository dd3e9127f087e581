package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// The default and the largest number of messages of a page that shows their contents.
const (
	usualContents   = 10
	largestContents = 100
)

// ofWhom documents whose messages are found.
const ofWhom = "A key without the scope admin finds only the messages of its account. "

// ofWhatIndex documents what the index has.
const ofWhatIndex = "Two pages are read at a time, one of an account; others wait for at most 5 seconds. With the setting index: false the answer is index_off. Messages that were accepted while it was false are not found."

func (s *server) findRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "findMessage", Method: http.MethodGet, Path: "/v1/messages/{id}", Tags: []string{"messages"},
			Summary: "Find messages by their id, whoever the users are",
			Description: "Ids are unique for each user: if several users have the id, all are listed, in no particular order. " + ofWhom +
				operatorsContent + " " + ofWhatIndex,
			Parameters: []*huma.Param{
				idParameter(), countParameter("limit", "Messages a page.", usualContents, largestContents), cursorParameter(),
			},
			Responses: responses[message.Found](s, "What became of them.", http.StatusNotFound, http.StatusConflict),
		},
		scope: accounts.ScopeRead, do: s.find,
	}
}

func (s *server) find(r *http.Request, q web.Query) (web.Answer, error) {
	id := r.PathValue("id")
	statuses, next, err := s.findPage(r, q, find.Filter{ID: id}, usualContents, largestContents)
	if err != nil {
		return web.Answer{}, err
	}
	page := message.Found{Messages: []message.Status{}, NextCursor: next}
	for _, found := range statuses {
		status, known, err := s.look(r.Context(), found.User, found.ID)
		if err != nil {
			return web.Answer{}, err
		}
		if known { // it may be gone, or another account's, by now
			page.Messages = append(page.Messages, s.shown(r.Context(), status))
		}
	}
	if _, goesOn := q["cursor"]; len(page.Messages) == 0 && next == "" && !goesOn {
		return web.Answer{}, &refusal{message.NotFound(id)}
	}
	return web.Done(page), nil
}

func (s *server) findAllRoute() route {
	text := func(name, description string, schema *huma.Schema) *huma.Param {
		return &huma.Param{Name: name, In: "query", Description: description, Schema: schema}
	}
	words := make([]any, len(messages.Statuses()))
	for i, word := range messages.Statuses() {
		words[i] = word
	}
	return route{
		Operation: huma.Operation{
			OperationID: "findMessages", Method: http.MethodGet, Path: "/v1/messages", Tags: []string{"messages"},
			Summary: "List messages of all users",
			Description: "Those to which all the given parameters apply, in no particular order. " + ofWhom +
				"Pages stay right while messages are submitted, moved, sent and cancelled: a message that is known from the first page " +
				"to the last is listed once. A page looks at about 20,000 messages, so that it may be short, or empty though more follow: " +
				"go on until there is no next_cursor. Give the same parameters with a cursor. " + ofWhatIndex +
				" A campaign is listed all the same. " + operatorsMetadata,
			Parameters: []*huma.Param{
				text("campaign", "Only those of this campaign.", parameterSchema("campaign")),
				categoryParameter("Only those of this category."),
				text("status", "Only those with this status.", &huma.Schema{Type: huma.TypeString, Enum: words}),
				timeParameter("from", "First send time."),
				timeParameter("until", "Send time to stop before."),
				text("user", "Only those to this user.", parameterSchema("user")),
				text("user_prefix", "Only those to users whose names begin so. Not with user.", parameterSchema("user")),
				text("account", "Only those of this account.", parameterSchema("account")),
				countParameter("limit", "Messages a page.", usualPage, largestPage), cursorParameter(),
			},
			Responses: responses[message.Messages](s, "A page of them.", http.StatusConflict),
		},
		scope: accounts.ScopeRead, do: s.findAll,
	}
}

func (s *server) findAll(r *http.Request, q web.Query) (web.Answer, error) {
	wanted, err := s.filterOf(q)
	if err != nil {
		return web.Answer{}, err
	}
	statuses, next, err := s.findPage(r, q, wanted, usualPage, largestPage)
	if err != nil {
		return web.Answer{}, err
	}
	page := message.Messages{Messages: []message.Status{}, NextCursor: next}
	for _, status := range statuses {
		page.Messages = append(page.Messages, s.shown(r.Context(), status))
	}
	return web.Done(page), nil
}

// filterOf reads the parameters that say which messages are wanted.
func (s *server) filterOf(q web.Query) (find.Filter, error) {
	var f find.Filter
	for _, p := range []struct { // in this order, as only the first error is told
		name string
		into *string
	}{
		{"campaign", &f.Campaign},
		{"category", &f.Category},
		{"status", &f.Status},
		{"user", &f.User},
		{"user_prefix", &f.UserPrefix},
		{"account", &f.Account},
	} {
		text, given := q[p.name]
		if given && text == "" { // which would be everything
			return find.Filter{}, fault.Wrong(p.name, "the query parameter %s has no value: give it one, or leave it out", p.name)
		}
		*p.into = text
	}
	var err error
	if f.From, err = q.Time("from", s.present()); err != nil {
		return find.Filter{}, err
	}
	if f.Until, err = q.Time("until", s.present()); err != nil {
		return find.Filter{}, err
	}
	return f, f.Check()
}

// findPage returns the page of messages that a request asks for.
func (s *server) findPage(
	r *http.Request, q web.Query, wanted find.Filter, usual, largest int,
) (found []message.Status, next string, err error) {
	limit, err := q.Count("limit", usual, largest)
	if err != nil {
		return nil, "", err
	}
	cursor, given := q["cursor"]
	if given && cursor == "" {
		return nil, "", web.UnknownCursor(cursor)
	}
	who := callerOf(r.Context()).holder()
	if err := s.finds.awaitTurn(r.Context(), who); err != nil {
		return nil, "", err
	}
	defer s.finds.leave(who)
	found, next, err = s.reaching(r.Context()).Find(r.Context(), wanted, cursor, limit)
	return found, s.sealed(r.Context(), next), err
}
