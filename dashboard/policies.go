package dashboard

import (
	"encoding/json"
	"net/http"
	"net/url"

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
	var answer message.Policies
	if wantsCSV(r) {
		d.download(w, r, "policies", []string{"policy", "version", "rules", "time_zone", "quiet_hours", "categories"}, func() ([][]string, bool, error) {
			answer = message.Policies{}
			err := d.get(r, apiPath("policies"), p.ask(maxPage), &answer)
			p.At = answer.NextCursor
			rows := make([][]string, len(answer.Policies))
			for i, one := range answer.Policies {
				rows[i] = []string{one.Name, text(one.Version), joined(one.Rules), one.TimeZone, joined(one.QuietHours), joined(sortedKeys(one.Categories))}
			}
			return rows, p.At != "", err
		})
		return
	}
	if err := d.get(r, apiPath("policies"), p.ask(pageSize), &answer); err != nil {
		d.showError(w, r, err)
		return
	}
	p.Policies, p.Unreadable, p.Next = answer.Policies, answer.Unreadable, answer.NextCursor
	d.render(w, r, http.StatusOK, "policies", p)
}

// policyPage shows a policy as a form, what another limit would mean, and its versions.
type policyPage struct {
	page

	Name     string
	New      bool // there is no such policy yet
	Form     policyForm
	Sliders  []planRule
	Versions []policyVersion
	Wrong    string // why the form was not applied
}

// policyVersion is a version of a policy with what changed in it.
type policyVersion struct {
	message.PolicyVersion

	Changes []diffLine
	Present bool
}

func (d *Dashboard) showPolicy(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	p := &policyPage{page: d.page(r, "Policy "+clip(name, 80)), Name: name}
	var stored message.Policy
	err := d.get(r, apiPath("policies", name), nil, &stored)
	switch {
	case isNotFound(err) && r.URL.Query().Get("new") == "yes":
		p.New = true
		stored.Rules = []string{"1/minute", "5/hour", "10/calendar_day"}
	case err != nil:
		d.showError(w, r, err)
		return
	}
	p.Form = policyFormOf(stored)
	d.renderPolicy(w, r, http.StatusOK, p)
}

func (d *Dashboard) renderPolicy(w http.ResponseWriter, r *http.Request, status int, p *policyPage) {
	p.Path, p.Script = "/policy", "policy.js"
	p.Sliders = slidersOf(fields(p.Form.Rules))
	var answer message.PolicyVersions
	if err := d.get(r, apiPath("policies", p.Name, "versions"), nil, &answer); err != nil && !isNotFound(err) {
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

// checkPolicy tells a script everything that is wrong with the form.
func (d *Dashboard) checkPolicy(w http.ResponseWriter, r *http.Request) {
	form := readPolicyForm(r)
	form.check()
	answerJSON(w, http.StatusOK, map[string]any{"wrong": form.Wrong})
}

// previewPolicy answers with the scheduled messages that would not fit the policy of the form.
func (d *Dashboard) previewPolicy(w http.ResponseWriter, r *http.Request) {
	form := readPolicyForm(r)
	document, ok := form.check()
	if !ok {
		answerJSON(w, http.StatusUnprocessableEntity, map[string]any{"wrong": form.Wrong, "detail": "The policy can't be tried: see the fields that are marked."})
		return
	}
	asked, err := d.requestWith(r, http.MethodPost, apiPath("policies", form.Name, "preview"), nil, document)
	if err != nil {
		d.showError(w, r, err)
		return
	}
	d.forward(w, r, asked)
}

// refitPolicy moves or cancels the messages that do not fit the stored policy, and answers with
// what became of each.
func (d *Dashboard) refitPolicy(w http.ResponseWriter, r *http.Request) {
	name, then := r.PostFormValue("name"), r.PostFormValue("then")
	d.forward(w, r, d.request(r, http.MethodPost, apiPath("policies", name, "refit"), url.Values{"then": {then}}, nil))
}

func (d *Dashboard) deletePolicy(w http.ResponseWriter, r *http.Request) {
	name := r.PostFormValue("name")
	to := link("/policy", "name", name)
	if !d.confirmed(w, r, "Delete the policy "+name+"? A policy that users have stays. Its versions are kept, so that it can be rolled back.", "Delete", to) {
		return
	}
	err := d.call(r, http.MethodDelete, apiPath("policies", name), nil, nil, nil)
	if err != nil {
		d.refused(w, r, err, to)
		return
	}
	d.done(w, r, "The policy is deleted.", "/policies")
}
