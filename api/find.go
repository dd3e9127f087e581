package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/records/messages"
)

// ofWhom documents which messages a key finds.
const ofWhom = "A key without the scope admin finds only the messages of its account. "

const ofWhatIndex = "Two pages are read at a time, one of an account; others wait for at most 5 seconds. With the setting index: false the answer is index_off. Messages that were accepted while it was false are not found."

func (s *server) findRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("findMessage", http.MethodGet, "/v1/messages/{id}", "messages",
				"Find messages of all users by their id",
				"Ids are unique for each user: if several users have the id, all their messages are listed, in no particular order. "+ofWhom+
					operatorsContent+" "+ofWhatIndex),
			scope: accounts.ScopeRead, says: "The messages.", refuses: []int{http.StatusNotFound, http.StatusConflict},
		}, s.find),
		operation(s, route{
			Operation: named("findMessages", http.MethodGet, "/v1/messages", "messages",
				"List messages of all users",
				"Lists messages that match all given parameters, in no particular order. "+ofWhom+
					"Pages stay consistent while messages are submitted, moved, sent and cancelled: a message that exists from the first page "+
					"to the last is listed once. A page reads about 20,000 messages, so it may be short, or empty although more follow: "+
					"continue until there is no next_cursor. Give the same parameters with a cursor. "+ofWhatIndex+
					" With campaign, the list works without the index. "+operatorsMetadata),
			scope: accounts.ScopeRead, says: "A page of messages.", refuses: []int{http.StatusConflict},
		}, s.findAll),
	}
}

// ofID selects the messages with an id. They have their contents.
type ofID struct {
	ID     string     `path:"id"`
	Limit  int        `query:"limit" usual:"10" most:"100" doc:"Messages a page."`
	Cursor findCursor `query:"cursor"`
}

// findCursor is where a page of the index ended.
type findCursor string

// UnmarshalText reads the parameter.
func (c *findCursor) UnmarshalText(text []byte) error {
	if *c = findCursor(text); *c == "" {
		return web.UnknownCursor("")
	}
	return nil
}

func (s *server) find(ctx context.Context, in ofID) (page message.Found, err error) {
	statuses, next, err := s.findPage(ctx, find.Filter{ID: in.ID}, in.Cursor, in.Limit)
	if err != nil {
		return page, err
	}
	page = message.Found{Messages: []message.Status{}, NextCursor: next}
	for _, found := range statuses {
		status, known, err := s.look(ctx, found.User, found.ID)
		if err != nil {
			return page, err
		}
		if known { // it may be gone, or another account's, by now
			page.Messages = append(page.Messages, s.shown(ctx, status))
		}
	}
	if len(page.Messages) == 0 && next == "" && in.Cursor == "" {
		return page, &refusal{message.NotFound(in.ID)}
	}
	return page, nil
}

type foundPage struct {
	Campaign   string     `query:"campaign" doc:"Only messages of this campaign."`
	Category   string     `query:"category" example:"marketing" doc:"Only messages of this category."`
	Status     statusWord `query:"status" doc:"Only messages with this status."`
	From       time.Time  `query:"from" doc:"First send time."`
	Until      time.Time  `query:"until" doc:"End of the send times, exclusive."`
	User       string     `query:"user" doc:"Only messages to this user."`
	UserPrefix string     `query:"user_prefix" like:"user" doc:"Only messages to users whose names have this prefix. Excludes user."`
	Account    string     `query:"account" doc:"Only messages of this account."`
	Limit      int        `query:"limit" usual:"100" most:"1000" doc:"Messages a page."`
	Cursor     findCursor `query:"cursor"`
	wanted     find.Filter
}

// statusWord filters messages by status; "" matches any.
type statusWord string

func (*statusWord) schema() *huma.Schema {
	schema := &huma.Schema{Type: huma.TypeString}
	for _, word := range messages.Statuses() {
		schema.Enum = append(schema.Enum, word)
	}
	return schema
}

func (in *foundPage) check(context.Context, *server) error {
	in.wanted = find.Filter{
		Campaign: in.Campaign, Category: in.Category, Status: string(in.Status), From: in.From, Until: in.Until,
		User: in.User, UserPrefix: in.UserPrefix, Account: in.Account,
	}
	return in.wanted.Check()
}

func (s *server) findAll(ctx context.Context, in foundPage) (page message.Messages, err error) {
	statuses, next, err := s.findPage(ctx, in.wanted, in.Cursor, in.Limit)
	page = message.Messages{Messages: []message.Status{}, NextCursor: next}
	for _, status := range statuses {
		page.Messages = append(page.Messages, s.shown(ctx, status))
	}
	return page, err
}

// findPage returns a page of messages, and the cursor of the next one.
func (s *server) findPage(ctx context.Context, wanted find.Filter, after findCursor, limit int) (found []message.Status, next string, err error) {
	who := callerOf(ctx).holder()
	if err := s.finds.awaitTurn(ctx, who); err != nil {
		return nil, "", err
	}
	defer s.finds.leave(who)
	found, next, err = s.reaching(ctx).Find(ctx, wanted, string(after), limit)
	return found, s.sealed(ctx, next), err
}
