package dashboard

import (
	"net/http"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/records/session"
)

// loginPage asks for an API key.
type loginPage struct {
	page

	To    string // where to go after it
	Wrong string // why the last try failed
}

// loginTo returns the target of a login: a page of this dashboard, never another site.
func loginTo(r *http.Request) string {
	if to := r.FormValue("to"); localPath(to) {
		return to
	}
	return "/"
}

func (d *Dashboard) showLogin(w http.ResponseWriter, r *http.Request) {
	d.render(w, r, http.StatusOK, "login", &loginPage{page: d.page(r, "Log in"), To: loginTo(r)})
}

// login checks an API key as the API does, which also counts wrong ones, and starts a session.
func (d *Dashboard) login(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimSpace(r.PostFormValue("key"))
	if err := d.checkKey(r, key); err != nil {
		failed := problemOf(err)
		if failed.Status >= http.StatusInternalServerError {
			d.showError(w, r, err)
			return
		}
		p := &loginPage{page: d.page(r, "Log in"), To: loginTo(r), Wrong: failed.Sentence()}
		d.render(w, r, failed.Status, "login", p)
		return
	}
	now := d.o.Now()
	cookie, err := d.o.Sessions.Begin(r.Context(), key, d.address(r), now)
	if err != nil {
		d.showError(w, r, err)
		return
	}
	who, _, err := d.o.Sessions.Find(r.Context(), cookie, now)
	if err != nil {
		d.showError(w, r, err)
		return
	}
	d.o.Logger.InfoContext(r.Context(), "a session of the dashboard has begun",
		"account", who.Account.Name, "key", who.Key.ID, "address", d.address(r))
	d.setCookie(w, r, cookie, now.Add(session.Lasts))
	d.redirect(w, r, loginTo(r))
}

// checkKey asks the API whether a key is valid. A key without the scope for the request is valid
// too.
func (d *Dashboard) checkKey(r *http.Request, key string) error {
	if key == "" || strings.ContainsAny(key, " ,\r\n\t") {
		return &problem{Status: http.StatusUnprocessableEntity, Detail: "Enter one API key, which begins with sk_."}
	}
	owner, err := d.newClient(client.Key(key))
	if err != nil {
		return err
	}
	who := caller{address: d.address(r)} // nobody yet
	if _, err = owner.OwnUsage(of(r, who).Context()); err == nil {
		return nil
	}
	failed := problemOf(err)
	switch failed.Status {
	case http.StatusForbidden:
		return nil
	case http.StatusUnauthorized:
		failed.Detail = "The key is unknown, has expired, or its account is disabled."
	}
	return failed
}

// logout ends the session.
func (d *Dashboard) logout(w http.ResponseWriter, r *http.Request) {
	cookie := callerOf(r.Context()).cookie
	if cookie != "" {
		if err := d.o.Sessions.End(r.Context(), cookie); err != nil {
			d.showError(w, r, err)
			return
		}
	}
	d.setCookie(w, r, "", time.Unix(0, 0))
	d.redirect(w, r, "/login")
}

// setCookie sets the cookie of a session until a time.
func (d *Dashboard) setCookie(w http.ResponseWriter, r *http.Request, value string, until time.Time) {
	c := &http.Cookie{
		Name: d.cookieName(r), Value: value, Path: d.o.BasePath + "/", HttpOnly: true, Secure: d.secure(r), SameSite: http.SameSiteLaxMode,
		Expires: until,
	}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}
