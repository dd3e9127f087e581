package dashboard

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/message"
)

// tiersPage lists the tiers, each as a form.
type tiersPage struct {
	page

	Tiers []message.Tier
}

func (d *Dashboard) listTiers(w http.ResponseWriter, r *http.Request) {
	p := &tiersPage{page: d.page(r, "Tiers")}
	list[message.Tier]{
		name: "tiers", page: p, at: new(listing), entries: &p.Tiers,
		columns: []string{"tier", "requests_per_minute", "requests_per_day", "lines_per_minute", "messages_per_hour", "messages_per_day", "devices"},
		row: func(t message.Tier) []string {
			return []string{
				t.Name, text(t.RequestsPerMinute), text(t.RequestsPerDay), text(t.LinesPerMinute), text(t.MessagesPerHour), text(t.MessagesPerDay), text(t.Devices),
			}
		},
		read: func(int) ([]message.Tier, string, error) {
			tiers, err := d.tiers(r)
			return tiers, "", err
		},
	}.show(d, w, r)
}

// changeTier sets or removes a tier.
func (d *Dashboard) changeTier(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimSpace(r.PostFormValue("tier"))
	if r.PostFormValue("do") == "remove" {
		if !d.confirmed(w, r, "Remove the tier "+name+"? A tier with accounts can't be removed.", "Remove", "/tiers") {
			return
		}
		_, err := d.api.RemoveTier(r.Context(), name)
		d.end(w, r, err, "The tier was removed.", "/tiers")
		return
	}
	var limits message.TierLimits
	for field, into := range map[string]*int64{
		"requests_per_minute": &limits.RequestsPerMinute, "requests_per_day": &limits.RequestsPerDay, "lines_per_minute": &limits.LinesPerMinute,
		"messages_per_hour": &limits.MessagesPerHour, "messages_per_day": &limits.MessagesPerDay, "devices": &limits.Devices,
	} {
		given := strings.TrimSpace(r.PostFormValue(field))
		if given == "" {
			continue
		}
		n, err := strconv.ParseInt(given, 10, 64)
		if err != nil || n < 0 {
			d.refused(w, r, &problem{Status: http.StatusUnprocessableEntity, Detail: titled(field) + " is " + clip(given, 40) + ": enter a whole number, or 0 for no limit."}, "/tiers")
			return
		}
		*into = n
	}
	var err error
	if limits.AlertAt, err = percents(r.PostFormValue("alert_at")); err == nil {
		_, err = d.api.SetTier(r.Context(), name, limits)
	}
	d.end(w, r, err, "The tier "+name+" was saved. It takes effect immediately.", "/tiers")
}

// percents reads percents with commas or spaces between them. An empty text is an empty list, for
// no alerts.
func percents(given string) ([]int, error) {
	list := []int{}
	for _, word := range strings.FieldsFunc(given, func(c rune) bool { return c == ',' || c == ' ' }) {
		n, err := strconv.Atoi(strings.TrimSuffix(word, "%"))
		if err != nil {
			return nil, &problem{Status: http.StatusUnprocessableEntity, Detail: "Alerts are at " + clip(given, 40) + ": enter percents such as 80, 100, or nothing for none."}
		}
		list = append(list, n)
	}
	return list, nil
}
