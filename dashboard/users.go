package dashboard

import (
	"net/http"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// usersPage lists the users who have settings of their own, and finds any user.
type usersPage struct {
	page
	listing

	Users  []message.ListedUser
	Listed bool // the caller may list users
}

func (d *Dashboard) listUsers(w http.ResponseWriter, r *http.Request) {
	p := &usersPage{page: d.page(r, "Users"), listing: listingOf(r, "blocked", "policy"), Listed: callerOf(r.Context()).Admin()}
	if name := r.URL.Query().Get("name"); name != "" {
		http.Redirect(w, r, link("/user", "name", name), http.StatusSeeOther)
		return
	}
	if !p.Listed {
		d.render(w, r, http.StatusOK, "users", p)
		return
	}
	if wantsCSV(r) {
		d.download(w, r, "users", []string{"user", "policy", "limits", "time_zone", "contact", "blocked"}, func() ([][]string, bool, error) {
			var answer message.Users
			err := d.get(r, apiPath("users"), p.ask(maxPage), &answer)
			p.At = answer.NextCursor
			rows := make([][]string, len(answer.Users))
			for i, u := range answer.Users {
				rows[i] = []string{u.User, u.Policy, joined(u.Limits), u.TimeZone, u.Contact, strconv.FormatBool(u.Blocked)}
			}
			return rows, p.At != "", err
		})
		return
	}
	for began := d.o.Now(); ; {
		var answer message.Users
		if err := d.get(r, apiPath("users"), p.ask(pageSize), &answer); err != nil {
			d.showError(w, r, err)
			return
		}
		p.Users, p.Next = answer.Users, answer.NextCursor
		if len(p.Users) > 0 || p.Next == "" || d.o.Now().Sub(began) > lookFor {
			break
		}
		p.At = p.Next
	}
	d.render(w, r, http.StatusOK, "users", p)
}

const (
	// maxPage is how many entries a download asks for at a time.
	maxPage = 1000
	// lookFor is for how long empty pages of a filtered list are passed over for one page. Then
	// the page offers to look further.
	lookFor = 40 * time.Millisecond
)
