package dashboard

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/message"
)

// accountsPage lists the accounts.
type accountsPage struct {
	page
	listing

	Accounts []message.Account
	Tiers    []message.Tier
}

func (d *Dashboard) listAccounts(w http.ResponseWriter, r *http.Request) {
	p := &accountsPage{page: d.page(r, "Accounts"), listing: listingOf(r)}
	if wantsCSV(r) {
		d.download(w, r, "accounts", []string{"account", "tier", "time_zone", "contact", "keys", "disabled", "created_at"}, func() ([][]string, bool, error) {
			var answer message.Accounts
			err := d.get(r, apiPath("accounts"), p.ask(maxPage), &answer)
			p.At = answer.NextCursor
			rows := make([][]string, len(answer.Accounts))
			for i, a := range answer.Accounts {
				rows[i] = []string{a.Name, a.Tier, a.TimeZone, a.Contact, strconv.Itoa(len(a.Keys)), strconv.FormatBool(a.Disabled), iso(a.CreatedAt)}
			}
			return rows, p.At != "", err
		})
		return
	}
	var answer message.Accounts
	if err := d.get(r, apiPath("accounts"), p.ask(pageSize), &answer); err != nil {
		d.showError(w, r, err)
		return
	}
	p.Accounts, p.Next = answer.Accounts, answer.NextCursor
	var err error
	if p.Tiers, err = d.tiers(r); err != nil {
		d.showError(w, r, err)
		return
	}
	d.render(w, r, http.StatusOK, "accounts", p)
}

// tiers returns the tiers to choose from.
func (d *Dashboard) tiers(r *http.Request) ([]message.Tier, error) {
	var answer message.Tiers
	err := d.get(r, apiPath("tiers"), url.Values{"limit": {strconv.Itoa(maxPage)}}, &answer)
	return answer.Tiers, err
}

func (d *Dashboard) createAccount(w http.ResponseWriter, r *http.Request) {
	draft := message.AccountDraft{
		Name: strings.TrimSpace(r.PostFormValue("account")), Tier: r.PostFormValue("tier"), Contact: strings.TrimSpace(r.PostFormValue("contact")),
		TimeZone: strings.TrimSpace(r.PostFormValue("time_zone")),
	}
	err := d.call(r, http.MethodPost, apiPath("accounts"), nil, draft, nil)
	if err != nil {
		d.refused(w, r, err, "/accounts")
		return
	}
	d.done(w, r, "The account "+draft.Name+" is created. Give it a key next.", link("/account", "name", draft.Name))
}

// accountPage shows an account with its keys and quotas. A caller without the scope admin sees
// the own one.
type accountPage struct {
	page

	Name    string
	Account *message.Account // nil for a caller who may not see it
	Usage   message.AccountUsage
	Tiers   []message.Tier
	Alerted int                // percent of the day's quota that was alerted today; 0 for none
	Key     *message.NewAPIKey // a key that was just made; it is shown once
}

func (d *Dashboard) showAccount(w http.ResponseWriter, r *http.Request) {
	d.renderAccount(w, r, r.URL.Query().Get("name"), nil)
}

func (d *Dashboard) renderAccount(w http.ResponseWriter, r *http.Request, name string, key *message.NewAPIKey) {
	who := callerOf(r.Context())
	p := &accountPage{page: d.page(r, "Account "+clip(name, 80)), Name: name, Key: key}
	p.Path = "/account"
	if !who.Admin() || name == "" {
		p.Name, p.Title = who.Account(), "Account "+who.Account()
		if err := d.get(r, apiPath("usage"), nil, &p.Usage); err != nil {
			d.showError(w, r, err)
			return
		}
		d.renderAlerted(w, r, p)
		return
	}
	p.Account = &message.Account{}
	err := d.get(r, apiPath("accounts", name), nil, p.Account)
	if err == nil {
		err = d.get(r, apiPath("accounts", name, "usage"), nil, &p.Usage)
	}
	if err == nil {
		p.Tiers, err = d.tiers(r)
	}
	if err != nil {
		d.showError(w, r, err)
		return
	}
	d.renderAlerted(w, r, p)
}

// renderAlerted answers with the page, and what was alerted of the present day.
func (d *Dashboard) renderAlerted(w http.ResponseWriter, r *http.Request, p *accountPage) {
	var err error
	if p.Alerted, err = d.o.Overview.Alerted(r.Context(), p.Name, p.Usage.Day.From.Time); err != nil {
		d.showError(w, r, err)
		return
	}
	d.render(w, r, http.StatusOK, "account", p)
}

func (d *Dashboard) changeAccount(w http.ResponseWriter, r *http.Request) {
	name := r.PostFormValue("name")
	to := link("/account", "name", name)
	tier, contact, zone, report := r.PostFormValue("tier"), strings.TrimSpace(r.PostFormValue("contact")), strings.TrimSpace(r.PostFormValue("time_zone")), strings.TrimSpace(r.PostFormValue("report_at"))
	disabled := r.PostFormValue("disabled") == "yes"
	if disabled && !d.confirmed(w, r, "Disable the account "+name+"? All its keys are refused from now on. What it has submitted is still sent.", "Disable", to) {
		return
	}
	patch := message.AccountPatch{Tier: &tier, Contact: &contact, TimeZone: &zone, ReportAt: &report, Disabled: &disabled}
	err := d.call(r, http.MethodPatch, apiPath("accounts", name), nil, patch, nil)
	if err != nil {
		d.refused(w, r, err, to)
		return
	}
	d.done(w, r, "The account is changed.", to)
}

// changeKey adds, rotates or removes a key of an account. A new key is shown once.
func (d *Dashboard) changeKey(w http.ResponseWriter, r *http.Request) {
	name, id, do := r.PostFormValue("name"), r.PostFormValue("key"), r.PostFormValue("do")
	to := link("/account", "name", name)
	var made message.NewAPIKey
	var err error
	switch do {
	case "remove":
		if !d.confirmed(w, r, "Remove the key "+id+" of "+name+"? Programs that use it are refused at once.", "Remove", to) {
			return
		}
		err = d.call(r, http.MethodDelete, apiPath("accounts", name, "keys", id), nil, nil, nil)
		if err == nil {
			d.done(w, r, "The key "+id+" is removed.", to)
			return
		}
	case "rotate":
		rotation := message.APIKeyRotation{Overlap: strings.TrimSpace(r.PostFormValue("overlap"))}
		err = d.call(r, http.MethodPost, apiPath("accounts", name, "keys", id, "rotate"), nil, rotation, &made)
	default:
		draft := message.APIKeyDraft{Scopes: r.PostForm["scope"], ExpiresAt: apiTime(r.PostFormValue("expires_at"))}
		err = d.call(r, http.MethodPost, apiPath("accounts", name, "keys"), nil, draft, &made)
	}
	if err != nil {
		d.refused(w, r, err, to)
		return
	}
	d.renderAccount(w, r, name, &made)
}
