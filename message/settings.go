package message

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// ThenKeep, ThenShift and ThenDrop are the values of SettingsDraft.Then.
const (
	ThenKeep  = string(policy.ThenKeep)
	ThenShift = string(policy.ThenShift)
	ThenDrop  = string(policy.ThenDrop)
)

// FollowThrough says what becomes of the scheduled messages of a user whose settings change.
type FollowThrough struct {
	Then     string   `json:"then,omitempty" doc:"What was asked: keep, shift or drop."`
	Affected int      `json:"affected" doc:"Scheduled messages that did not fit the settings when they changed."`
	Moved    int      `json:"moved,omitempty" doc:"Messages that were moved."`
	Kept     int      `json:"kept,omitempty" doc:"Messages that follow the user's time zone, and stay where they are: their local time in the new zone is not free."`
	Dropped  int      `json:"dropped,omitempty" doc:"Messages that were dropped."`
	Gone     int      `json:"gone,omitempty" doc:"Messages that were sent, moved or cancelled meanwhile."`
	Complete bool     `json:"complete" doc:"Whether nothing is left to do. Otherwise the same request continues, and so do workers. After a later change of the settings it is false: that change decides."`
	Hint     string   `json:"hint,omitempty" doc:"A sentence for a person: what can be done."`
	Messages []Misfit `json:"messages,omitempty" doc:"In a dry run, the messages that would not fit, by their times: at most the first 1,000."`
}

// Explain sets the hint.
func (f *FollowThrough) Explain(dryRun bool) {
	switch {
	case !dryRun && !f.Complete:
		f.Hint = "the messages are not all moved or dropped yet: repeat the request, or wait for a worker to do it"
	case !dryRun && f.Then == "" && f.Affected > f.Moved+f.Kept+f.Gone:
		f.Hint = "the messages stay where they are, and those in quiet hours of the user wait at their times: then moves (shift) or drops (drop) them, or sends them as planned (keep)"
	}
}

// SettingsDraft is the request to set all settings of a user. An empty field is not set.
type SettingsDraft struct {
	Contact    string              `json:"contact,omitempty" doc:"Where alerts about full daily rules go: an e-mail address or an https: URL."`
	Policy     string              `json:"policy,omitempty" doc:"The name of an existing policy, instead of default."`
	Limits     []string            `json:"limits,omitempty" doc:"Rules that replace the policy's rules with the same windows: 20/calendar_day replaces 10/calendar_day."`
	Categories map[string][]string `json:"categories,omitempty" doc:"Rules of single categories, by name. They replace the category's rules with the same windows, or apply beside them."`
	OptOut     []string            `json:"opt_out,omitempty" doc:"Categories that the user does not want; all stands for everything but exempt categories. Their messages are refused, and scheduled ones are dropped at their send time."`
	QuietHours []string            `json:"quiet_hours,omitempty" doc:"Quiet hours of the user, beside those of the policy. Scheduled messages whose times lie in them are sent afterwards, as late ones."`
	TimeZone   string              `json:"time_zone,omitempty" doc:"An IANA time zone, for quiet hours, and for calendar rules if the policy says so."`
	// DoNotDisturbUntil is an RFC 3339 time.
	DoNotDisturbUntil string `json:"do_not_disturb_until,omitempty" doc:"Before this time nothing is sent to the user, except messages of exempt categories. Messages for earlier times are refused or shifted; scheduled ones are sent afterwards, as late ones."`
	BestHours         []int  `json:"best_hours,omitempty" doc:"How well each hour of the week suits the user: 168 weights from 0 to 1000, from Monday 00:00 on, by the clocks of the user's time zone. Windows with prefer best draw send times in their ratio. Where all are 0, all hours suit alike."`
	Blocked           bool   `json:"blocked,omitempty" doc:"Whether no more messages are accepted for the user. Scheduled ones are dropped at their send times."`
	Then              string `json:"then,omitempty" doc:"What becomes of scheduled messages that do not fit the new settings: keep sends them at their times, also in quiet hours of the user; shift moves each to its next free time, and drops it if none is free before it expires; drop drops them. If absent, they stay, and wait at their times for the end of the user's quiet hours."`
	DryRun            bool   `json:"dry_run,omitempty" doc:"Changes nothing, and lists the scheduled messages that would not fit."`
}

// SettingsPatch is the request to change some settings of a user. A nil field stays unchanged; an
// empty one is removed.
type SettingsPatch struct {
	Contact           *string             `json:"contact,omitempty" doc:"An e-mail address or an https: URL."`
	Policy            *string             `json:"policy,omitempty" doc:"The name of an existing policy."`
	Limits            []string            `json:"limits,omitzero" doc:"All rules of the user's own."`
	Categories        map[string][]string `json:"categories,omitzero" doc:"All own rules of categories."`
	OptOut            []string            `json:"opt_out,omitzero" doc:"All categories that the user does not want; all stands for everything but exempt categories."`
	QuietHours        []string            `json:"quiet_hours,omitzero" doc:"All quiet hours of the user."`
	TimeZone          *string             `json:"time_zone,omitempty" doc:"An IANA time zone."`
	DoNotDisturbUntil *string             `json:"do_not_disturb_until,omitempty" doc:"The time before which nothing is sent to the user, except messages of exempt categories."`
	BestHours         []int               `json:"best_hours,omitzero" doc:"The 168 weights of the hours of the week, from Monday 00:00 on."`
	Blocked           *bool               `json:"blocked,omitempty" doc:"Whether no more messages are accepted."`
	Then              string              `json:"then,omitempty" doc:"What becomes of scheduled messages that do not fit the new settings: keep sends them at their times, also in quiet hours of the user; shift moves each to its next free time, and drops it if none is free before it expires; drop drops them. If absent, they stay, and wait at their times for the end of the user's quiet hours."`
	DryRun            bool                `json:"dry_run,omitempty" doc:"Changes nothing, and lists the scheduled messages that would not fit."`
}

// UserSettings are the settings of a user, and the rules that apply to the user.
type UserSettings struct {
	User              string              `json:"user" doc:"The user's name."`
	Contact           string              `json:"contact" doc:"The contact that is alerted when a daily rule is full; empty for none."`
	Policy            string              `json:"policy" doc:"The name of the user's policy; empty for default."`
	Limits            []string            `json:"limits" doc:"Rules that replace the policy's rules with the same windows."`
	Categories        map[string][]string `json:"categories" doc:"The user's own rules of categories, by name. They replace the rules of the category with the same windows; others apply beside those."`
	OptOut            []string            `json:"opt_out" doc:"Categories that the user does not want; all stands for everything but exempt categories. Their messages are refused, and scheduled ones are dropped at their send time."`
	QuietHours        []string            `json:"quiet_hours" doc:"The user's own quiet hours, beside those of the policy."`
	TimeZone          string              `json:"time_zone" doc:"The user's IANA time zone; empty for the policy's."`
	DoNotDisturbUntil Time                `json:"do_not_disturb_until,omitzero" doc:"The time before which nothing is sent to the user, except messages of exempt categories; absent for none."`
	BestHours         []int               `json:"best_hours,omitempty" doc:"The 168 weights of the hours of the week, from Monday 00:00 on; absent for none."`
	Blocked           bool                `json:"blocked" doc:"Whether no more messages are accepted for the user."`
	Effective         *EffectiveRules     `json:"effective" doc:"The rules that apply to the user. null if the policy does not exist: then no message is accepted."`
	Scheduled         *FollowThrough      `json:"scheduled,omitempty" doc:"What becomes of scheduled messages; absent if no change asked for it and none is affected."`

	// Version changes with each change; "0" if nothing is set. A client gets it from the ETag.
	Version string `json:"-"`
}

// ListedUser is a user with settings.
type ListedUser struct {
	User       string   `json:"user" doc:"The user's name."`
	Contact    string   `json:"contact,omitempty" doc:"The contact that is alerted when a daily rule is full."`
	Policy     string   `json:"policy,omitempty" doc:"The name of the user's policy; absent for default."`
	Limits     []string `json:"limits,omitempty" doc:"Rules that replace the policy's rules with the same windows."`
	TimeZone   string   `json:"time_zone,omitempty" doc:"The user's IANA time zone."`
	Blocked    bool     `json:"blocked,omitempty" doc:"Whether no more messages are accepted for the user."`
	Unreadable bool     `json:"unreadable,omitempty" doc:"Only a newer program can read the settings."`
}

// ListedUserOf converts the settings of a user.
func ListedUserOf(user string, s policy.UserSettings, unreadable bool) ListedUser {
	listed := ListedUser{
		User: user, Contact: s.Contact, Policy: s.Policy, TimeZone: s.TimeZone, Blocked: s.Blocked, Unreadable: unreadable,
	}
	for _, limit := range s.Limits {
		listed.Limits = append(listed.Limits, limit.String())
	}
	return listed
}

// Users is a page of the users with settings.
type Users struct {
	Users      []ListedUser `json:"users" doc:"In the order of the store, which does not change."`
	NextCursor string       `json:"next_cursor,omitempty" doc:"The cursor of the next page; absent if there are no more. The next page may be empty."`
}

// EffectiveRules are the rules that apply to a user.
type EffectiveRules struct {
	Policy        string           `json:"policy" doc:"The name of the policy."`
	Version       int64            `json:"version" doc:"The version of the policy."`
	TimeZone      string           `json:"time_zone" doc:"The time zone in which calendar rules count."`
	Rules         []EffectiveRule  `json:"rules" doc:"All rules; those of categories come last."`
	Exempt        []ExemptCategory `json:"exempt,omitempty" doc:"Categories to which no rule applies."`
	QuietHours    []string         `json:"quiet_hours" doc:"When nothing is sent, except messages of the categories in quiet: hours, allowed hours after the word only, and dates after the word blackout."`
	Quiet         []CategoryQuiet  `json:"quiet,omitempty" doc:"Categories with quiet times of their own."`
	QuietTimeZone string           `json:"quiet_time_zone" doc:"The time zone of the quiet hours."`
	OptOut        []string         `json:"opt_out,omitempty" doc:"Categories that the user does not want."`
	Changes       []string         `json:"changes,omitempty" doc:"Changes for send times of some dates."`
}

// CategoryQuiet has the own quiet times of a category.
type CategoryQuiet struct {
	Category   string   `json:"category" doc:"The category's name."`
	QuietHours []string `json:"quiet_hours" doc:"When none of its messages are sent."`
}

// EffectiveRule is a rule that applies to a user.
type EffectiveRule struct {
	Rule     string `json:"rule" doc:"The rule, as in the policy."`
	Category string `json:"category,omitempty" doc:"The category whose messages the rule counts; absent if it counts all messages."`
	From     string `json:"from" doc:"policy, or user if it is in the user's settings."`
	Replaces string `json:"replaces,omitempty" doc:"The policy's rule that it replaces; absent if the policy has no rule with that window, so that the limit applies beside its rules."`
}

// Values of EffectiveRule.From.
const (
	FromPolicy = "policy"
	FromUser   = "user"
)

// ExemptCategory is a category to which no rule applies.
type ExemptCategory struct {
	Category string `json:"category" doc:"The category's name."`
	Counts   bool   `json:"counts" doc:"Whether its messages count in the policy's rules."`
}

// UserSettingsOf returns the settings of a user with the effective rules. policies are by name.
func UserSettingsOf(user string, s policy.UserSettings, policies map[string]policy.Policy) UserSettings {
	spelled := UserSettings{
		User: user, Contact: s.Contact, Policy: s.Policy, Limits: spelledRules(s.Limits),
		Categories: make(map[string][]string, len(s.Categories)), OptOut: append([]string{}, s.OptOut...),
		QuietHours: append([]string{}, s.QuietHours.Lines()...), TimeZone: s.TimeZone, Blocked: s.Blocked,
		DoNotDisturbUntil: Time{s.DoNotDisturbUntil}, BestHours: s.BestHours.Weights(),
	}
	for name, limits := range s.Categories {
		spelled.Categories[name] = spelledRules(limits)
	}
	if policy, ok := policies[policyOf(s)]; ok {
		spelled.Effective = effectiveRules(policy, s)
	}
	return spelled
}

func spelledRules(rules []policy.Rule) []string {
	texts := make([]string, len(rules))
	for i, r := range rules {
		texts[i] = r.String()
	}
	return texts
}

// CheckUserSettings checks settings against the store's policies by name: the user's policy must
// exist and have a rule for each limit to replace. The error is a *fault.InvalidError, or a
// *fault.UnavailableError if the store has no policies yet.
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

// policyOf returns the name of the user's policy.
func policyOf(s policy.UserSettings) string { return cmp.Or(s.Policy, policy.DefaultName) }

func zoneName(zone string) string { return cmp.Or(zone, "UTC") }

func effectiveRules(policy policy.Policy, s policy.UserSettings) *EffectiveRules {
	own := policy.For(s)
	e := &EffectiveRules{
		Policy: policy.Name, Version: policy.Version, TimeZone: zoneName(own.TimeZone),
		QuietHours:    append([]string{}, policy.Quiet("", s.QuietHours).Lines()...),
		QuietTimeZone: zoneName(policy.QuietZone(s)), OptOut: s.OptOut,
	}
	for _, c := range policy.Changes {
		e.Changes = append(e.Changes, policy.DescribeChange(c, s))
	}
	e.addRules("", own.Rules, policy.Rules, s.Limits)
	for _, name := range slices.Sorted(maps.Keys(own.Categories)) {
		category := own.Categories[name]
		e.addRules(name, category.Rules, policy.Categories[name].Rules, s.Categories[name])
		if category.Exempt {
			e.Exempt = append(e.Exempt, ExemptCategory{Category: name, Counts: !category.Uncounted})
		}
		if category.HasQuiet() {
			e.Quiet = append(e.Quiet, CategoryQuiet{Category: name, QuietHours: append([]string{}, policy.Quiet(name, s.QuietHours).Lines()...)})
		}
	}
	return e
}

// addRules adds effective rules, with the policy's rules and the user's limits that they come from.
func (e *EffectiveRules) addRules(category string, rules, ofPolicy, limits []policy.Rule) {
	for _, rule := range rules {
		r := EffectiveRule{Rule: rule.String(), Category: category, From: FromPolicy}
		if slices.ContainsFunc(limits, rule.SameWindow) {
			r.From = FromUser
			if i := slices.IndexFunc(ofPolicy, rule.SameWindow); i >= 0 {
				r.Replaces = ofPolicy[i].String()
			}
		}
		e.Rules = append(e.Rules, r)
	}
}
