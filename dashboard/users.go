package dashboard

import (
	"net/http"
	"strconv"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/message"
)

// usersPage lists the users with own settings, and finds any user.
type usersPage struct {
	page
	listing

	Users  []message.ListedUser
	Listed bool // the caller may list users
}

func (d *Dashboard) listUsers(w http.ResponseWriter, r *http.Request) {
	p := &usersPage{page: d.page(r, "Users"), listing: listingOf(r, "blocked", "policy"), Listed: callerOf(r.Context()).Admin()}
	if name := r.URL.Query().Get("name"); name != "" {
		d.redirect(w, r, link("/user", "name", name))
		return
	}
	if !p.Listed {
		d.render(w, r, http.StatusOK, "users", p)
		return
	}
	list[message.ListedUser]{
		name: "users", page: p, at: &p.listing, entries: &p.Users,
		columns: []string{"user", "policy", "limits", "time_zone", "contact", "blocked"},
		row: func(u message.ListedUser) []string {
			return []string{u.User, u.Policy, joined(u.Limits), u.TimeZone, u.Contact, strconv.FormatBool(u.Blocked)}
		},
		read: func(size int) ([]message.ListedUser, string, error) {
			answer, err := d.api.ListUsersPage(r.Context(), client.ListUsersQuery{Blocked: p.Get("blocked") == "true", Policy: p.Get("policy"), Limit: size}, p.At)
			return answer.Users, answer.NextCursor, err
		},
	}.show(d, w, r)
}
