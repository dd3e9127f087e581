package dashboard

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/client"
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
	var err error
	if p.Tiers, err = d.tiers(r); err != nil {
		d.showError(w, r, err)
		return
	}
	list[message.Account]{
		name: "accounts", page: p, at: &p.listing, entries: &p.Accounts,
		columns: []string{"account", "tier", "time_zone", "contact", "keys", "disabled", "created_at"},
		row: func(a message.Account) []string {
			return []string{a.Name, a.Tier, a.TimeZone, a.Contact, strconv.Itoa(len(a.Keys)), strconv.FormatBool(a.Disabled), iso(a.CreatedAt)}
		},
		read: func(size int) ([]message.Account, string, error) {
			answer, err := d.api.ListAccountsPage(r.Context(), client.ListAccountsQuery{Limit: size}, p.At)
			return answer.Accounts, answer.NextCursor, err
		},
	}.show(d, w, r)
}

// tiers returns the tiers to choose from.
func (d *Dashboard) tiers(r *http.Request) ([]message.Tier, error) {
	tiers, _, err := first(d.api.ListTiers(r.Context(), client.ListTiersQuery{Limit: maxPage}), maxPage)
	return tiers, err
}

func (d *Dashboard) createAccount(w http.ResponseWriter, r *http.Request) {
	draft := message.AccountDraft{
		Name: strings.TrimSpace(r.PostFormValue("account")), Tier: r.PostFormValue("tier"), Contact: strings.TrimSpace(r.PostFormValue("contact")),
		TimeZone: strings.TrimSpace(r.PostFormValue("time_zone")),
	}
	if _, err := d.api.CreateAccount(r.Context(), draft); err != nil {
		d.refused(w, r, err, "/accounts")
		return
	}
	d.done(w, r, "The account "+draft.Name+" was created. Add a key next.", link("/account", "name", draft.Name))
}

// accountPage shows an account with its keys and quotas. A caller without the scope admin sees its
// own account.
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
	var err error
	if !who.Admin() || name == "" {
		p.Name, p.Title = who.Account(), "Account "+who.Account()
		p.Usage, err = d.api.OwnUsage(r.Context())
	} else {
		var shown message.AccountDetails
		if shown, err = d.api.Account(r.Context(), name); err == nil {
			p.Account, p.Usage = &shown.Account, shown.Usage
			p.Tiers, err = d.tiers(r)
		}
	}
	if err == nil {
		p.Alerted, err = d.o.Overview.Alerted(r.Context(), p.Name, p.Usage.Day.From.Time)
	}
	if err != nil {
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
	if disabled && !d.confirmed(w, r, "Disable the account "+name+"? All its keys are refused from now on. Its messages are still sent.", "Disable", to) {
		return
	}
	patch := message.AccountPatch{Tier: &tier, Contact: &contact, TimeZone: &zone, ReportAt: &report, Disabled: &disabled}
	_, err := d.api.ChangeAccount(r.Context(), name, patch)
	d.end(w, r, err, "The account was changed.", to)
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
		if _, err = d.api.RemoveAccountKey(r.Context(), name, id); err == nil {
			d.done(w, r, "The key "+id+" was removed.", to)
			return
		}
	case "rotate":
		made, err = d.api.RotateAccountKey(r.Context(), name, id, message.APIKeyRotation{Overlap: strings.TrimSpace(r.PostFormValue("overlap"))})
	default:
		made, err = d.api.AddAccountKey(r.Context(), name, message.APIKeyDraft{Scopes: r.PostForm["scope"], ExpiresAt: apiTime(r.PostFormValue("expires_at"))})
	}
	if err != nil {
		d.refused(w, r, err, to)
		return
	}
	d.renderAccount(w, r, name, &made)
}
