package dashboard

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/input"
)

// planPage is for a dry run of a campaign's file before it is submitted.
type planPage struct {
	page

	Rules []planRule // of the default policy, to try other limits; none for who may not
	// Most is how many messages are judged. If there are more than Together, each user's messages
	// must be adjacent.
	Most, Together int
}

// planRule is a rule with a slider.
type planRule struct {
	Rule          string // "10/calendar_day"
	Window        string // what follows the slash
	Limit, Upmost int
}

// ndjson is the media type of lines of JSON.
const ndjson = "application/x-ndjson"

// The limits of a dry run by the API, see planPage.
const (
	maxJudged    = 250_000
	maxScattered = api.DefaultDryRunLines
)

func (d *Dashboard) showPlan(w http.ResponseWriter, r *http.Request) {
	p := &planPage{page: d.page(r, "Plan a campaign"), Most: maxJudged, Together: maxScattered}
	p.Script = "plan.js"
	if callerOf(r.Context()).Admin() {
		stored, err := d.api.Policy(r.Context(), policy.DefaultName)
		if err != nil && !isNotFound(err) {
			d.showError(w, r, err)
			return
		}
		p.Rules = slidersOf(stored.Rules)
	}
	d.render(w, r, http.StatusOK, "plan", p)
}

// slidersOf returns a slider for each rule.
func slidersOf(rules []string) []planRule {
	var sliders []planRule
	for _, text := range rules {
		rule, err := policy.ParseRule(text)
		if err != nil {
			continue
		}
		_, window, _ := strings.Cut(text, "/")
		sliders = append(sliders, planRule{Rule: text, Window: window, Limit: rule.Limit, Upmost: max(10, 3*rule.Limit)})
	}
	return sliders
}

// planLine is a message of a file, or the error of a line. The last one has the number of values
// that had white space at their ends.
type planLine struct {
	Line    int            `json:"line"`
	Draft   *message.Draft `json:"draft,omitempty"`
	Wrong   string         `json:"wrong,omitempty"`
	Trimmed int            `json:"trimmed,omitempty"`
}

// readPlan answers with the messages of a file in the body, NDJSON or CSV, a line for each. The id
// of a message without one is derived from the file and its line, so that the same file is
// submitted once, however often it is tried. A time without a zone gets the chosen zone.
func (d *Dashboard) readPlan(w http.ResponseWriter, r *http.Request) {
	campaign, zone, err := planQuery(r)
	if err != nil {
		d.showError(w, r, err)
		return
	}
	file, err := d.receive(w, r)
	if err != nil {
		d.showError(w, r, err)
		return
	}
	others, err := input.ParseOtherColumns(cmp.Or(r.URL.Query().Get("other_columns"), string(input.RefuseColumns)))
	if err != nil {
		d.showError(w, r, err)
		return
	}
	reader, err := input.NewReader(file.open(), input.Options{Others: others})
	if err != nil {
		d.showError(w, r, err)
		return
	}
	prefix := "plan-" + hex.EncodeToString(file.hash.Sum(nil)[:6]) + "-"
	h := w.Header()
	h.Set("Content-Type", ndjson)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	out := json.NewEncoder(w)
	control := http.NewResponseController(w)
	for {
		record, err := reader.Next()
		if errors.Is(err, io.EOF) {
			if trimmed := reader.Trimmed(); trimmed > 0 {
				_ = out.Encode(planLine{Trimmed: trimmed}) // nobody is left to tell of an error
			}
			return
		}
		line, draft := planLine{Line: record.Line}, record.Draft
		wrong := err
		if wrong == nil && record.Invalid != nil {
			wrong = record.Invalid
		}
		if wrong == nil {
			wrong = inZone(&draft, zone)
		}
		if wrong != nil {
			line.Wrong = sentence(wrong.Error())
		} else {
			draft.ID, draft.Campaign = cmp.Or(draft.ID, prefix+strconv.Itoa(record.Line)), cmp.Or(draft.Campaign, campaign)
			line.Draft = &draft
		}
		_ = control.SetWriteDeadline(d.o.Now().Add(streamIdle)) // every connection of a server has deadlines
		if out.Encode(line) != nil || err != nil {
			return
		}
	}
}

// planQuery returns the campaign of messages without one, and the zone of times without one; "" if
// they must have one.
func planQuery(r *http.Request) (campaign, zone string, err error) {
	if zone = r.URL.Query().Get("zone"); zone != "" {
		if err = message.CheckZone("zone", zone); err != nil {
			return "", "", &problem{Status: http.StatusUnprocessableEntity, Detail: err.Error() + "."}
		}
	}
	return r.URL.Query().Get("campaign"), zone, nil
}

// inZone adds the chosen zone to each time of a draft without one. The API reports other invalid
// texts. The error is a *fault.InvalidError.
func inZone(draft *message.Draft, zone string) error {
	if zone != "" {
		draft.SetZone("zone", zone)
		return nil
	}
	for _, given := range []struct{ field, text string }{
		{"send_at", draft.SendAt.Text}, {"expires_at", draft.ExpiresAt.Text}, {"shift_until", draft.ShiftUntil.Text},
	} {
		_, _, err := message.ParseTime(given.text)
		if wrong, is := errors.AsType[*fault.InvalidError](fault.InField(err, given.field)); is && wrong.Want == calendar.WantZone {
			return wrong.Noting(", or choose the time zone of the file")
		}
	}
	return nil
}

// planDigest is the header with the digest of the judged messages. Only messages with this digest
// can be submitted.
const planDigest = "Plan-Digest"

// digest returns the digest of messages, their campaign and the policies that judge them.
func (d *Dashboard) digest(r *http.Request, messages *upload) (string, error) {
	timeline, err := d.o.Timeline(r.Context())
	if err != nil {
		return "", err
	}
	all := sha256.New()
	fmt.Fprintf(all, "%x %q", messages.hash.Sum(nil), r.URL.Query().Get("campaign"))
	for _, p := range timeline.Policies() {
		fmt.Fprintf(all, " %q %d", p.Name, p.Version)
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}

// judgePlan answers with the dry run's outcomes, a line for each. With other limits than the stored
// ones the answer has no digest, since nothing is submitted with them.
func (d *Dashboard) judgePlan(w http.ResponseWriter, r *http.Request) {
	messages, err := d.receive(w, r)
	if err != nil {
		d.showError(w, r, err)
		return
	}
	query := url.Values{"without_free_times": {"false"}}
	if rules := r.URL.Query().Get("what_if"); rules != "" {
		query.Set("what_if", rules)
	} else {
		digest, err := d.digest(r, messages)
		if err != nil {
			d.showError(w, r, err)
			return
		}
		w.Header().Set(planDigest, digest)
	}
	d.forward(w, r, withQuery(apiPath("messages", "batch", "dry-run"), query), ndjson, messages.open())
}

// submitPlan submits messages, and answers with their outcomes. It submits only messages that were
// judged, by the same policies.
func (d *Dashboard) submitPlan(w http.ResponseWriter, r *http.Request) {
	messages, err := d.receive(w, r)
	if err != nil {
		d.showError(w, r, err)
		return
	}
	digest, err := d.digest(r, messages)
	if err == nil && r.URL.Query().Get("digest") != digest {
		err = &problem{
			Status: http.StatusConflict, Code: fault.CodeVersionMismatch,
			Detail: "Nothing was submitted: the file or a policy has changed since the dry run. Run it again, and check the outcome.",
		}
	}
	if err != nil {
		d.showError(w, r, err)
		return
	}
	who := callerOf(r.Context())
	who.note = plural(messages.lines, "message")
	if campaign := r.URL.Query().Get("campaign"); campaign != "" {
		who.note += " of the campaign " + campaign
	}
	d.forward(w, of(r, who), apiPath("messages", "batch"), ndjson, messages.open())
}
