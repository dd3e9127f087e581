package dashboard

import (
	"net/http"
	"strings"

	"github.com/sendlimit/sendlimiter/client"
)

// searchPage shows what has the sought name.
type searchPage struct {
	page

	Hits []hit
	More bool // there are more messages than those
}

// hit is a page of something with the sought name.
type hit struct {
	Kind, Name, Path string
	About            string
}

// search looks for a user, messages, a campaign and an account with exactly the sought name. If there
// is only one, it leads there.
func (d *Dashboard) search(w http.ResponseWriter, r *http.Request) {
	p := &searchPage{page: d.page(r, "Search")}
	p.Sought = strings.TrimSpace(r.URL.Query().Get("q"))
	if p.Sought != "" {
		for _, look := range []func(*http.Request, *searchPage) error{d.seekUser, d.seekMessages, d.seekCampaign, d.seekAccount} {
			if err := look(r, p); err != nil && !isNoSuchName(err) {
				d.showError(w, r, err)
				return
			}
		}
	}
	if len(p.Hits) == 1 && !p.More {
		d.redirect(w, r, p.Hits[0].Path)
		return
	}
	d.render(w, r, http.StatusOK, "search", p)
}

// isNoSuchName reports whether nothing can have a name, or has it.
func isNoSuchName(err error) bool {
	status := problemOf(err).Status
	return status == http.StatusNotFound || status == http.StatusUnprocessableEntity || status == http.StatusForbidden
}

func (d *Dashboard) seekUser(r *http.Request, p *searchPage) error {
	list, err := d.api.ListMessagesPage(r.Context(), p.Sought, client.ListMessagesQuery{Limit: 1}, "")
	if err != nil {
		return err
	}
	about := "has messages"
	if len(list.Messages) == 0 {
		devices, err := d.api.ListDevices(r.Context(), p.Sought)
		if err != nil {
			return err
		}
		if about = "has devices"; len(devices.Devices) == 0 {
			own, err := d.hasSettings(r, p.Sought)
			if err != nil || !own {
				return err
			}
			about = "has settings"
		}
	}
	p.Hits = append(p.Hits, hit{"User", p.Sought, link("/user", "name", p.Sought), about})
	return nil
}

// hasSettings reports whether a user has own settings that the caller may see.
func (d *Dashboard) hasSettings(r *http.Request, user string) (bool, error) {
	if !callerOf(r.Context()).Admin() {
		return false, nil
	}
	settings, err := d.api.UserSettings(r.Context(), user)
	return settings.Version != "" && settings.Version != "0", err
}

// shownHits is how many messages a search shows.
const shownHits = 20

func (d *Dashboard) seekMessages(r *http.Request, p *searchPage) error {
	found, err := d.api.FindMessagePage(r.Context(), p.Sought, client.FindMessageQuery{Limit: shownHits}, "")
	if err != nil {
		return err
	}
	for _, m := range found.Messages {
		p.Hits = append(p.Hits, hit{"Message", m.ID, link("/message", "user", m.User, "id", m.ID), "to " + clip(m.User, 80) + ", " + m.Status})
	}
	p.More = found.NextCursor != ""
	return nil
}

func (d *Dashboard) seekCampaign(r *http.Request, p *searchPage) error {
	found, err := d.api.CountCampaign(r.Context(), p.Sought, client.CountCampaignQuery{})
	if err != nil && problemOf(err).Status == http.StatusTooManyRequests {
		p.Hits = append(p.Hits, hit{"Campaign", p.Sought, link("/campaign", "name", p.Sought), "was not looked for, since others are being counted"})
		return nil
	}
	if err != nil {
		return err
	}
	messages := 0
	for _, n := range found.Statuses {
		messages += n
	}
	about := plural(messages, "message")
	if found.More != "" { // the rest is not counted yet
		about = "more than " + about
	}
	if messages > 0 || found.More != "" {
		p.Hits = append(p.Hits, hit{"Campaign", p.Sought, link("/campaign", "name", p.Sought), about})
	}
	return nil
}

func (d *Dashboard) seekAccount(r *http.Request, p *searchPage) error {
	if !callerOf(r.Context()).Admin() {
		return nil
	}
	found, err := d.api.Account(r.Context(), p.Sought)
	if err != nil {
		return err
	}
	p.Hits = append(p.Hits, hit{"Account", found.Name, link("/account", "name", found.Name), plural(len(found.Keys), "key")})
	return nil
}
