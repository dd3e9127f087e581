package dashboard

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/message"
)

// policiesPage lists the policies.
type policiesPage struct {
	page
	listing

	Policies   []message.Policy
	Unreadable []string
}

func (d *Dashboard) listPolicies(w http.ResponseWriter, r *http.Request) {
	p := &policiesPage{page: d.page(r, "Policies"), listing: listingOf(r)}
	list[message.Policy]{
		name: "policies", page: p, at: &p.listing, entries: &p.Policies,
		columns: []string{"policy", "version", "rules", "time_zone", "quiet_hours", "categories"},
		row: func(one message.Policy) []string {
			return []string{one.Name, text(one.Version), joined(one.Rules), one.TimeZone, joined(one.QuietHours), joined(slices.Sorted(maps.Keys(one.Categories)))}
		},
		read: func(size int) ([]message.Policy, string, error) {
			answer, err := d.api.ListPoliciesPage(r.Context(), client.ListPoliciesQuery{Limit: size}, p.At)
			p.Unreadable = append(p.Unreadable, answer.Unreadable...)
			return answer.Policies, answer.NextCursor, err
		},
	}.show(d, w, r)
}

// policyPage shows a policy as a form, a dry run of other limits, and its versions.
type policyPage struct {
	page

	Name     string
	New      bool // there is no such policy yet
	Form     policyForm
	Sliders  []planRule
	Weeks    []week // when the stored policy lets nothing be sent
	Versions []policyVersion
	Wrong    string // why the form was not applied
}

// policyVersion is a version of a policy with its changes.
type policyVersion struct {
	message.PolicyVersion

	Changes []diffLine
	Present bool
}

func (d *Dashboard) showPolicy(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	p := &policyPage{page: d.page(r, "Policy "+clip(name, 80)), Name: name}
	stored, err := d.api.Policy(r.Context(), name)
	switch {
	case isNotFound(err) && r.URL.Query().Get("new") == "yes":
		p.New = true
		stored.Rules = []string{"1/minute", "5/hour", "10/calendar_day"}
	case err != nil:
		d.showError(w, r, err)
		return
	}
	p.Form = policyFormOf(stored)
	if p.Weeks, err = weeksOf(stored, p.Now); err != nil {
		d.showError(w, r, err)
		return
	}
	d.renderPolicy(w, r, http.StatusOK, p)
}

func (d *Dashboard) renderPolicy(w http.ResponseWriter, r *http.Request, status int, p *policyPage) {
	p.Path, p.Script = "/policy", "policy.js"
	p.Sliders = slidersOf(fields(p.Form.Rules))
	answer, err := d.api.ListPolicyVersions(r.Context(), p.Name)
	if err != nil && !isNotFound(err) {
		d.showError(w, r, err)
		return
	}
	for i, v := range answer.Versions {
		shown := policyVersion{PolicyVersion: v, Present: i == 0}
		if i+1 < len(answer.Versions) {
			shown.Changes = diffOf(policyText(answer.Versions[i+1].Policy), policyText(v.Policy))
		}
		p.Versions = append(p.Versions, shown)
	}
	d.render(w, r, status, "policy", p)
}

// policyText returns a policy as a text to compare, without its version.
func policyText(p *message.Policy) string {
	if p == nil {
		return ""
	}
	shown := *p
	shown.Version = 0
	text, err := json.MarshalIndent(shown, "", "  ")
	if err != nil {
		return ""
	}
	return string(text)
}

// checkPolicy answers a script with all errors of the form.
func (d *Dashboard) checkPolicy(w http.ResponseWriter, r *http.Request) {
	form := readPolicyForm(r)
	form.check()
	api.WriteJSON(w, http.StatusOK, map[string]any{"wrong": form.Wrong})
}

// dryRunPolicy answers with the scheduled messages that would not fit the policy of the form.
func (d *Dashboard) dryRunPolicy(w http.ResponseWriter, r *http.Request) {
	form := readPolicyForm(r)
	document, ok := form.check()
	if !ok {
		api.WriteJSON(w, http.StatusUnprocessableEntity, map[string]any{"wrong": form.Wrong, "detail": "The dry run is not possible: see the marked fields."})
		return
	}
	text, err := json.Marshal(document)
	if err != nil {
		d.showError(w, r, err)
		return
	}
	d.forward(w, r, apiPath("policies", form.Name, "dry-run"), "application/json", bytes.NewReader(text))
}

// refitPolicy moves or cancels the messages that do not fit the stored policy, and answers with the
// outcome of each.
func (d *Dashboard) refitPolicy(w http.ResponseWriter, r *http.Request) {
	name, then := r.PostFormValue("name"), r.PostFormValue("then")
	d.forward(w, r, withQuery(apiPath("policies", name, "refit"), url.Values{"then": {then}}), "", http.NoBody)
}

func (d *Dashboard) deletePolicy(w http.ResponseWriter, r *http.Request) {
	name := r.PostFormValue("name")
	to := link("/policy", "name", name)
	if !d.confirmed(w, r, "Delete the policy "+name+"? A policy with users can't be deleted. Its versions are kept, so that it can be rolled back.", "Delete", to) {
		return
	}
	if _, err := d.api.DeletePolicy(r.Context(), name); err != nil {
		d.refused(w, r, err, to)
		return
	}
	d.done(w, r, "The policy was deleted.", "/policies")
}
