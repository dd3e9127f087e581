package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/message"
)

// deadLettersPage lists messages that were given up.
type deadLettersPage struct {
	page
	listing

	DeadLetters []message.Status
}

func (d *Dashboard) listDeadLetters(w http.ResponseWriter, r *http.Request) {
	p := &deadLettersPage{page: d.page(r, "Dead letters"), listing: listingOf(r, "user")}
	p.Script = "select.js"
	list[message.Status]{
		name: "dead-letters", page: p, at: &p.listing, entries: &p.DeadLetters,
		columns: []string{"user", "id", "send_at", "ended_at", "status", "reason", "attempts", "account", "category", "campaign"},
		row: func(m message.Status) []string {
			return []string{m.User, m.ID, iso(m.SendAt), iso(m.EndedAt), m.Status, m.Reason, number(m.Attempts), m.Account, m.Category, m.Campaign}
		},
		read: func(size int) ([]message.Status, string, error) {
			answer, err := d.api.ListDeadLettersPage(r.Context(), client.ListDeadLettersQuery{User: p.Get("user"), Limit: size}, p.At)
			return answer.DeadLetters, answer.NextCursor, err
		},
	}.show(d, w, r)
}

// maxMany is how many dead letters one request retries or removes.
const maxMany = 1000

// changeDeadLetters retries or removes the chosen dead letters, or all old ones.
func (d *Dashboard) changeDeadLetters(w http.ResponseWriter, r *http.Request) {
	to := back(r, "/dead-letters")
	do := r.PostFormValue("do")
	chosen := r.PostForm["letter"]
	switch {
	case do == "purge-old":
		d.purgeOldLetters(w, r, to)
		return
	case do != "retry" && do != "purge":
		d.refused(w, r, &problem{Status: http.StatusUnprocessableEntity, Detail: "do must be retry, purge or purge-old"}, to)
		return
	case len(chosen) == 0:
		d.refused(w, r, &problem{Status: http.StatusUnprocessableEntity, Detail: "Choose at least one dead letter."}, to)
		return
	case len(chosen) > maxMany:
		d.refused(w, r, &problem{Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf("Choose at most %d dead letters.", maxMany)}, to)
		return
	}
	many := plural(len(chosen), "dead letter")
	if do == "purge" && !d.confirmed(w, r, "Remove "+many+"? Their content, records and ids are erased. This can't be undone.", "Remove", to) {
		return
	}
	if do == "retry" && len(chosen) > 1 && !d.confirmed(w, r, "Send "+many+" again? Each gets its user's next free time.", "Send again", to) {
		return
	}
	done, failures := 0, []string(nil)
	for _, one := range chosen {
		user, id, ok := parseRef(one)
		if !ok {
			failures = append(failures, clip(one, 80)+": not a message.")
			continue
		}
		err := d.changeLetter(r, do, user, id)
		if err != nil && (len(chosen) == 1 || hopeless(err)) {
			d.refused(w, r, err, to)
			return
		}
		if err != nil {
			failures = append(failures, id+": "+problemOf(err).Sentence())
			continue
		}
		done++
	}
	text := plural(done, "dead letter") + map[string]string{"retry": " will be sent again.", "purge": " removed."}[do]
	if len(failures) > 0 {
		err := &problem{Status: http.StatusConflict, Detail: text + "  Failed: " + strings.Join(failures[:min(len(failures), 5)], " ")}
		d.refused(w, r, err, to)
		return
	}
	d.done(w, r, text, to)
}

// hopeless reports whether every other dead letter would fail with the same error.
func hopeless(err error) bool {
	status := problemOf(err).Status
	return status >= http.StatusInternalServerError || status == http.StatusForbidden || status == http.StatusUnauthorized || status == http.StatusTooManyRequests
}

// changeLetter retries or removes a dead letter.
func (d *Dashboard) changeLetter(r *http.Request, do, user, id string) error {
	change := d.api.PurgeDeadLetter
	if do == "retry" {
		change = d.api.RetryDeadLetter
	}
	_, err := change(r.Context(), user, id)
	return err
}

// purgeOlder removes dead letters that ended longer ago than an age, and returns their number.
func (d *Dashboard) purgeOlder(r *http.Request, age string) (purged int, err error) {
	for began := d.o.Now(); d.o.Now().Sub(began) < purgeWithin; {
		answer, err := d.api.PurgeDeadLetters(r.Context(), client.PurgeDeadLettersQuery{OlderThan: age})
		if err != nil {
			return purged, err
		}
		if purged += answer.Purged; !answer.More {
			return purged, nil
		}
	}
	return purged, &problem{Status: http.StatusServiceUnavailable, Code: "unavailable", Detail: number(purged) + " removed, and more remain: try again."}
}

// purgeOldLetters removes the dead letters that ended before a time.
func (d *Dashboard) purgeOldLetters(w http.ResponseWriter, r *http.Request, to string) {
	age := strings.TrimSpace(r.PostFormValue("older_than"))
	if !d.confirmed(w, r, "Remove all dead letters that ended more than "+age+" ago? This can't be undone.", "Remove", to) {
		return
	}
	purged, err := d.purgeOlder(r, age)
	d.end(w, r, err, plural(purged, "dead letter")+" removed.", to)
}

// purgeWithin bounds how long a request removes dead letters.
const purgeWithin = 20 * time.Second

// ref returns the value of a form that names a message; parseRef reads it. Both parts are
// escaped, so that the space between them is the only one.
func ref(user, id string) string { return url.QueryEscape(user) + " " + url.QueryEscape(id) }

func parseRef(text string) (user, id string, ok bool) {
	first, second, ok := strings.Cut(text, " ")
	user, err := url.QueryUnescape(first)
	if err != nil {
		return "", "", false
	}
	id, err = url.QueryUnescape(second)
	return user, id, ok && err == nil
}

// plural returns a count with a noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}

// alertsPage lists alerts and reports that could not be delivered.
type alertsPage struct {
	page
	listing

	Alerts []message.DeadAlert
}

func (d *Dashboard) listAlerts(w http.ResponseWriter, r *http.Request) {
	p := &alertsPage{page: d.page(r, "Failed alerts"), listing: listingOf(r)}
	list[message.DeadAlert]{
		name: "alerts", page: p, at: &p.listing, entries: &p.Alerts,
		columns: []string{"alert", "kind", "subject", "since", "threshold", "used", "limit", "reason", "ended_at"},
		row: func(a message.DeadAlert) []string {
			return []string{a.Alert, a.Kind, a.Subject, iso(a.Since), number(a.Threshold), number(a.Used), number(a.Limit), a.Reason, iso(a.EndedAt)}
		},
		read: func(size int) ([]message.DeadAlert, string, error) {
			answer, err := d.api.ListDeadAlertsPage(r.Context(), client.ListDeadAlertsQuery{Limit: size}, p.At)
			return answer.DeadAlerts, answer.NextCursor, err
		},
	}.show(d, w, r)
}

// changeAlerts sends an alert again, or removes it.
func (d *Dashboard) changeAlerts(w http.ResponseWriter, r *http.Request) {
	alert, do, to := r.PostFormValue("alert"), r.PostFormValue("do"), back(r, "/alerts")
	change := d.api.RetryDeadAlert
	if do == "purge" {
		change = d.api.PurgeDeadAlert
		if !d.confirmed(w, r, "Remove the alert? It will not be sent.", "Remove", to) {
			return
		}
	}
	_, err := change(r.Context(), alert)
	d.end(w, r, err, map[bool]string{true: "The alert was removed.", false: "The alert will be sent again."}[do == "purge"], to)
}
