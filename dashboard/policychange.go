package dashboard

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/message"
)

// policyChange is a policy that replaces another one, with a question to confirm it.
type policyChange struct {
	name                string
	from                *message.Policy // nil for none
	to                  message.Policy
	question, yes, back string
}

// confirmedChange is confirmed. The question has the changes of the policy, and how many scheduled
// messages would no longer fit. It is not asked if nothing changes.
func (d *Dashboard) confirmedChange(w http.ResponseWriter, r *http.Request, c policyChange) bool {
	before, after := policyText(c.from), policyText(&c.to)
	if isConfirmed(r) || before == after {
		return true
	}
	d.ask(w, r, &confirmPage{
		Question: c.question + " Every program follows within two seconds. Scheduled messages keep their places.",
		Yes:      c.yes, Back: c.back, Changes: diffOf(before, after), Note: d.misfits(r, c.name, c.to),
	})
	return false
}

// applyPolicy stores the policy of the form, after a question if it changes one. If the form has
// errors, the page shows them at their fields.
func (d *Dashboard) applyPolicy(w http.ResponseWriter, r *http.Request) {
	form := readPolicyForm(r)
	to := link("/policy", "name", form.Name)
	document, ok := form.check()
	if !ok {
		p := &policyPage{page: d.page(r, "Policy "+clip(form.Name, 80)), Name: form.Name, Form: form, Wrong: "The policy was not applied: see the marked fields."}
		d.renderPolicy(w, r, http.StatusUnprocessableEntity, p)
		return
	}
	stored, err := d.api.Policy(r.Context(), form.Name)
	if err != nil && !isNotFound(err) {
		d.policyRefused(w, r, form, err)
		return
	}
	named := document
	named.Name = form.Name
	applied, wrong := named.Policy() // of which the API says what is wrong
	if err == nil && wrong == nil && text(stored.Version) == form.Version && !d.confirmedChange(w, r, policyChange{
		name: form.Name, from: &stored, to: message.PolicyOf(applied),
		question: "Apply this to the policy " + form.Name + "?", yes: "Apply", back: to,
	}) {
		return
	}
	change, err := d.api.ApplyPolicy(r.Context(), form.Name, message.Policy(document), form.condition())
	if err != nil {
		d.policyRefused(w, r, form, err)
		return
	}
	if !change.Changed {
		d.done(w, r, "Nothing has changed.", to)
		return
	}
	d.done(w, r, "Version "+text(change.New.Version)+" of the policy was applied. Every program follows within two seconds. "+
		"Scheduled messages keep their places. Use Count to see which no longer fit.", to)
}

// policyRefused answers with the form and the reason for the refusal.
func (d *Dashboard) policyRefused(w http.ResponseWriter, r *http.Request, form policyForm, err error) {
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError || p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden {
		d.showError(w, r, err)
		return
	}
	d.renderPolicy(w, r, p.Status, &policyPage{page: d.page(r, "Policy "+clip(form.Name, 80)), Name: form.Name, Form: form, Wrong: p.Sentence()})
}

// rollbackPolicy stores an earlier version of a policy again, if it has not changed since the
// question.
func (d *Dashboard) rollbackPolicy(w http.ResponseWriter, r *http.Request) {
	name := r.PostFormValue("name")
	to := link("/policy", "name", name)
	version, err := strconv.ParseInt(r.PostFormValue("version"), 10, 64)
	if err != nil {
		d.refused(w, r, &problem{Status: http.StatusUnprocessableEntity, Detail: "The version is not a number."}, to)
		return
	}
	if !isConfirmed(r) {
		all, err := d.api.ListPolicyVersions(r.Context(), name)
		if err != nil {
			d.refused(w, r, err, to)
			return
		}
		c := policyChange{name: name, question: "Store version " + text(version) + " of the policy " + name + " again?", yes: "Roll back", back: to}
		if present := all.Versions[0]; !present.Deleted {
			c.from = present.Policy
			r.PostForm.Set("present", text(present.Version))
		}
		at := slices.IndexFunc(all.Versions, func(v message.PolicyVersion) bool { return v.Version == version && v.Policy != nil })
		if at >= 0 { // or the API says that there is none
			c.to = *all.Versions[at].Policy
			if !d.confirmedChange(w, r, c) {
				return
			}
		}
	}
	var only client.Condition
	if present := r.PostFormValue("present"); present != "" {
		only = client.IfVersion(present)
	}
	_, err = d.api.RollbackPolicy(r.Context(), name, message.PolicyRollback{Version: version}, only)
	d.end(w, r, err, "The policy was rolled back to version "+text(version)+".", to)
}

// misfitsWithin bounds how long a question counts misfits.
const misfitsWithin = 15 * time.Second

// misfits says how many scheduled messages would not fit a policy.
func (d *Dashboard) misfits(r *http.Request, name string, of message.Policy) string {
	ctx, cancel := context.WithTimeout(r.Context(), misfitsWithin)
	defer cancel()
	of.Name, of.Version = "", 0
	found := 0
	for event, err := range d.api.DryRunPolicy(ctx, name, of) {
		switch s := event.Summary; {
		case err != nil && found == 0 && ctx.Err() == nil:
			return "Counting messages that would no longer fit failed: " + problemOf(err).Sentence()
		case err != nil:
			return "At least " + plural(found, "message") + " would no longer fit. The policy's page counts all."
		case event.Misfit != nil:
			found++
		case s != nil && s.Misfits == 0:
			return "All " + plural(s.Reservations, "scheduled message") + " would fit."
		case s != nil:
			already := ""
			if s.Baseline != nil && s.Baseline.Misfits > 0 {
				already = " " + number(s.Baseline.Misfits) + " already do not fit the stored policy."
			}
			return number(s.Misfits) + " of " + plural(s.Reservations, "scheduled message") + ", to " + plural(s.MisfitUsers, "user") +
				", would no longer fit." + already + " The policy's page moves or cancels them afterwards."
		}
	}
	return "" // no answer ends without a summary or an error
}
