package dashboard

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
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
	Groups      []letterGroup // of the oldest dead letters, on the first page without filters
	MoreGroups  bool          // there are more dead letters than those
}

// letterGroup is how many dead letters were given up for a reason.
type letterGroup struct {
	Reason, Status string
	Count          int
	First, Last    message.Time // when they ended
	Said           string       // what a provider said to the last one; "" for nothing
}

// groupLetters counts dead letters by reason and status, those with most first.
func groupLetters(letters []message.Status) []letterGroup {
	var groups []letterGroup
	for _, m := range letters {
		i := slices.IndexFunc(groups, func(g letterGroup) bool { return g.Reason == m.Reason && g.Status == m.Status })
		if i < 0 {
			i, groups = len(groups), append(groups, letterGroup{Reason: m.Reason, Status: m.Status, First: m.EndedAt})
		}
		groups[i].Count++
		groups[i].Last, groups[i].Said = m.EndedAt, cmp.Or(m.ProviderSaid, groups[i].Said)
	}
	slices.SortStableFunc(groups, func(a, b letterGroup) int { return b.Count - a.Count })
	return groups
}

// lettersOf returns the query for the dead letters that filters select.
func lettersOf(filter func(name string) string, size int) client.ListDeadLettersQuery {
	return client.ListDeadLettersQuery{User: filter("user"), Reason: filter("reason"), Campaign: filter("campaign"), Account: filter("account"), Limit: size}
}

func (d *Dashboard) listDeadLetters(w http.ResponseWriter, r *http.Request) {
	p := &deadLettersPage{page: d.page(r, "Failures"), listing: listingOf(r, "user", "reason", "campaign", "account")}
	p.Script = "select.js"
	list[message.Status]{
		name: "dead-letters", page: p, at: &p.listing, entries: &p.DeadLetters,
		columns: []string{"user", "id", "send_at", "ended_at", "status", "reason", "provider_said", "attempts", "account", "category", "campaign"},
		row: func(m message.Status) []string {
			return []string{m.User, m.ID, iso(m.SendAt), iso(m.EndedAt), m.Status, m.Reason, m.ProviderSaid, number(m.Attempts), m.Account, m.Category, m.Campaign}
		},
		read: func(size int) ([]message.Status, string, error) {
			grouped := !p.Filtered() && p.At == "" && !wantsCSV(r)
			if grouped {
				size = maxPage
			}
			answer, err := d.api.ListDeadLettersPage(r.Context(), lettersOf(p.Get, size), p.At)
			if !grouped || err != nil {
				return answer.DeadLetters, answer.NextCursor, err
			}
			p.Groups, p.MoreGroups = groupLetters(answer.DeadLetters), answer.NextCursor != ""
			if len(answer.DeadLetters) <= pageSize {
				return answer.DeadLetters, answer.NextCursor, nil
			}
			answer, err = d.api.ListDeadLettersPage(r.Context(), lettersOf(p.Get, pageSize), p.At)
			return answer.DeadLetters, answer.NextCursor, err
		},
	}.show(d, w, r)
}

// changeDeadLetters retries or removes the chosen dead letters, or all old ones.
func (d *Dashboard) changeDeadLetters(w http.ResponseWriter, r *http.Request) {
	to := back(r, "/dead-letters")
	c := manyChange{noun: "dead letter"}
	switch r.PostFormValue("do") {
	case "purge-old":
		d.purgeOldLetters(w, r, to)
		return
	case "retry-all", "purge-all":
		d.changeAllLetters(w, r, r.PostFormValue("do") == "retry-all", to)
		return
	case "purge":
		c.question = "Remove %s? Their content, records and ids are erased. This can't be undone."
		c.yes, c.did, c.change = "Remove", "removed.", func(user, id string) error {
			_, err := d.api.PurgeDeadLetter(r.Context(), user, id)
			return err
		}
	case "retry":
		c = d.retryMany(r, c.noun)
	default:
		d.refused(w, r, unprocessable("do must be retry, purge, retry-all, purge-all or purge-old"), to)
		return
	}
	d.changeMany(w, r, c, to)
}

// retryMany sends chosen messages again. One alone needs no question.
func (d *Dashboard) retryMany(r *http.Request, noun string) manyChange {
	c := manyChange{noun: noun, yes: "Send again", did: "will be sent again.", change: func(user, id string) error {
		_, err := d.api.RetryDeadLetter(r.Context(), user, id)
		return err
	}}
	if len(r.PostForm["chosen"]) > 1 {
		c.question = "Send %s again? Each gets its user's next free time."
	}
	return c
}

// changeAllLetters retries or removes all dead letters that the filters of a form select.
func (d *Dashboard) changeAllLetters(w http.ResponseWriter, r *http.Request, retry bool, to string) {
	question, yes, did := "Remove %s? Their content, records and ids are erased. This can't be undone.", "Remove", "removed."
	if retry {
		question, yes, did = "Send %s again? Each gets its user's next free time.", "Send again", "will be sent again."
	}
	if !isConfirmed(r) {
		found, more, err := first(d.api.ListDeadLetters(r.Context(), lettersOf(r.PostFormValue, maxPage)), maxPage)
		if err != nil {
			d.refused(w, r, err, to)
			return
		}
		count := plural(len(found), "dead letter")
		if more {
			count = "more than " + count
		}
		d.ask(w, r, &confirmPage{Question: fmt.Sprintf(question, count), Yes: yes, Back: to})
		return
	}
	of := lettersOf(r.PostFormValue, pageSize)
	done, refused, cursor := 0, 0, ""
	for began := d.o.Now(); ; {
		outcomes, next, err := d.changeLetters(r, of, cursor, retry)
		for _, o := range outcomes {
			if o.Outcome == message.Refused {
				refused++
			} else {
				done++
			}
		}
		if err != nil {
			d.refused(w, r, stoppedAfter(done, "dead letter", did, err), to)
			return
		}
		if cursor = next; cursor == "" || d.o.Now().Sub(began) > changeWithin {
			break
		}
	}
	text := plural(done, "dead letter") + " " + did
	if refused > 0 {
		text += " " + plural(refused, "dead letter") + " remained: open one to see why."
	}
	if cursor != "" {
		text += " There may be more: do it again."
	}
	d.done(w, r, text, to)
}

// changeLetters retries or removes a page of dead letters, and returns their outcomes and the cursor of
// the next page.
func (d *Dashboard) changeLetters(r *http.Request, of client.ListDeadLettersQuery, cursor string, retry bool) (outcomes []message.Outcome, next string, err error) {
	if retry {
		page, err := d.api.RetryDeadLettersPage(r.Context(), client.RetryDeadLettersQuery(of), cursor)
		return page.Outcomes, page.NextCursor, err
	}
	page, err := d.api.ListDeadLettersPage(r.Context(), of, cursor)
	if err != nil {
		return nil, "", err
	}
	for _, letter := range page.DeadLetters {
		o, err := d.api.PurgeDeadLetter(r.Context(), letter.User, letter.ID)
		if isNotFound(err) {
			continue // somebody else was quicker
		}
		if err != nil {
			return outcomes, "", err
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, page.NextCursor, nil
}

// purgeOlder removes dead letters that ended longer ago than an age, and returns their number.
func (d *Dashboard) purgeOlder(r *http.Request, age string) (purged int, err error) {
	for began := d.o.Now(); d.o.Now().Sub(began) < changeWithin; {
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

// changeWithin bounds how long a request retries or removes dead letters.
const changeWithin = 20 * time.Second

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
