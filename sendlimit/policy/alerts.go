package policy

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// DefaultAlertAt returns the default thresholds of a quota's alerts, in percent: 80 and 100.
func DefaultAlertAt() []int { return []int{80, 100} }

func (p Policy) validateAlerts() error {
	var wrong fault.InvalidErrors
	wrong.Add(ValidAlertAt(p.AlertAt))
	if p.AlertTo != "" {
		wrong.Add(fault.InField(ValidContact(p.AlertTo), "alert_to"))
	}
	return wrong.Err()
}

// ValidAlertAt checks the thresholds of alerts: percents of 1 to 100, ascending. The error is a
// *fault.InvalidError for the field "alert_at".
func ValidAlertAt(percents []int) error {
	for i, percent := range percents {
		if percent < 1 || percent > 100 || i > 0 && percent <= percents[i-1] {
			return &fault.InvalidError{
				Field: "alert_at", Value: strings.Trim(fmt.Sprint(percents), "[]"),
				Want: "percents of 1 to 100, ascending, such as 80 and 100",
			}
		}
	}
	return nil
}

// thresholds returns AlertAt, or the default.
func (p Policy) thresholds() []int {
	if p.AlertAt == nil {
		return DefaultAlertAt()
	}
	return p.AlertAt
}

// unusualAlerts returns the part of String about alerts that are not the default.
func (p Policy) unusualAlerts() string {
	s := ""
	switch percents := strings.Trim(fmt.Sprint(p.thresholds()), "[]"); {
	case percents == "":
		s = ", no alerts"
	case !slices.Equal(p.thresholds(), DefaultAlertAt()):
		s = ", alerts at " + strings.ReplaceAll(percents, " ", ", ") + " %"
	}
	if p.AlertTo == "" {
		return s
	}
	return s + ", alerts to " + RedactContact(p.AlertTo)
}

// LogValue is String without the local part of an e-mail address.
func (p Policy) LogValue() slog.Value {
	if _, domain, address := strings.Cut(p.AlertTo, "@"); address && !strings.Contains(p.AlertTo, "://") {
		p.AlertTo = "…@" + domain
	}
	return slog.StringValue(p.String())
}

// daily reports whether users are alerted for the rule.
func (r Rule) daily() bool { return r.Period == calendar.Day || r.Window == calendar.DayLong }

// Alerts returns the alerts of a policy for lua/fragments/user_alert.lua: the smallest number of a
// day's messages that reaches a threshold, and the words of the alerts. They are 0 and "" if there are no
// alerts.
func (p Policy) Alerts() (from int, what string) {
	thresholds := p.thresholds()
	fewest := 0
	var daily []string
	for _, r := range p.Rules {
		if r.daily() && len(thresholds) > 0 {
			daily = append(daily, strings.Replace(RuleWords([]Rule{r}), " ", "/", 1))
			reached := (r.Limit*thresholds[0] + 99) / 100
			if fewest == 0 || reached < fewest {
				fewest = reached
			}
		}
	}
	if fewest == 0 {
		return 0, ""
	}
	gathered := "0"
	if p.AlertTo != "" {
		gathered = "1"
	}
	words := []string{p.Name, cmp.Or(p.TimeZone, "UTC"), gathered, strings.Join(daily, ",")}
	for _, percent := range thresholds {
		words = append(words, strconv.Itoa(percent))
	}
	return fewest, strings.Join(words, " ")
}
