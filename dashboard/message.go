package dashboard

import (
	"maps"
	"net/http"
	"slices"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/message"
)

// messagePage shows a message.
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
	p.Trail = append(p.Trail, navLink{Path: link("/user", "name", user), Name: user})
	read := d.api.Message
	if p.Asked {
		read = d.api.ShowContent
	}
	var err error
	if p.Status, err = read(r.Context(), user, id); err != nil {
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
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, namedText{name, of[name]})
	}
	return list
}

// moveMessage moves a message to another time, from a form or from dragging.
func (d *Dashboard) moveMessage(w http.ResponseWriter, r *http.Request) {
	user, id := r.PostFormValue("user"), r.PostFormValue("id")
	to := back(r, link("/message", "user", user, "id", id))
	var moved message.Outcome
	at, _, err := sendTime(r)
	if err == nil {
		moved, err = d.api.Change(r.Context(), user, id, client.MessageChange{SendAt: &at, OnConflict: onConflict(r)})
	}
	text := "Moved to " + when(moved.SendAt) + "."
	if moved.Shifted {
		text = "Moved to the next free time, " + when(moved.SendAt) + ": the requested time was not free."
	}
	d.end(w, r, err, text, to)
}

func (d *Dashboard) cancelMessage(w http.ResponseWriter, r *http.Request) {
	user, id := r.PostFormValue("user"), r.PostFormValue("id")
	to := back(r, link("/message", "user", user, "id", id))
	if !d.confirmed(w, r, "Cancel the message "+id+" to "+user+"? It will not be sent, its content is erased, and its time becomes free.", "Cancel it", to) {
		return
	}
	_, err := d.api.CancelMessage(r.Context(), user, id)
	d.end(w, r, err, "The message was cancelled.", to)
}
