package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/audit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

func (s *server) listAuditRoute() route {
	text := func(name, description, example string) *huma.Param {
		return &huma.Param{
			Name: name, In: "query", Description: description, Example: example,
			Schema: &huma.Schema{Type: huma.TypeString, MinLength: new(1), MaxLength: new(audit.MaxName)},
		}
	}
	return route{
		Operation: huma.Operation{
			OperationID: "listAuditEntries", Method: http.MethodGet, Path: "/v1/audit", Tags: []string{"operation"},
			Summary: "List the changes that operators made",
			Description: "By a key with the scope admin, on the dashboard, or by a command: the newest first. Without the scope admin you see those of your account, and " +
				"what operators did with what is yours. What accounts submit, move and cancel has its history and its events instead. Operators' entries are kept for 400 days.",
			Parameters: []*huma.Param{
				text("account", "Only those by this account, and with what is its.", "acme"),
				text("user", "Only those about this user.", "alice"),
				text("action", "Only this action.", "apply policy"),
				text("object", "Only those about what has this name.", "default"),
				timeParameter("from", "First time."), timeParameter("until", "Time to stop before."),
				countParameter("limit", "Entries a page.", usualPage, audit.MaxPage), cursorParameter(),
			},
			Responses: responses[message.AuditEntries](s, "A page of them."),
		},
		scope: accounts.ScopeRead, do: s.listAudit,
	}
}

func (s *server) listAudit(r *http.Request, q web.Query) (web.Answer, error) {
	ctx, who := r.Context(), callerOf(r.Context())
	limit, err := q.Count("limit", usualPage, audit.MaxPage)
	if err != nil {
		return web.Answer{}, err
	}
	for _, name := range []string{"account", "user", "action", "object"} {
		if text, given := q[name]; given && (text == "" || len(text) > audit.MaxName) { // an empty one would be all
			return web.Answer{}, &fault.InvalidError{Field: name, Value: text, Want: fmt.Sprintf("1 to %d bytes", audit.MaxName)}
		}
	}
	cursor, given := q["cursor"]
	if given && !audit.ValidID(cursor) {
		return web.Answer{}, web.UnknownCursor(cursor)
	}
	f := audit.Filter{Account: q["account"], User: q["user"], Action: q["action"], Object: q["object"]}
	if who.confined() {
		f.Account = who.account()
	}
	if f.From, err = q.Time("from", s.present()); err != nil {
		return web.Answer{}, err
	}
	if f.Until, err = q.Time("until", s.present()); err != nil {
		return web.Answer{}, err
	}
	if err := s.auditReads.awaitTurn(ctx, who.holder()); err != nil {
		return web.Answer{}, err
	}
	defer s.auditReads.leave(who.holder())
	began := s.now()
	list, next, err := s.audit.Page(ctx, f, cursor, limit)
	if err != nil {
		return web.Answer{}, err
	}
	if next != "" && limit == audit.MaxPage {
		s.rest(ctx, s.now().Sub(began))
	}
	page := message.AuditEntries{Entries: make([]message.AuditEntry, len(list)), NextCursor: s.sealed(ctx, next)}
	for i, e := range list {
		page.Entries[i] = toldTo(who, e)
	}
	return web.Done(page), nil
}

// longestRest bounds the rest after a page: one that took long was held up by something else.
const longestRest = 100 * time.Millisecond

// rest keeps a turn for three times as long as a page took: those who read long lists, however
// many, leave the store to others.
func (s *server) rest(ctx context.Context, took time.Duration) {
	timer := time.NewTimer(min(3*took, longestRest))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// toldTo returns an entry as the caller may see it. Of what an operator did with what an account
// owns, the account learns what and when.
func toldTo(who caller, e audit.Entry) message.AuditEntry {
	told := message.AuditEntry{
		ID: e.ID, At: message.Time{Time: e.At}, EndedAt: message.Time{Time: e.EndedAt}, Account: e.Account, Key: e.Key, By: e.By, Address: e.Address,
		Action: e.Action, User: e.User, Message: e.Message, Object: e.Object, Detail: e.Detail,
		Outcome: e.Outcome, Code: e.Code, Answer: e.Answer, More: e.More, Erased: e.Erased,
	}
	if who.confined() && e.Account != who.account() {
		told.Account, told.Key, told.By, told.Address, told.Operator = "", "", "", "", true
	}
	return told
}
