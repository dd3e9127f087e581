package dashboard

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/audit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/input"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// planPage judges a campaign's file before it is submitted.
type planPage struct {
	page

	Rules []planRule // of the default policy, to try other limits; none for who may not
	Most  int        // messages that are judged
}

// planRule is a rule with a slider.
type planRule struct {
	Rule          string // "10/calendar_day"
	Window        string // what follows the slash
	Limit, Upmost int
}

// mostJudged is how many messages a dry run takes.
const mostJudged = 10_000

func (d *Dashboard) showPlan(w http.ResponseWriter, r *http.Request) {
	p := &planPage{page: d.page(r, "Plan a campaign"), Most: mostJudged}
	p.Script = "plan.js"
	if callerOf(r.Context()).Admin() {
		var stored message.Policy
		if err := d.get(r, apiPath("policies", policy.DefaultName), nil, &stored); err != nil && !isNotFound(err) {
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

// planLine is a message of a file, or what is wrong with a line of it.
type planLine struct {
	Line  int            `json:"line"`
	Draft *message.Draft `json:"draft,omitempty"`
	Wrong string         `json:"wrong,omitempty"`
}

// readPlan answers with the messages of a file in the body, NDJSON or CSV, a line for each. A
// message without an id gets one that follows from the file and its line, so that the same file
// is submitted once, however often that is tried.
func (d *Dashboard) readPlan(w http.ResponseWriter, r *http.Request) {
	file, err := d.receive(w, r)
	if err != nil {
		d.showError(w, r, err)
		return
	}
	reader, err := input.NewReader(file.open(), input.Auto)
	if err != nil {
		d.showError(w, r, err)
		return
	}
	prefix := "plan-" + hex.EncodeToString(file.hash.Sum(nil)[:6]) + "-"
	h := w.Header()
	h.Set("Content-Type", "application/x-ndjson")
	h.Set("Cache-Control", "no-store")
	out := json.NewEncoder(w)
	campaign := r.URL.Query().Get("campaign")
	control := http.NewResponseController(w)
	for {
		record, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		line := planLine{Line: record.Line}
		switch {
		case err != nil:
			line.Wrong = sentence(err.Error())
		case record.Invalid != nil:
			line.Wrong = sentence(record.Invalid.Error())
		default:
			draft := record.Draft
			if draft.ID == "" {
				draft.ID = prefix + strconv.Itoa(record.Line)
			}
			if draft.Campaign == "" {
				draft.Campaign = campaign
			}
			if draft.SendAt != "now" {
				draft.SendAt = apiTime(draft.SendAt)
			}
			line.Draft = &draft
		}
		_ = control.SetWriteDeadline(d.o.Now().Add(streamIdle)) // every connection of a server has deadlines
		if out.Encode(line) != nil || err != nil {
			return
		}
	}
}

// judgePlan answers with what would become of messages, a line for each.
func (d *Dashboard) judgePlan(w http.ResponseWriter, r *http.Request) {
	messages, err := d.receive(w, r)
	if err != nil {
		d.showError(w, r, err)
		return
	}
	query := url.Values{"without_free_times": {"false"}}
	if rules := r.URL.Query().Get("what_if"); rules != "" {
		query.Set("what_if", rules)
	}
	asked := d.request(r, http.MethodPost, apiPath("messages", "batch", "dry-run"), query, messages.open())
	asked.Header.Set("Content-Type", "application/x-ndjson")
	d.forward(w, asked)
}

// submitPlan submits messages, and answers with what became of each.
func (d *Dashboard) submitPlan(w http.ResponseWriter, r *http.Request) {
	messages, err := d.receive(w, r)
	if err != nil {
		d.showError(w, r, err)
		return
	}
	asked := d.request(r, http.MethodPost, apiPath("messages", "batch"), nil, messages.open())
	asked.Header.Set("Content-Type", "application/x-ndjson")
	err = d.audited(r, audit.Entry{Action: "submit campaign", Object: r.URL.Query().Get("campaign"), Detail: plural(messages.lines, "message")}, func() error {
		if status := d.forward(w, asked); status != http.StatusOK {
			return &problem{Status: status, Detail: http.StatusText(status)}
		}
		return nil
	})
	if err != nil && problemOf(err).Detail != http.StatusText(problemOf(err).Status) {
		d.showError(w, r, err) // it was not begun
	}
}
