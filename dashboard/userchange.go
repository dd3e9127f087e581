package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// submit submits a message of a form.
func (d *Dashboard) submit(w http.ResponseWriter, r *http.Request) {
	user := r.PostFormValue("name")
	to := back(r, link("/user", "name", user))
	var accepted message.Outcome
	at, now, err := sendTime(r)
	if err == nil {
		accepted, err = d.api.Submit(r.Context(), client.Message{
			User: user, ID: strings.TrimSpace(r.PostFormValue("id")), SendAt: at, Now: now, Category: strings.TrimSpace(r.PostFormValue("category")),
			Title: r.PostFormValue("title"), Body: r.PostFormValue("body"), OnConflict: onConflict(r),
		})
	}
	text := "Accepted. It will be sent at " + when(accepted.SendAt) + "."
	if accepted.Shifted {
		text = "Accepted for the next free time, " + when(accepted.SendAt) + ": the requested time was not free."
	}
	if err != nil {
		to = withNext(to, problemOf(err).Outcome.NextFreeAt.Time)
	}
	d.end(w, r, err, text, to)
}

// withNext returns the address of a user's page whose form offers a time; zero for none.
func withNext(to string, at time.Time) string {
	address, err := url.Parse(to)
	if err != nil || at.IsZero() {
		return to
	}
	query := address.Query()
	query.Set("next", text(at))
	address.RawQuery = query.Encode()
	return address.String()
}

// sendTime returns the send time of a form; the zero time for now. Its error is the API's.
func sendTime(r *http.Request) (at time.Time, now bool, err error) {
	at, now, err = message.ParseTime(apiTime(r.PostFormValue("send_at")))
	return at, now, fault.InField(err, "send_at")
}

// onConflict returns the form's choice if its send time is not free; "" for the policy's.
func onConflict(r *http.Request) string {
	if r.PostFormValue("shift") == "yes" {
		return message.OnConflictShift
	}
	return ""
}

// settingsForm is the form for the settings of a user. A list has a line for each entry.
type settingsForm struct {
	Contact, Policy, TimeZone  string
	Limits, QuietHours, OptOut string
	Categories                 string // "marketing 2/calendar_day" a line
	DoNotDisturbUntil          string
	BestHours                  string // 24 numbers a line
	Blocked                    bool
	Then                       string
	Field, Wrong               string // the field that is wrong, and what is wrong with it
}

func settingsFormOf(s message.UserSettings) settingsForm {
	var own []string
	for name, limits := range s.Categories {
		for _, limit := range limits {
			own = append(own, name+" "+limit)
		}
	}
	slices.Sort(own)
	return settingsForm{
		Contact: s.Contact, Policy: s.Policy, TimeZone: s.TimeZone, Limits: strings.Join(s.Limits, "\n"), QuietHours: strings.Join(s.QuietHours, "\n"),
		OptOut: strings.Join(s.OptOut, "\n"), Categories: strings.Join(own, "\n"), Blocked: s.Blocked, DoNotDisturbUntil: message.SpelledTime(s.DoNotDisturbUntil.Time),
		BestHours: lines24(s.BestHours),
	}
}

// lines24 writes 24 numbers a line.
func lines24(numbers []int) string {
	var s strings.Builder
	for i, n := range numbers {
		s.WriteString(strconv.Itoa(n))
		s.WriteByte(map[bool]byte{false: ' ', true: '\n'}[i%24 == 23])
	}
	return strings.TrimSpace(s.String())
}

// draft returns the settings of the form.
func (f settingsForm) draft() (message.SettingsDraft, error) {
	s := message.SettingsDraft{
		Contact: f.Contact, Policy: f.Policy, TimeZone: f.TimeZone, Limits: fields(f.Limits), QuietHours: fields(f.QuietHours),
		OptOut: fields(f.OptOut), Blocked: f.Blocked, DoNotDisturbUntil: f.DoNotDisturbUntil, Then: f.Then,
	}
	for _, line := range fields(f.Categories) {
		name, limit, _ := strings.Cut(line, " ")
		if s.Categories == nil {
			s.Categories = make(map[string][]string)
		}
		s.Categories[name] = append(s.Categories[name], strings.TrimSpace(limit))
	}
	if f.BestHours == "" {
		return s, nil
	}
	var err error
	s.BestHours, err = policy.ParseWeights(f.BestHours)
	return s, err
}

// fields returns the lines of a text that are not empty.
func fields(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// saveSettings replaces the settings of a user. If they are invalid, the page shows the form again,
// with the errors at their fields.
func (d *Dashboard) saveSettings(w http.ResponseWriter, r *http.Request) {
	user := r.PostFormValue("name")
	form := settingsForm{Blocked: r.PostFormValue("blocked") == "yes"}
	for name, into := range map[string]*string{
		"contact": &form.Contact, "policy": &form.Policy, "time_zone": &form.TimeZone, "limits": &form.Limits, "quiet_hours": &form.QuietHours,
		"opt_out": &form.OptOut, "categories": &form.Categories, "do_not_disturb_until": &form.DoNotDisturbUntil, "then": &form.Then,
		"best_hours": &form.BestHours,
	} {
		*into = strings.TrimSpace(r.PostFormValue(name))
	}
	to := back(r, link("/user", "name", user))
	draft, err := form.draft()
	if err != nil {
		d.showSettingsAgain(w, r, user, form, err)
		return
	}
	if !isConfirmed(r) {
		looked := draft
		looked.DryRun = true
		would, err := d.api.SetUserSettings(r.Context(), user, looked)
		_, invalid := errors.AsType[*client.InvalidError](err) // so is the change, which is logged
		if err != nil && !invalid {
			d.refused(w, r, err, to)
			return
		}
		if question := whatFollows(draft, would.Scheduled); !invalid && question != "" {
			d.ask(w, r, &confirmPage{Question: question, Yes: map[bool]string{true: "Block", false: "Save"}[form.Blocked], Back: to})
			return
		}
	}
	saved, err := d.api.SetUserSettings(r.Context(), user, draft)
	if _, invalid := errors.AsType[*client.InvalidError](err); invalid {
		d.showSettingsAgain(w, r, user, form, err)
		return
	}
	d.end(w, r, err, "The settings were saved. They take effect immediately."+followed(saved.Scheduled), to)
}

// whatFollows asks before settings that block a user, or that scheduled messages do not fit; "" for
// others.
func whatFollows(s message.SettingsDraft, f *message.FollowThrough) string {
	affected := 0
	if f != nil {
		affected = f.Affected
	}
	count := plural(affected, "scheduled message")
	switch {
	case s.Blocked && affected == 0:
		return "Block the user? New messages will be refused. No message is scheduled."
	case s.Blocked && s.Then == message.ThenDrop:
		return "Block the user? New messages will be refused, and " + count + " dropped now."
	case s.Blocked:
		return "Block the user? New messages will be refused, and " + count + " dropped, at the latest at their send times."
	case affected == 0:
		return ""
	}
	return count + " would not fit the new settings: " + map[string]string{
		"":                "each waits at its time for the end of quiet hours or of do-not-disturb, and is dropped if the user does not want it.",
		message.ThenKeep:  "each is sent as planned, unless the user does not want it or is not to be disturbed.",
		message.ThenShift: "each moves to its next free time, and is dropped if there is none or the user does not want it.",
		message.ThenDrop:  "each is dropped.",
	}[s.Then] + " Save the settings?"
}

// followed says what became of scheduled messages; nil for none.
func followed(f *message.FollowThrough) string {
	switch {
	case f == nil || f.Affected == 0:
		return ""
	case !f.Complete:
		return " " + plural(f.Affected, "scheduled message") + " did not fit: a worker goes on moving or dropping them."
	case f.Moved+f.Dropped == 0:
		return " " + plural(f.Affected, "scheduled message") + " did not fit, and stayed."
	default:
		return " Of " + plural(f.Affected, "scheduled message") + " that did not fit, " + strconv.Itoa(f.Moved) + " moved and " + strconv.Itoa(f.Dropped) + " were dropped."
	}
}

// showSettingsAgain shows the page of a user with settings that were refused.
func (d *Dashboard) showSettingsAgain(w http.ResponseWriter, r *http.Request, user string, form settingsForm, wrong error) {
	p := &userPage{page: d.page(r, "User "+clip(user, 80)), User: user, Spans: spans()}
	p.Path, p.Script = "/user", "user.js"
	if err := d.fillUser(r, p, url.Values{}); err != nil {
		d.showError(w, r, err)
		return
	}
	form.Field, form.Wrong = wrongField(wrong)
	p.Form = form
	d.render(w, r, http.StatusUnprocessableEntity, "user", p)
}

// changeDevice registers or removes a device of a user.
func (d *Dashboard) changeDevice(w http.ResponseWriter, r *http.Request) {
	user, id := r.PostFormValue("name"), r.PostFormValue("device")
	to := back(r, link("/user", "name", user))
	if r.PostFormValue("do") == "remove" {
		if !d.confirmed(w, r, "Remove the device "+id+"? It gets no messages until it is registered again.", "Remove", to) {
			return
		}
		_, err := d.api.RemoveDevice(r.Context(), user, id)
		d.end(w, r, err, "The device was removed.", to)
		return
	}
	draft := message.DeviceDraft{
		ID: strings.TrimSpace(id), Channel: r.PostFormValue("channel"), Token: strings.TrimSpace(r.PostFormValue("token")), App: strings.TrimSpace(r.PostFormValue("app")),
	}
	change, err := d.api.AddDevice(r.Context(), user, draft)
	d.end(w, r, err, "The device "+change.Device.ID+" is "+change.Outcome+".", to)
}

// eraseUser removes all data of a user.
func (d *Dashboard) eraseUser(w http.ResponseWriter, r *http.Request) {
	user := r.PostFormValue("name")
	to := link("/user", "name", user)
	list, more, err := first(d.api.ListMessages(r.Context(), user, client.ListMessagesQuery{Limit: maxMarks}), maxMarks)
	if err != nil {
		d.refused(w, r, err, to)
		return
	}
	count := plural(len(list), "message")
	if more {
		count = "more than " + count
	}
	if !d.confirmed(w, r, "Erase all data of "+user+"? This removes "+count+" with their records, the settings, the devices and the history, "+
		"and cancels scheduled messages. This can't be undone.", "Erase", to) {
		return
	}
	end, err := last(d.api.EraseUser(r.Context(), user, client.EraseUserQuery{}))
	if err != nil {
		d.refused(w, r, err, to)
		return
	}
	erased := 0
	if end.Erasure != nil {
		erased = end.Erasure.Messages
	}
	d.done(w, r, "All data of the user was erased: "+plural(erased, "message")+".", "/users")
}
