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

func (s *server) auditRoutes() []route {
	return []route{operation(s, route{
		Operation: named("listAuditEntries", http.MethodGet, "/v1/audit", "operation",
			"List the changes that operators made",
			"Changes with a key that has the scope admin, on the dashboard, or by a command, newest first. Without the scope admin you see changes by your account, and "+
				"changes that operators made to your data. For submits, moves and cancels of accounts, see the history and the events of messages. Entries of operators are kept for 400 days."),
		scope: accounts.ScopeRead, says: "A page of changes.",
	}, s.listAudit)}
}

type auditPage struct {
	Account auditName   `query:"account" example:"acme" doc:"Only changes by this account or of its data."`
	User    auditName   `query:"user" example:"alice" doc:"Only changes about this user."`
	Action  auditName   `query:"action" example:"apply policy" doc:"Only this action."`
	Object  auditName   `query:"object" example:"default" doc:"Only changes of the object with this name."`
	From    time.Time   `query:"from" doc:"Start time."`
	Until   time.Time   `query:"until" doc:"End time, exclusive."`
	Limit   int         `query:"limit" usual:"100" most:"500" doc:"Entries a page."`
	Cursor  auditCursor `query:"cursor"`
}

// auditName filters entries by a name; "" matches any.
type auditName string

func (*auditName) schema() *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, MinLength: new(1), MaxLength: new(audit.MaxName)}
}

// auditCursor is the id of the last entry of a page.
type auditCursor string

// UnmarshalText reads the parameter.
func (c *auditCursor) UnmarshalText(text []byte) error {
	*c = auditCursor(text)
	if !audit.ValidID(string(text)) {
		return web.UnknownCursor(string(text))
	}
	return nil
}

func (in *auditPage) check(context.Context, *server) error {
	for name, given := range map[string]auditName{"account": in.Account, "user": in.User, "action": in.Action, "object": in.Object} {
		if len(given) > audit.MaxName {
			return &fault.InvalidError{Field: name, Value: string(given), Want: fmt.Sprintf("1 to %d bytes", audit.MaxName)}
		}
	}
	return nil
}

func (s *server) listAudit(ctx context.Context, in auditPage) (page message.AuditEntries, err error) {
	who := callerOf(ctx)
	f := audit.Filter{
		Account: string(in.Account), User: string(in.User), Action: string(in.Action), Object: string(in.Object), From: in.From, Until: in.Until,
	}
	if who.confined() {
		f.Account = who.account()
	}
	if err := s.auditReads.awaitTurn(ctx, who.holder()); err != nil {
		return page, err
	}
	defer s.auditReads.leave(who.holder())
	began := s.Now()
	list, next, err := s.Audit.Page(ctx, f, string(in.Cursor), in.Limit)
	if err != nil {
		return page, err
	}
	if next != "" && in.Limit == audit.MaxPage {
		s.rest(ctx, s.Now().Sub(began))
	}
	page = message.AuditEntries{Entries: make([]message.AuditEntry, len(list)), NextCursor: s.sealed(ctx, next)}
	for i, e := range list {
		page.Entries[i] = toldTo(who, e)
	}
	return page, nil
}

// longestRest bounds the rest after a page: something else delayed a page that took longer.
const longestRest = 100 * time.Millisecond

// rest keeps a turn for three times as long as the page took, so that any number of readers of long
// lists leaves the store enough time for other requests.
func (s *server) rest(ctx context.Context, took time.Duration) {
	timer := time.NewTimer(min(3*took, longestRest))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// toldTo returns an entry as the caller may see it. An account does not see who made an operator's
// change to its data.
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
