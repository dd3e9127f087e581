package dashboard

import (
	"net/http"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/records/audit"
)

// auditPage shows the changes that operators made.
type auditPage struct {
	page
	listing

	Entries []audit.Entry
	Wrong   string
}

func (d *Dashboard) showAudit(w http.ResponseWriter, r *http.Request) {
	p := &auditPage{page: d.page(r, "Audit log"), listing: listingOf(r, "account", "user", "action", "object", "from", "until")}
	filter, err := p.filter()
	if err != nil {
		p.Wrong = problemOf(err).Sentence()
		d.render(w, r, http.StatusUnprocessableEntity, "audit", p)
		return
	}
	if who := callerOf(r.Context()); !who.Admin() {
		filter.Account = who.Account()
	}
	if wantsCSV(r) {
		columns := []string{"at", "account", "key", "by", "address", "action", "user", "message", "object", "detail", "outcome", "code", "answer", "more"}
		d.download(w, r, "audit", columns, func() ([][]string, bool, error) {
			entries, next, err := d.readAudit(r, filter, p.At, audit.MaxPage)
			p.At, entries = next, told(callerOf(r.Context()), entries)
			rows := make([][]string, len(entries))
			for i, e := range entries {
				rows[i] = []string{iso(e.At), e.Account, e.Key, e.By, e.Address, e.Action, e.User, e.Message, e.Object, e.Detail, e.Outcome, e.Code, e.Answer, strconv.Itoa(e.More)}
			}
			return rows, next != "", err
		})
		return
	}
	for began := d.o.Now(); ; {
		if p.Entries, p.Next, err = d.readAudit(r, filter, p.At, pageSize); err != nil {
			d.showError(w, r, err)
			return
		}
		if len(p.Entries) > 0 || p.Next == "" || d.o.Now().Sub(began) > lookFor {
			break
		}
		p.At = p.Next
	}
	p.Entries = told(callerOf(r.Context()), p.Entries)
	d.render(w, r, http.StatusOK, "audit", p)
}

// told returns entries as the caller may see them. Of what an operator did with what an account
// owns, the account learns what and when.
func told(who caller, list []audit.Entry) []audit.Entry {
	for i := range list {
		if !who.Admin() && list[i].Account != who.Account() {
			list[i].Account, list[i].Key, list[i].By, list[i].Address = "an operator", "", "", ""
		}
	}
	return list
}

// filter returns the filter that the address says.
func (p *auditPage) filter() (audit.Filter, error) {
	f := audit.Filter{Account: p.Get("account"), User: p.Get("user"), Action: p.Get("action"), Object: p.Get("object")}
	for name, into := range map[string]*time.Time{"from": &f.From, "until": &f.Until} {
		given := p.Get(name)
		if given == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, apiTime(given))
		if err != nil {
			return f, &problem{Status: http.StatusUnprocessableEntity, Detail: "The time " + clip(given, 80) + " can't be read: give one such as 2026-11-22T11:11:11Z."}
		}
		*into = at
	}
	return f, nil
}

// longestRest bounds the rest after a page: one that took long was held up by something else.
const longestRest = 100 * time.Millisecond

// readAudit reads a page of the audit log in its turn. If more follow, the turn rests for three
// times as long: those who download long lists, however many, leave the store to others. They
// wait for their turns in the middle of a list for as long as its receiver may be slow.
func (d *Dashboard) readAudit(r *http.Request, f audit.Filter, at string, limit int) ([]audit.Entry, string, error) {
	who := callerOf(r.Context()).identity
	leave, err := d.reads.Await(r.Context(), who)
	for since := d.o.Now(); err != nil && at != "" && limit == audit.MaxPage && r.Context().Err() == nil && d.o.Now().Sub(since) < streamIdle; {
		leave, err = d.reads.Await(r.Context(), who)
	}
	if err != nil {
		return nil, "", err
	}
	defer leave()
	began := d.o.Now()
	list, next, err := d.o.Audit.Page(r.Context(), f, at, limit)
	if err == nil && next != "" && limit == audit.MaxPage {
		rest := time.NewTimer(min(3*d.o.Now().Sub(began), longestRest))
		defer rest.Stop()
		select {
		case <-rest.C:
		case <-r.Context().Done():
		}
	}
	return list, next, err
}
