package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// maxMany is how many chosen messages one request changes.
const maxMany = 1000

// shownFailures is how many refusals an answer names.
const shownFailures = 5

// manyChange is a change of messages that were chosen in a list.
type manyChange struct {
	noun     string                      // what one message is called
	question string                      // to ask before, with %s for their number; "" for none
	yes      string                      // the name of the button that confirms
	did      string                      // what became of them, after their number
	arrange  func(chosen []string) error // reads and sorts them before; nil for nothing to do
	change   func(user, id string) error
}

// changeMany changes each chosen message. It says how many it changed, and why others were refused.
func (d *Dashboard) changeMany(w http.ResponseWriter, r *http.Request, c manyChange, to string) {
	chosen := r.PostForm["chosen"]
	switch {
	case len(chosen) == 0:
		d.refused(w, r, unprocessable("Choose at least one "+c.noun+"."), to)
		return
	case len(chosen) > maxMany:
		d.refused(w, r, unprocessable(fmt.Sprintf("Choose at most %d %ss.", maxMany, c.noun)), to)
		return
	}
	if c.question != "" && !d.confirmed(w, r, fmt.Sprintf(c.question, plural(len(chosen), c.noun)), c.yes, to) {
		return
	}
	if c.arrange != nil {
		if err := c.arrange(chosen); err != nil {
			d.refused(w, r, err, to)
			return
		}
	}
	done, failures := 0, []string(nil)
	for _, one := range chosen {
		user, id, ok := parseRef(one)
		if !ok {
			failures = append(failures, clip(one, 80)+": not a message.")
			continue
		}
		err := c.change(user, id)
		if err != nil && (len(chosen) == 1 || hopeless(err)) {
			d.refused(w, r, stoppedAfter(done, c.noun, c.did, err), to)
			return
		}
		if err != nil {
			failures = append(failures, id+": "+problemOf(err).Sentence())
			continue
		}
		done++
	}
	text := plural(done, c.noun) + " " + c.did
	if len(failures) == 0 {
		d.done(w, r, text, to)
		return
	}
	text += " Failed: " + strings.Join(failures[:min(len(failures), shownFailures)], " ")
	if more := len(failures) - shownFailures; more > 0 {
		text += " And " + number(more) + " more."
	}
	d.refused(w, r, &problem{Status: http.StatusConflict, Detail: text}, to)
}

// stoppedAfter returns an error that ended a change of many, with what was done before.
func stoppedAfter(done int, noun, did string, err error) error {
	p := problemOf(err)
	if done == 0 || p.Status == http.StatusInternalServerError { // which is logged, and not shown
		return err
	}
	return &problem{Status: p.Status, Code: p.Code, Detail: plural(done, noun) + " " + did + " Then: " + p.Sentence()}
}

// unprocessable returns the problem of a form with a wrong field.
func unprocessable(detail string) *problem {
	return &problem{Status: http.StatusUnprocessableEntity, Detail: detail}
}

// hopeless reports whether every other message would fail with the same error.
func hopeless(err error) bool {
	status := problemOf(err).Status
	return status >= http.StatusInternalServerError || status == http.StatusForbidden || status == http.StatusUnauthorized || status == http.StatusTooManyRequests
}

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
