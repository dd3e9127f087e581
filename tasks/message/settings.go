package message

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// SettingsDraft is the request to set all settings of a user. An empty field is not set.
type SettingsDraft struct {
	Contact  string   `json:"contact,omitempty" doc:"Where alerts about full daily rules go: an e-mail address or an https: URL."`
	Policy   string   `json:"policy,omitempty" doc:"The name of an existing policy, instead of default."`
	Limits   []string `json:"limits,omitempty" doc:"Rules that replace the policy's rules with the same windows: 20/calendar_day replaces 10/calendar_day."`
	TimeZone string   `json:"time_zone,omitempty" doc:"An IANA time zone, for quiet hours, and for calendar rules if the policy says so."`
	Blocked  bool     `json:"blocked,omitempty" doc:"Whether no more messages are accepted for the user. Accepted ones are still sent."`
}

// SettingsPatch is the request to change some settings of a user. A nil field stays as
// it is; an empty one is removed.
type SettingsPatch struct {
	Contact  *string  `json:"contact,omitempty" doc:"An e-mail address or an https: URL."`
	Policy   *string  `json:"policy,omitempty" doc:"The name of an existing policy."`
	Limits   []string `json:"limits,omitzero" doc:"All rules of the user's own."`
	TimeZone *string  `json:"time_zone,omitempty" doc:"An IANA time zone."`
	Blocked  *bool    `json:"blocked,omitempty" doc:"Whether no more messages are accepted."`
}

// UserSettings has what is set for a user, and the rules that apply to the user.
type UserSettings struct {
	User      string          `json:"user"`
	Contact   string          `json:"contact"`
	Policy    string          `json:"policy"` // "" for the default policy
	Limits    []string        `json:"limits"`
	TimeZone  string          `json:"time_zone"`
	Blocked   bool            `json:"blocked"`
	Effective *EffectiveRules `json:"effective"` // nil if the store does not have the policy
}

// EffectiveRules are the rules that apply to a user.
type EffectiveRules struct {
	Policy        string           `json:"policy"`
	Version       int64            `json:"version"`
	TimeZone      string           `json:"time_zone"` // of calendar rules
	Rules         []EffectiveRule  `json:"rules"`
	Exempt        []ExemptCategory `json:"exempt,omitempty"`
	QuietHours    []string         `json:"quiet_hours"`
	QuietTimeZone string           `json:"quiet_time_zone"`
}

// EffectiveRule is a rule that applies to a user.
type EffectiveRule struct {
	Rule     string `json:"rule"`
	Category string `json:"category,omitempty"` // whose messages it counts; "" for all
	From     string `json:"from"`               // FromPolicy or FromUser
	Replaces string `json:"replaces,omitempty"` // of FromUser: the policy's rule
}

// Values of EffectiveRule.From.
const (
	FromPolicy = "policy"
	FromUser   = "user"
)

// ExemptCategory is a category whose messages no rule judges.
type ExemptCategory struct {
	Category string `json:"category"`
	Counts   bool   `json:"counts"` // whether they count in the rules for other messages
}

// UserSettingsOf returns the settings of a user with the rules that follow from them.
// The store's policies are given by name.
func UserSettingsOf(user string, s policy.UserSettings, policies map[string]policy.Policy) UserSettings {
	spelled := UserSettings{
		User: user, Contact: s.Contact, Policy: s.Policy, Limits: []string{}, TimeZone: s.TimeZone, Blocked: s.Blocked,
	}
	for _, limit := range s.Limits {
		spelled.Limits = append(spelled.Limits, limit.String())
	}
	if policy, ok := policies[policyOf(s)]; ok {
		spelled.Effective = effectiveRules(policy, s)
	}
	return spelled
}

// CheckUserSettings checks settings against the store's policies, which are given by
// name: the user's policy must exist and have a rule for each limit to replace. The
// error is a *fault.InvalidError, or a *fault.UnavailableError if the store has no
// policies yet.
func CheckUserSettings(s policy.UserSettings, policies map[string]policy.Policy) error {
	policy, ok := policies[policyOf(s)]
	switch {
	case !ok && s.Policy != "":
		return fault.Wrong("policy", "there is no policy %q that this program can read: %s",
			fault.Clip(s.Policy), ThereAre(s.Policy, slices.Collect(maps.Keys(policies))))
	case !ok && len(s.Limits) > 0:
		return &fault.UnavailableError{
			Detail: "the store has no rules for everybody that this program can read, which limits would stand in for:" +
				" start a worker on it, or apply a policy",
		}
	}
	return policy.CheckSettings(s)
}

// policyOf returns the name of the policy of a user with these settings.
func policyOf(s policy.UserSettings) string { return cmp.Or(s.Policy, policy.DefaultName) }

func zoneName(zone string) string { return cmp.Or(zone, "UTC") }

func effectiveRules(policy policy.Policy, s policy.UserSettings) *EffectiveRules {
	own := policy.For(s)
	e := &EffectiveRules{
		Policy: policy.Name, Version: policy.Version, TimeZone: zoneName(own.TimeZone),
		QuietHours: append([]string{}, policy.QuietHours.Lines()...), QuietTimeZone: zoneName(policy.QuietZone(s)),
	}
	for _, rule := range own.Rules {
		r := EffectiveRule{Rule: rule.String(), From: FromPolicy}
		if slices.ContainsFunc(s.Limits, rule.SameWindow) {
			r.From = FromUser
			if i := slices.IndexFunc(policy.Rules, rule.SameWindow); i >= 0 {
				r.Replaces = policy.Rules[i].String()
			}
		}
		e.Rules = append(e.Rules, r)
	}
	for _, name := range slices.Sorted(maps.Keys(policy.Categories)) {
		category := policy.Categories[name]
		for _, rule := range category.Rules {
			e.Rules = append(e.Rules, EffectiveRule{Rule: rule.String(), Category: name, From: FromPolicy})
		}
		if category.Exempt {
			e.Exempt = append(e.Exempt, ExemptCategory{Category: name, Counts: !category.Uncounted})
		}
	}
	return e
}
