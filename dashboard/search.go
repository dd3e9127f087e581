package dashboard

import (
	"maps"
	"net/http"
	"slices"
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

// seekCampaign looks for messages of a campaign, of all accounts that the caller reaches.
func (d *Dashboard) seekCampaign(r *http.Request, p *searchPage) error {
	found, err := d.api.FindMessagesPage(r.Context(), client.FindMessagesQuery{Campaign: p.Sought, Limit: pageSize}, "")
	if err != nil {
		return err
	}
	count := make(map[string]int)
	for _, m := range found.Messages {
		count[m.Account]++
	}
	for _, account := range slices.Sorted(maps.Keys(count)) {
		about := plural(count[account], "message")
		if found.NextCursor != "" {
			about += " or more"
		}
		if account != "" {
			about += " of the account " + account
		}
		p.Hits = append(p.Hits, hit{"Campaign", p.Sought, link("/campaign", "name", p.Sought, "account", account), about})
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
