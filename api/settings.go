package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

const settingsPattern = "/v1/users/{user}/settings"

const aboutFollowing = "scheduled in the answer counts the scheduled messages that do not fit the new settings, and says what became of them: see then. " +
	"Until it is complete, the same request continues."

func (s *server) settingsRoutes() []route {
	const says = "The settings and rules of the user."
	return []route{
		operation(s, route{
			Operation: named("getUserSettings", http.MethodGet, settingsPattern, "users",
				"Get a user's settings and rules",
				"A user without settings has the rules of the default policy and the ETag \"0\"."),
			scope: accounts.ScopeAdmin, says: says,
		}, s.showSettings),
		operation(s, route{
			Operation: named("setUserSettings", http.MethodPut, settingsPattern, "users",
				"Replace a user's settings",
				"Replaces all settings. Takes effect immediately. "+aboutFollowing),
			scope: accounts.ScopeAdmin, says: says,
		}, s.putSettings),
		operation(s, route{
			Operation: named("changeUserSettings", http.MethodPatch, settingsPattern, "users",
				"Change a user's settings",
				"An absent field does not change; a null or empty field is removed. Takes effect immediately. "+aboutFollowing),
			scope: accounts.ScopeAdmin, says: says,
		}, s.changeSettings),
		operation(s, route{
			Operation: named("clearUserSettings", http.MethodDelete, settingsPattern, "users",
				"Remove a user's settings",
				"The user's messages do not change. scheduled counts those that do not fit the policy."),
			scope: accounts.ScopeAdmin, says: says,
		}, s.clearSettings),
	}
}

func (s *server) showSettings(ctx context.Context, in ofUser) (answer tagged[message.UserSettings], err error) {
	settings, err := s.Users.Get(ctx, in.User)
	if err != nil {
		return answer, err
	}
	policies, err := s.policiesByName(ctx)
	answer = settingsAnswer(in.User, settings, policies)
	if settings.Then != "" || settings.Rezoned {
		answer.value.Scheduled = &message.FollowThrough{Then: string(settings.Then), Complete: !settings.Follows()}
	}
	return answer, err
}

type settingsOfUser struct {
	ofUser

	Condition condition
}

// newSettings replace all settings.
type newSettings struct {
	settingsOfUser

	Body object[message.SettingsDraft]
}

// check checks the settings without the store.
func (in *newSettings) check(context.Context, *server) error {
	_, err := settingsOf(in.Body.value)
	return err
}

func (s *server) putSettings(ctx context.Context, in newSettings) (tagged[message.UserSettings], error) {
	return s.setSettings(ctx, in.settingsOfUser, in.Body.value.DryRun, checkAll, func(message.SettingsDraft) (message.SettingsDraft, error) { return in.Body.value, nil })
}

// settingsChange replaces only the given settings.
type settingsChange struct {
	settingsOfUser

	Body object[message.SettingsPatch]
}

func (in *settingsChange) check(context.Context, *server) error {
	draft, err := merged(message.SettingsDraft{}, in.Body.given)
	if err == nil {
		_, err = settingsOf(draft)
	}
	return err
}

func (s *server) changeSettings(ctx context.Context, in settingsChange) (tagged[message.UserSettings], error) {
	has := func(members ...string) bool {
		return slices.ContainsFunc(members, func(member string) bool { return in.Body.given[member] != nil })
	}
	check := checkNone
	switch {
	case has("policy"):
		check = checkAll
	case has("limits", "categories", "quiet_hours"):
		check = checkNew
	}
	return s.setSettings(ctx, in.settingsOfUser, in.Body.value.DryRun, check, func(before message.SettingsDraft) (message.SettingsDraft, error) {
		return merged(before, in.Body.given)
	})
}

func (s *server) clearSettings(ctx context.Context, in settingsOfUser) (answer tagged[message.UserSettings], err error) {
	if len(in.Condition.Precondition) > 0 {
		return s.setSettings(ctx, in, false, checkNone, func(message.SettingsDraft) (message.SettingsDraft, error) { return message.SettingsDraft{}, nil })
	}
	// This also removes settings that only a newer program can read.
	if err := s.Users.Clear(ctx, in.User); err != nil {
		return answer, err
	}
	settings, err := s.Users.Get(ctx, in.User)
	if err != nil {
		return answer, err
	}
	policies, err := s.policiesByName(ctx)
	if err != nil {
		return answer, err
	}
	return s.followed(ctx, in.User, settings, policies, false)
}

type settingsCheck int

const (
	checkNone settingsCheck = iota
	checkNew                // what is new: the rest may refer to rules that are gone, which prevents no change of others
	checkAll
)

// setSettings changes a user's settings if they have the expected version, and then the scheduled messages
// as the change asks. A dry run only looks.
func (s *server) setSettings(
	ctx context.Context, of settingsOfUser, dryRun bool, check settingsCheck, change func(message.SettingsDraft) (message.SettingsDraft, error),
) (answer tagged[message.UserSettings], err error) {
	policies, err := s.policiesByName(ctx)
	if err != nil {
		return answer, err
	}
	decide := func(before policy.UserSettings) (policy.UserSettings, error) {
		if err := checkVersion(of.Condition.Precondition, before); err != nil {
			return policy.UserSettings{}, err
		}
		draft, err := change(draftOf(before))
		if err != nil {
			return policy.UserSettings{}, err
		}
		settings, err := settingsOf(draft)
		if err != nil {
			return settings, err
		}
		var wrong fault.InvalidErrors
		if settings.Contact != before.Contact {
			wrong.Add(s.Contacts.Check("contact", settings.Contact))
		}
		switch check {
		case checkAll:
			err = message.CheckUserSettings(settings, policies)
		case checkNew:
			err = message.CheckUserSettings(newIn(settings, before), policies)
		case checkNone:
		}
		wrong.Add(err)
		if len(wrong) > 0 {
			return settings, wrong.Err()
		}
		if contact := before; settings.Then == "" {
			contact.Contact, contact.BestHours = settings.Contact, settings.BestHours
			if settings.Equal(contact) { // these have nothing to do with scheduled messages
				settings.Then = before.Then
			}
		}
		return settings, err
	}
	var settings policy.UserSettings
	if dryRun {
		if settings, err = s.Users.Get(ctx, of.User); err == nil {
			version := settings.Version
			settings, err = decide(settings)
			settings.Version = version
		}
	} else {
		settings, err = s.Users.Update(ctx, of.User, decide)
	}
	if err != nil {
		return answer, err
	}
	return s.followed(ctx, of.User, settings, policies, dryRun)
}

// followed returns settings with what becomes of the user's scheduled messages, after doing that.
func (s *server) followed(
	ctx context.Context, user string, settings policy.UserSettings, policies map[string]policy.Policy, dryRun bool,
) (answer tagged[message.UserSettings], err error) {
	answer = settingsAnswer(user, settings, policies)
	var f message.FollowThrough
	if dryRun {
		f, err = s.Refitter.Preview(ctx, user, settings)
	} else {
		f, err = s.Refitter.Follow(ctx, user, settings)
	}
	if err != nil {
		return answer, err
	}
	f.Explain(dryRun)
	if f.Then != "" || f.Affected > 0 || dryRun || !f.Complete {
		answer.value.Scheduled = &f
	}
	return answer, nil
}

// newIn returns settings with only the limits that before does not have.
func newIn(settings, before policy.UserSettings) policy.UserSettings {
	fresh := func(now, old []policy.Rule) []policy.Rule {
		return slices.DeleteFunc(slices.Clone(now), func(r policy.Rule) bool { return slices.Contains(old, r) })
	}
	found := settings
	found.Limits = fresh(settings.Limits, before.Limits)
	found.Categories = make(map[string][]policy.Rule)
	for name, limits := range settings.Categories {
		if some := fresh(limits, before.Categories[name]); len(some) > 0 {
			found.Categories[name] = some
		}
	}
	return found
}

// versionOf returns the version of settings, web.NoVersion if nothing is set.
func versionOf(s policy.UserSettings) string {
	if s.Equal(policy.UserSettings{}) {
		return web.NoVersion
	}
	return s.Version
}

// checkVersion returns an error unless settings have the expected version.
func checkVersion(p web.Precondition, s policy.UserSettings) error {
	present := versionOf(s)
	switch {
	case p.Accepts(present):
		return nil
	case p.Existing():
		return web.OtherVersion(present, "nothing is set for the user")
	case present == web.NoVersion:
		return web.OtherVersion(present, "nothing is set for the user, so nothing at that version")
	case p.Accepts(web.NoVersion):
		return web.OtherVersion(present, "something is set for the user already")
	default:
		return web.OtherVersion(present, "what is set for the user was changed since: look at it again")
	}
}

func (s *server) policiesByName(ctx context.Context) (map[string]policy.Policy, error) {
	all, _, err := s.Policies.All(ctx)
	if err != nil {
		return nil, err
	}
	policies := make(map[string]policy.Policy, len(all))
	for _, policy := range all {
		policies[policy.Name] = policy
	}
	return policies, nil
}

func settingsAnswer(user string, settings policy.UserSettings, policies map[string]policy.Policy) tagged[message.UserSettings] {
	return tagged[message.UserSettings]{message.UserSettingsOf(user, settings, policies), versionOf(settings)}
}

func draftOf(s policy.UserSettings) message.SettingsDraft {
	all := message.UserSettingsOf("", s, nil)
	return message.SettingsDraft{
		Contact: all.Contact, Policy: all.Policy, Limits: all.Limits, Categories: all.Categories,
		OptOut: all.OptOut, QuietHours: all.QuietHours, TimeZone: all.TimeZone, Blocked: all.Blocked,
		DoNotDisturbUntil: message.SpelledTime(s.DoNotDisturbUntil), BestHours: all.BestHours,
	}
}

// settingsOf reads a draft. The error is a *fault.InvalidError, or fault.InvalidErrors for
// several settings.
func settingsOf(d message.SettingsDraft) (policy.UserSettings, error) {
	s := policy.UserSettings{Contact: d.Contact, Policy: d.Policy, OptOut: d.OptOut, TimeZone: d.TimeZone, Blocked: d.Blocked, Then: policy.Then(d.Then)}
	var faults message.Faults
	var err error
	s.Limits, err = policy.ParseRules(d.Limits, "limits")
	faults.AddUnread(err)
	for _, name := range slices.Sorted(maps.Keys(d.Categories)) {
		if s.Categories == nil {
			s.Categories = make(map[string][]policy.Rule, len(d.Categories))
		}
		s.Categories[name], err = policy.ParseRules(d.Categories[name], "categories."+name)
		faults.AddUnread(err)
	}
	s.QuietHours, err = policy.ParseQuietHours(d.QuietHours...)
	faults.AddUnread(err)
	if d.DoNotDisturbUntil != "" {
		at, now, err := message.ParseTime(d.DoNotDisturbUntil)
		if err == nil && now {
			err = &fault.InvalidError{Value: d.DoNotDisturbUntil, Want: "an RFC 3339 time, such as 2027-06-22T09:00:00Z"}
		}
		faults.AddUnread(fault.InField(err, "do_not_disturb_until"))
		s.DoNotDisturbUntil = at.UTC().Truncate(time.Millisecond)
	}
	s.BestHours, err = policy.ParseBestHours(d.BestHours)
	faults.AddUnread(err)
	return s, faults.With(s.Validate())
}

// merged returns a draft with the given members. A null member is removed. The members must
// have the types of a SettingsPatch.
func merged(d message.SettingsDraft, given map[string]json.RawMessage) (message.SettingsDraft, error) {
	var changed message.SettingsDraft
	own, err := json.Marshal(d)
	if err != nil {
		return changed, fmt.Errorf("changing settings: %w", err)
	}
	members := make(map[string]json.RawMessage)
	if err := json.Unmarshal(own, &members); err != nil {
		return changed, fmt.Errorf("changing settings: %w", err)
	}
	maps.Copy(members, given)
	text, err := json.Marshal(members)
	if err != nil {
		return changed, fmt.Errorf("changing settings: %w", err)
	}
	// The draft starts empty, so null sets nothing.
	if err := json.Unmarshal(text, &changed); err != nil {
		return changed, fmt.Errorf("changing settings: %w", err)
	}
	return changed, nil
}
