package main

import (
	"fmt"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// policyDocument is a policy as files and answers have it.
type policyDocument struct {
	TimeZone string           `json:"time_zone"`
	Rules    []sendlimit.Rule `json:"rules"`
	AlertAt  []int            `json:"alert_at"`
	AlertTo  string           `json:"alert_to,omitempty"`
}

func documentOf(p sendlimit.Policy) policyDocument {
	d := policyDocument{TimeZone: p.TimeZone, Rules: p.Rules, AlertAt: p.AlertAt, AlertTo: p.AlertTo}
	if d.AlertAt == nil {
		d.AlertAt = sendlimit.DefaultAlertAt()
	}
	if d.TimeZone == "" {
		d.TimeZone = "UTC"
	}
	return d
}

// String returns the document in YAML.
func (d policyDocument) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "time_zone: %s\nrules:\n", d.TimeZone)
	for _, rule := range d.Rules {
		fmt.Fprintf(&s, "  - %s\n", rule)
	}
	fmt.Fprintf(&s, "alert_at: [%s]\n", strings.ReplaceAll(strings.Trim(fmt.Sprint(d.AlertAt), "[]"), " ", ", "))
	if d.AlertTo != "" {
		fmt.Fprintf(&s, "alert_to: %s\n", d.AlertTo)
	}
	return s.String()
}

// line is the document for a sentence.
func (d policyDocument) line() string {
	return sendlimit.Policy{TimeZone: d.TimeZone, Rules: d.Rules, AlertAt: d.AlertAt, AlertTo: d.AlertTo}.String()
}

// applied is the answer to policy apply; Old is null where there was none.
type applied struct {
	Old *policyDocument `json:"old"`
	New policyDocument  `json:"new"`
}

// String says for a person what was replaced.
func (a applied) String() string {
	old := "none"
	if a.Old != nil {
		old = a.Old.line()
	}
	return fmt.Sprintf("%s → %s\nIt holds from the next decision on; what is scheduled keeps its place.\n", old, a.New.line())
}
