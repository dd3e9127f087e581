package dashboard

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/api"
)

// done answers a change that was made.
func (d *Dashboard) done(w http.ResponseWriter, r *http.Request, text, to string) {
	if wantsJSON(r) {
		api.WriteJSON(w, http.StatusOK, map[string]string{"said": text, "to": d.o.BasePath + to})
		return
	}
	d.say(w, r, said{Text: text})
	d.redirect(w, r, to)
}

// end answers a change: with a text, or with the reason for a refusal.
func (d *Dashboard) end(w http.ResponseWriter, r *http.Request, err error, text, to string) {
	if err != nil {
		d.refused(w, r, err, to)
		return
	}
	d.done(w, r, text, to)
}

// refused answers a refused change. A person returns to the page.
func (d *Dashboard) refused(w http.ResponseWriter, r *http.Request, err error, to string) {
	p := problemOf(err)
	if wantsJSON(r) || p.Status >= http.StatusInternalServerError || p.Status == http.StatusUnauthorized {
		d.showError(w, r, err)
		return
	}
	d.say(w, r, said{Failed: true, Text: p.Sentence()})
	d.redirect(w, r, to)
}

// redirect leads a browser to another page.
func (d *Dashboard) redirect(w http.ResponseWriter, r *http.Request, to string) {
	http.Redirect(w, r, d.o.BasePath+to, http.StatusSeeOther)
}

// answerProblem answers a script with a problem.
func (d *Dashboard) answerProblem(w http.ResponseWriter, p *problem) {
	answer := map[string]any{"code": p.Code, "detail": p.Sentence()}
	if p.Outcome.Outcome != "" {
		answer["outcome"] = p.Outcome
	}
	api.WriteJSON(w, p.Status, answer)
}

// back returns the page that a form came from, or another one.
func back(r *http.Request, otherwise string) string {
	to := r.PostFormValue("back")
	if !localPath(to) {
		return otherwise
	}
	return to
}

// localPath reports whether a text is a path of this dashboard, and not of another site.
func localPath(to string) bool {
	return strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") && !strings.ContainsAny(to, "\\\r\n\t")
}

// confirmPage asks whether to do something that can't be undone.
type confirmPage struct {
	page

	Question string // what will happen, to how much
	Yes      string // the name of the button that does it
	Action   string
	Back     string
	Fields   []formField
	Changes  []diffLine // of a policy
	Note     string     // what else to know
}

type formField struct{ Name, Value string }

// isConfirmed reports whether the person has confirmed.
func isConfirmed(r *http.Request) bool { return r.PostFormValue("confirmed") == "yes" }

// confirmed is isConfirmed. Without a confirmation, it answers with the question.
func (d *Dashboard) confirmed(w http.ResponseWriter, r *http.Request, question, yes, to string) bool {
	if isConfirmed(r) {
		return true
	}
	d.ask(w, r, &confirmPage{Question: question, Yes: yes, Back: to})
	return false
}

// ask answers with a question. Its form repeats the fields of the request.
func (d *Dashboard) ask(w http.ResponseWriter, r *http.Request, p *confirmPage) {
	p.page, p.Action = d.page(r, p.Yes+"?"), r.URL.Path
	for name, values := range r.PostForm {
		for _, value := range values {
			p.Fields = append(p.Fields, formField{name, value})
		}
	}
	slices.SortStableFunc(p.Fields, func(a, b formField) int { return strings.Compare(a.Name, b.Name) })
	d.render(w, r, http.StatusOK, "confirm", p)
}

// wrongField returns the field of a form that an error is about, and the error. The field is
// "categories" for "categories.news".
func wrongField(err error) (field, detail string) {
	p := problemOf(err)
	field = p.Outcome.Field
	if i := strings.IndexAny(field, ".["); i >= 0 {
		field = field[:i]
	}
	return field, p.Sentence()
}
