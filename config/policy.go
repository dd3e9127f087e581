package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// writtenPolicy has the settings of a new store's policy, as written.
type writtenPolicy struct {
	TimeZone     string `env:"TIME_ZONE"`
	UserTimeZone string `env:"USER_TIME_ZONE"`
	Rules        string `env:"RULES"`
	QuietHours   string `env:"QUIET_HOURS"`
	Only         string `env:"ONLY"`
	Blackouts    string `env:"BLACKOUTS"`
	Reach        string `env:"REACH"`
	OnConflict   string `env:"ON_CONFLICT"`
	AccountShare string `env:"ACCOUNT_SHARE"`
	AlertAt      string `env:"ALERT_AT"`
	AlertTo      string `env:"ALERT_TO"`

	UnknownCategories string `env:"UNKNOWN_CATEGORIES"`
}

// policySettings returns the rows of the table about the policy. Categories are only in the
// file.
func policySettings(w *written, c *Config) []*setting {
	return []*setting{
		{
			key: "policy.time_zone", written: &w.Policy.TimeZone, standard: "UTC", kind: "zone",
			help:   "time zone of the calendar rules and quiet hours of a new store's policy",
			accept: timeZone(c),
		},
		{
			key: "policy.user_time_zone", written: &w.Policy.UserTimeZone, standard: "false", kind: "bool",
			help:   "calendar rules of a new store's policy use a user's own time zone, if one is set",
			accept: boolean(&c.Policy.UserTimeZone),
		},
		{
			key: "policy.rules", written: &w.Policy.Rules, kind: "rules", list: true,
			standard: "1/minute, 5/hour, 10/calendar_day",
			help:     "rules of a new store's policy",
			accept:   rules(c),
		},
		{
			key: "policy.quiet_hours", written: &w.Policy.QuietHours, kind: "hours", list: true,
			help:   "quiet hours of a new store's policy, when nothing is sent: 22:00-08:00 or 'sat,sun 00:00-24:00'",
			accept: quietHours(c),
		},
		{
			key: "policy.only", written: &w.Policy.Only, kind: "hours", list: true,
			help:   "the only hours at which anything is sent under a new store's policy: 09:00-20:00 or 'mon-fri 08:00-18:00'",
			accept: allowedHours(c),
		},
		{
			key: "policy.blackouts", written: &w.Policy.Blackouts, kind: "dates", list: true,
			help:   "dates on which nothing is sent under a new store's policy: 2027-01-01, 12-25 for every year, 2027-04-02..2027-04-05",
			accept: blackouts(c),
		},
		{
			key: "policy.reach", written: &w.Policy.Reach, kind: "duration",
			help:   "how far ahead a send time may be under a new store's policy; at most --reach",
			accept: policyReach(c),
		},
		{
			key: "policy.on_conflict", written: &w.Policy.OnConflict, standard: "refuse", kind: "answer",
			help:   "what a new store's policy does when a message's time is not free: refuse or shift; a message can say otherwise",
			accept: onConflict(c), words: []string{"refuse", "shift"},
		},
		{
			key: "policy.account_share", written: &w.Policy.AccountShare, kind: "percentage",
			help:   "percentage of each rule of a new store's policy that one account may use up for a user, if several accounts have keys",
			accept: accountShare(c),
		},
		{
			key: "policy.alert_at", written: &w.Policy.AlertAt, standard: "80, 100", kind: "percents", list: true,
			help:   "percentages of a user's daily rule at which a new store's policy alerts; [] for never",
			accept: alertAt(c),
		},
		{
			key: "policy.alert_to", written: &w.Policy.AlertTo, kind: "contact",
			help:   "e-mail address or https URL that receives the alerts of a new store's policy, once an hour",
			accept: alertTo(c),
		},
		{
			key: "policy.unknown_categories", written: &w.Policy.UnknownCategories, kind: "answer",
			help:   "refuse or allow messages of a category that a new store's policy does not name; by default refuse if it names any",
			accept: unknownCategories(c),
		},
	}
}

// emptyList is an empty list, as written.
const emptyList = "[]"

// words returns the elements of a list as written.
func words(s string) []string {
	if s == emptyList {
		return nil
	}
	list := strings.Split(s, ",")
	for i, word := range list {
		list[i] = strings.TrimSpace(word)
	}
	return list
}

// alone judges one field of a policy. It returns the policy with that field, and with name
// and rules of its own.
func alone(d policy.Document) (policy.Policy, *fault.InvalidError) {
	policy, err := completed(d).Policy()
	return policy, invalid(err)
}

// completed returns a document with the name and rules that are required.
func completed(d policy.Document) policy.Document {
	d.Name = nobody
	if d.Rules == nil {
		d.Rules = policy.Default().Document().Rules
	}
	return d
}

func timeZone(c *Config) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		if _, problem := alone(policy.Document{TimeZone: s}); problem != nil {
			return takes("%s", problem.Want)
		}
		if s != "UTC" { // for which a policy has ""
			c.Policy.TimeZone = s
		}
		return nil
	}
}

func rules(c *Config) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		policy, problem := alone(policy.Document{Rules: append([]string{}, words(s)...)}) // none are not the default ones
		if problem != nil {
			return problem
		}
		c.Policy.Rules = policy.Rules
		return nil
	}
}

func quietHours(c *Config) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		lines, _ := quietLines(words(s))
		hours, err := policy.ParseQuietHours(lines...)
		if problem := invalid(err); problem != nil {
			return problem
		}
		c.Policy.QuietHours = hours
		return nil
	}
}

func allowedHours(c *Config) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		lines, _ := quietLines(words(s))
		hours, err := policy.ParseAllowedHours(lines...)
		if problem := invalid(err); problem != nil {
			return problem
		}
		c.Policy.Only = hours
		return nil
	}
}

func blackouts(c *Config) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		dates, err := policy.ParseBlackouts(words(s)...)
		if problem := invalid(err); problem != nil {
			return problem
		}
		c.Policy.Blackouts = dates
		return nil
	}
}

// quietLines joins lines of quiet hours that were split at the commas between their days:
// words that are only days belong to the next word. It also returns the index of the last
// word of each line.
func quietLines(words []string) (lines []string, last []int) {
	days := ""
	for i, word := range words {
		if !strings.ContainsAny(word, "0123456789: ") {
			days += word + ","
			continue
		}
		lines, last, days = append(lines, days+word), append(last, i), ""
	}
	if days != "" {
		lines, last = append(lines, strings.TrimSuffix(days, ",")), append(last, len(words)-1)
	}
	return lines, last
}

func policyReach(c *Config) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		policy, problem := alone(policy.Document{Reach: s})
		if problem != nil {
			return takes("%s", problem.Want)
		}
		c.Policy.Reach = policy.Reach
		return nil
	}
}

func accountShare(c *Config) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		policy, problem := alone(policy.Document{AccountShare: s})
		if problem != nil {
			return takes("%s", problem.Want)
		}
		c.Policy.AccountShare = policy.AccountShare
		return nil
	}
}

func onConflict(c *Config) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		if _, problem := alone(policy.Document{OnConflict: s}); problem != nil {
			return takes("%s", problem.Want)
		}
		if answer := policy.OnConflict(s); answer != policy.Refuse { // for which a policy has ""
			c.Policy.OnConflict = answer
		}
		return nil
	}
}

func unknownCategories(c *Config) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		if _, problem := alone(policy.Document{UnknownCategories: s}); problem != nil {
			return takes("%s", problem.Want)
		}
		c.Policy.UnknownCategories = policy.UnknownCategories(s)
		return nil
	}
}

// alertAt accepts percents, and emptyList for none. A policy has nil for the default.
func alertAt(c *Config) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		percents := []int{}
		for _, word := range words(s) {
			percent, err := strconv.Atoi(word)
			if err != nil {
				percent = 0 // which is not allowed
			}
			percents = append(percents, percent)
		}
		if _, problem := alone(policy.Document{AlertAt: percents}); problem != nil {
			return takes("%s", problem.Want)
		}
		if !slices.Equal(percents, policy.DefaultAlertAt()) {
			c.Policy.AlertAt = percents
		}
		return nil
	}
}

func alertTo(c *Config) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		if problem := invalid(policy.ValidContact(s)); problem != nil {
			return problem
		}
		c.Policy.AlertTo = s
		return nil
	}
}

// wholePolicy checks the settings of the policy together.
func wholePolicy(c Config) *fault.InvalidError {
	problem := invalid(c.Policy.Validate())
	if problem == nil {
		return nil
	}
	return &fault.InvalidError{Field: "policy." + problem.Field, Value: problem.Value, Want: problem.Want, Says: problem.Says}
}
