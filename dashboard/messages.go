package dashboard

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

// messagesPage finds messages of all users.
type messagesPage struct {
	page
	listing

	Messages []message.Status
	Statuses []string
	Titles   bool // they are shown, each of which is a look in the audit log
	Wrong    string
}

// Filtered reports whether a filter is set. Titles are none.
func (p *messagesPage) Filtered() bool { return len(p.query) > 1 || !p.Titles && p.listing.Filtered() }

// ShowTitles returns the address of this page with titles.
func (p *messagesPage) ShowTitles() string {
	query := maps.Clone(p.query)
	query.Set(titles, "yes")
	if p.At != "" {
		query.Set("cursor", p.At)
	}
	return withQuery(p.path, query)
}

// Local returns a time of a filter for an input of the form.
func (p *messagesPage) Local(name string) string {
	at, err := calendar.ParseTime(p.Get(name), nil)
	if err != nil {
		return ""
	}
	return local(at)
}

// titles is the parameter that asks for titles.
const titles = "titles"

// messageFilters are the parameters of findMessages.
func messageFilters() []string {
	return []string{"campaign", "category", "status", "from", "until", "user", "user_prefix", "account"}
}

func (d *Dashboard) listMessages(w http.ResponseWriter, r *http.Request) {
	p := &messagesPage{page: d.page(r, "Messages"), listing: listingOf(r, append(messageFilters(), "id", titles)...), Statuses: statuses()}
	p.Titles, p.Script = p.Get(titles) != "", "select.js"
	list[message.Status]{
		name: "messages", page: p, at: &p.listing, entries: &p.Messages, wrong: &p.Wrong,
		columns: []string{"user", "id", "send_at", "status", "attempts", "reason", "campaign"},
		row: func(m message.Status) []string {
			return []string{m.User, m.ID, iso(m.SendAt), m.Status, number(m.Attempts), m.Reason, m.Campaign}
		},
		read: func(size int) ([]message.Status, string, error) {
			found, next, err := d.findMessages(r, p.listing, size)
			if err == nil && p.Titles && !wantsCSV(r) {
				err = d.addTitles(r, found)
			}
			return found, next, err
		},
	}.show(d, w, r)
}

// addTitles adds the titles of messages that the caller may see.
func (d *Dashboard) addTitles(r *http.Request, found []message.Status) error {
	for i, m := range found {
		shown, err := d.api.ShowContent(r.Context(), m.User, m.ID)
		if err != nil && !isNotFound(err) {
			return err
		}
		found[i].Title = shown.Title
	}
	return nil
}

// findMessages finds a page of messages, by their id or by the other filters.
func (d *Dashboard) findMessages(r *http.Request, l listing, size int) ([]message.Status, string, error) {
	if id := l.Get("id"); id != "" {
		answer, err := d.api.FindMessagePage(r.Context(), id, client.FindMessageQuery{Limit: min(size, pageSize)}, l.At)
		if isNotFound(err) {
			return nil, "", nil
		}
		return answer.Messages, answer.NextCursor, err
	}
	from, until, err := l.ends()
	if err != nil {
		return nil, "", err
	}
	answer, err := d.api.FindMessagesPage(r.Context(), client.FindMessagesQuery{
		Campaign: l.Get("campaign"), Category: l.Get("category"), Status: l.Get("status"), From: from, Until: until,
		User: l.Get("user"), UserPrefix: l.Get("user_prefix"), Account: l.Get("account"), Limit: size,
	}, l.At)
	return answer.Messages, answer.NextCursor, err
}

func statuses() []string {
	return strings.Fields("scheduled moved postponed sending delivered dropped failed uncertain cancelled")
}

// changeMessages cancels, moves or retries the chosen messages.
func (d *Dashboard) changeMessages(w http.ResponseWriter, r *http.Request) {
	to := back(r, "/messages")
	c := manyChange{noun: "message"}
	switch r.PostFormValue("do") {
	case "cancel":
		c.question = "Cancel %s? They will not be sent, their content is erased, and their times become free."
		c.yes, c.did, c.change = "Cancel them", "cancelled.", func(user, id string) error {
			_, err := d.api.CancelMessage(r.Context(), user, id)
			return err
		}
	case "move":
		by, err := time.ParseDuration(strings.TrimSpace(r.PostFormValue("by")))
		if err != nil || by == 0 {
			d.refused(w, r, unprocessable("Move by must be a length of time such as 1h30m, or -30m for an earlier time."), to)
			return
		}
		c = d.moveMany(r, by)
	case "retry":
		c = d.retryMany(r, c.noun)
	default:
		d.refused(w, r, unprocessable("do must be cancel, move or retry"), to)
		return
	}
	d.changeMany(w, r, c, to)
}

// moveMany moves chosen messages by the same length. Those that move into the places of others come
// after them.
func (d *Dashboard) moveMany(r *http.Request, by time.Duration) manyChange {
	from := make(map[string]time.Time) // by ref
	return manyChange{
		noun: "message", question: "Move %s by " + by.String() + "?", yes: "Move them", did: "moved by " + by.String() + ".",
		arrange: func(chosen []string) error {
			for _, one := range chosen {
				user, id, _ := parseRef(one)
				if found, err := d.api.Message(r.Context(), user, id); err == nil {
					from[one] = found.SendAt.Time
				} else if hopeless(err) {
					return err
				}
			}
			slices.SortStableFunc(chosen, func(a, b string) int {
				return cmp.Compare(0, by) * from[a].Compare(from[b])
			})
			return nil
		},
		change: func(user, id string) error {
			at := from[ref(user, id)].Add(by)
			_, err := d.api.Change(r.Context(), user, id, client.MessageChange{SendAt: &at, OnConflict: onConflict(r)})
			return err
		},
	}
}
