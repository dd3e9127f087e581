package dashboard

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/message"
)

// campaignPage shows the counts of a campaign. Without a name it has a field for one.
type campaignPage struct {
	page

	Name, Account string
	Found         message.CampaignStatus
	Counts        []statusCount
	Changes       bool // the caller may change it
}

// statusCount is how many messages have a status.
type statusCount struct {
	Status string
	Count  int
}

func (d *Dashboard) findCampaign(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if name := strings.TrimSpace(q.Get("name")); name != "" {
		d.redirect(w, r, link("/campaign", "name", name, "account", q.Get("account")))
		return
	}
	d.render(w, r, http.StatusOK, "campaigns", &campaignPage{page: d.page(r, "Campaigns")})
}

func (d *Dashboard) showCampaign(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	p := &campaignPage{
		page: d.page(r, "Campaign "+clip(q.Get("name"), 80)), Name: q.Get("name"), Account: q.Get("account"), Changes: callerOf(r.Context()).Submits(),
	}
	var err error
	if p.Found, err = d.api.CountCampaign(r.Context(), p.Name, client.CountCampaignQuery{Account: p.Account}); err != nil {
		d.showError(w, r, err)
		return
	}
	for _, status := range slices.Sorted(maps.Keys(p.Found.Statuses)) {
		p.Counts = append(p.Counts, statusCount{status, p.Found.Statuses[status]})
	}
	d.render(w, r, http.StatusOK, "campaign", p)
}

// changeCampaign pauses, resumes, cancels or reopens all messages of a campaign.
func (d *Dashboard) changeCampaign(w http.ResponseWriter, r *http.Request) {
	name, account, do := r.PostFormValue("name"), r.PostFormValue("account"), r.PostFormValue("do")
	to := link("/campaign", "name", name, "account", account)
	if !slices.Contains([]string{"pause", "resume", "cancel", "reopen"}, do) {
		d.refused(w, r, &problem{Status: http.StatusUnprocessableEntity, Detail: "do must be pause, resume, cancel or reopen"}, to)
		return
	}
	if do == "cancel" {
		found, err := d.api.CountCampaign(r.Context(), name, client.CountCampaignQuery{Account: account})
		if err != nil {
			d.refused(w, r, err, to)
			return
		}
		waiting := found.Statuses[message.StatusScheduled] + found.Statuses[message.StatusMoved] + found.Statuses[message.StatusPostponed]
		count := plural(waiting, "message")
		if found.More != "" {
			count = "more than " + count
		}
		if !d.confirmed(w, r, "Cancel the campaign "+name+"? It has "+count+" not sent yet. They will not be sent, and their times become free. The campaign accepts no messages until you reopen it.", "Cancel all", to) {
			return
		}
	}
	var err error
	var end client.CampaignEvent
	switch do {
	case "pause":
		_, err = d.api.PauseCampaign(r.Context(), name, client.PauseCampaignQuery{Account: account})
	case "reopen":
		_, err = d.api.ReopenCampaign(r.Context(), name, client.ReopenCampaignQuery{Account: account})
	case "resume":
		_, err = last(d.api.ResumeCampaign(r.Context(), name, client.ResumeCampaignQuery{Account: account}))
	default:
		end, err = last(d.api.CancelCampaign(r.Context(), name, client.CancelCampaignQuery{Account: account}))
	}
	done := 0
	if end.Summary != nil {
		done = end.Summary.Done
	}
	d.end(w, r, err, map[string]string{
		"pause":  "The campaign is paused. Every worker follows within 4 seconds.",
		"resume": "The campaign was resumed.",
		"reopen": "The campaign accepts messages again. Every program follows within 4 seconds.",
		"cancel": "Cancelled: " + plural(done, "message") + ".",
	}[do], to)
}
