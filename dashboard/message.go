package dashboard

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/audit"
)

// messagePage shows what became of a message.
type messagePage struct {
	page

	Status   message.Status
	Movable  bool
	Dead     bool // a dead letter, which can be retried
	Asked    bool // the content was asked for
	Metadata []namedText
	Data     []namedText
}

// namedText is an entry of a message's data or metadata.
type namedText struct{ Name, Text string }

func (d *Dashboard) showMessage(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	user, id := q.Get("user"), q.Get("id")
	p := &messagePage{page: d.page(r, "Message "+clip(id, 80)), Asked: q.Get("content") == "yes"}
	p.Script = "message.js"
	read := func() error { return d.get(r, apiPath("users", user, "messages", id), nil, &p.Status) }
	var err error
	switch {
	case p.Asked && !callerOf(r.Context()).Reads(): // what is not allowed is no entry
		err = needs(accounts.ScopeRead)
	case p.Asked:
		err = d.audited(r, audit.Entry{Action: "show content", User: user, Message: id}, read)
	default:
		err = read()
	}
	if err != nil {
		d.showError(w, r, err)
		return
	}
	who := callerOf(r.Context())
	p.Movable = who.Submits() && pending(p.Status.Status)
	p.Dead = who.Admin() && (p.Status.Status == message.StatusFailed || p.Status.Status == message.StatusUncertain || p.Status.Status == message.StatusDropped)
	p.Data, p.Metadata = namedTexts(p.Status.Data), namedTexts(p.Status.Metadata)
	if !p.Asked { // it does not leave the server
		p.Status.Content, p.Data, p.Metadata = message.Content{}, nil, nil
	}
	d.render(w, r, http.StatusOK, "message", p)
}

func namedTexts(of map[string]string) []namedText {
	var list []namedText
	for _, name := range sortedKeys(of) {
		list = append(list, namedText{name, of[name]})
	}
	return list
}

// moveMessage moves a message to another time: of a form, or where it was dragged to.
func (d *Dashboard) moveMessage(w http.ResponseWriter, r *http.Request) {
	user, id := r.PostFormValue("user"), r.PostFormValue("id")
	at := apiTime(r.PostFormValue("send_at"))
	to := back(r, link("/message", "user", user, "id", id))
	draft := map[string]string{"send_at": at}
	if r.PostFormValue("shift") == "yes" {
		draft["on_conflict"] = message.OnConflictShift
	}
	var moved message.Outcome
	err := d.call(r, http.MethodPatch, apiPath("users", user, "messages", id), nil, draft, &moved)
	if err != nil {
		d.refused(w, r, err, to)
		return
	}
	text := "Moved: it is sent at " + when(moved.SendAt) + "."
	if moved.Shifted {
		text = "Moved to the next free time, " + when(moved.SendAt) + ": the requested time was not free."
	}
	d.done(w, r, text, to)
}

func (d *Dashboard) cancelMessage(w http.ResponseWriter, r *http.Request) {
	user, id := r.PostFormValue("user"), r.PostFormValue("id")
	to := back(r, link("/message", "user", user, "id", id))
	if !d.confirmed(w, r, "Cancel the message "+id+" to "+user+"? It is not sent, its content is erased, and its time is free again.", "Cancel it", to) {
		return
	}
	err := d.call(r, http.MethodDelete, apiPath("users", user, "messages", id), nil, nil, nil)
	if err != nil {
		d.refused(w, r, err, to)
		return
	}
	d.done(w, r, "The message is cancelled.", to)
}

// messagesPage finds messages of all users.
type messagesPage struct {
	page
	listing

	Messages []message.Status
	Statuses []string
	Wrong    string
}

// messageFilters are the parameters of findMessages.
func messageFilters() []string {
	return []string{"campaign", "category", "status", "from", "until", "user", "user_prefix", "account"}
}

func (d *Dashboard) listMessages(w http.ResponseWriter, r *http.Request) {
	p := &messagesPage{page: d.page(r, "Messages"), listing: listingOf(r, append(messageFilters(), "id")...), Statuses: statuses()}
	for _, name := range []string{"from", "until"} {
		if given := p.Get(name); given != "" {
			p.query.Set(name, apiTime(given))
		}
	}
	if wantsCSV(r) {
		d.download(w, r, "messages", []string{"user", "id", "send_at", "status", "attempts", "reason", "campaign"}, func() ([][]string, bool, error) {
			list, next, err := d.findMessages(r, p.listing, maxPage)
			p.At = next
			rows := make([][]string, len(list))
			for i, m := range list {
				rows[i] = []string{m.User, m.ID, iso(m.SendAt), m.Status, number(m.Attempts), m.Reason, m.Campaign}
			}
			return rows, next != "", err
		})
		return
	}
	for began := d.o.Now(); ; {
		var err error
		if p.Messages, p.Next, err = d.findMessages(r, p.listing, pageSize); err != nil {
			if shown := problemOf(err); shown.Status == http.StatusUnprocessableEntity || shown.Status == http.StatusConflict {
				p.Wrong = shown.Sentence()
				d.render(w, r, shown.Status, "messages", p)
				return
			}
			d.showError(w, r, err)
			return
		}
		if len(p.Messages) > 0 || p.Next == "" || d.o.Now().Sub(began) > lookFor {
			break
		}
		p.At = p.Next
	}
	d.render(w, r, http.StatusOK, "messages", p)
}

// findMessages asks for a page of messages: by their id, or by what else the filters say.
func (d *Dashboard) findMessages(r *http.Request, l listing, size int) ([]message.Status, string, error) {
	query := l.ask(size)
	id := query.Get("id")
	query.Del("id")
	if id == "" {
		var answer message.Messages
		err := d.get(r, apiPath("messages"), query, &answer)
		return answer.Messages, answer.NextCursor, err
	}
	var answer message.Found
	err := d.get(r, apiPath("messages", id), url.Values{"limit": {number(min(size, pageSize))}, "cursor": emptyOr(query.Get("cursor"))}, &answer)
	if isNotFound(err) {
		return nil, "", nil
	}
	return answer.Messages, answer.NextCursor, err
}

// emptyOr returns a value of a query, none for "".
func emptyOr(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

func statuses() []string {
	return strings.Fields("scheduled moved postponed sending delivered dropped failed uncertain cancelled")
}
