package dashboard

import (
	"net/http"
	"strconv"

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
	for _, name := range []string{"from", "until"} {
		if given := p.Get(name); given != "" {
			p.query.Set(name, apiTime(given))
		}
	}
	if wantsCSV(r) {
		columns := []string{"at", "account", "key", "by", "address", "action", "user", "message", "object", "detail", "outcome", "code", "answer", "more"}
		d.download(w, r, "audit", columns, func() ([][]string, bool, error) {
			answer, err := d.auditEntries(r, p.listing, audit.MaxPage)
			p.At = answer.NextCursor
			rows := make([][]string, len(answer.Entries))
			for i, e := range answer.Entries {
				account := e.Account
				if e.Operator {
					account = "an operator"
				}
				rows[i] = []string{iso(e.At), account, e.Key, e.By, e.Address, e.Action, e.User, e.Message, e.Object, e.Detail, e.Outcome, e.Code, e.Answer, strconv.Itoa(e.More)}
			}
			return rows, p.At != "", err
		})
		return
	}
	for began := d.o.Now(); ; {
		answer, err := d.auditEntries(r, p.listing, pageSize)
		if err != nil {
			if shown := problemOf(err); shown.Status == http.StatusUnprocessableEntity {
				p.Wrong = shown.Sentence()
				d.render(w, r, shown.Status, "audit", p)
				return
			}
			d.showError(w, r, err)
			return
		}
		p.Entries, p.Next = answer.Entries, answer.NextCursor
		if len(p.Entries) > 0 || p.Next == "" || d.o.Now().Sub(began) > lookFor {
			break
		}
		p.At = p.Next
	}
	d.render(w, r, http.StatusOK, "audit", p)
}

// auditEntries reads a page of the audit log.
func (d *Dashboard) auditEntries(r *http.Request, l listing, size int) (answer message.AuditEntries, err error) {
	err = d.get(r, apiPath("audit"), l.ask(size), &answer)
	return answer, err
}
