package dashboard

import (
	"net/http"
	"strconv"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/audit"
)

// auditPage shows the changes that operators made.
type auditPage struct {
	page
	listing

	Entries []message.AuditEntry
	Wrong   string
}

func (d *Dashboard) showAudit(w http.ResponseWriter, r *http.Request) {
	p := &auditPage{page: d.page(r, "Audit log"), listing: listingOf(r, "account", "user", "action", "object", "from", "until")}
	list[message.AuditEntry]{
		name: "audit", page: p, at: &p.listing, entries: &p.Entries, wrong: &p.Wrong,
		columns: []string{"at", "account", "key", "by", "address", "action", "user", "message", "object", "detail", "outcome", "code", "answer", "more"},
		row: func(e message.AuditEntry) []string {
			account := e.Account
			if e.Operator {
				account = "an operator"
			}
			return []string{iso(e.At), account, e.Key, e.By, e.Address, e.Action, e.User, e.Message, e.Object, e.Detail, e.Outcome, e.Code, e.Answer, strconv.Itoa(e.More)}
		},
		read: func(size int) ([]message.AuditEntry, string, error) {
			from, until, err := p.ends()
			if err != nil {
				return nil, "", err
			}
			answer, err := d.api.ListAuditEntriesPage(r.Context(), client.ListAuditEntriesQuery{
				Account: p.Get("account"), User: p.Get("user"), Action: p.Get("action"), Object: p.Get("object"),
				From: from, Until: until, Limit: min(size, audit.MaxPage),
			}, p.At)
			return answer.Entries, answer.NextCursor, err
		},
	}.show(d, w, r)
}
