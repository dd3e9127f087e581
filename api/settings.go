package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

const settingsPattern = "/v1/users/{user}/settings"

func (s *server) settingsRoute(id, method, summary, description string, problems ...int) route {
	parameters := []*huma.Param{userParameter()}
	if method != http.MethodGet {
		parameters = append(parameters, conditionParameters("the settings are")...)
		problems = append(problems, http.StatusPreconditionFailed)
	}
	return route{
		Operation: huma.Operation{
			OperationID: id, Method: method, Path: settingsPattern, Tags: []string{"users"},
			Summary: summary, Description: description, Parameters: parameters,
			Responses: versioned(responses[message.UserSettings](s, "The settings, and the rules that apply to the user.", problems...)),
		},
		scope: accounts.ScopeAdmin,
	}
}

func (s *server) showSettingsRoute() route {
	rt := s.settingsRoute("getUserSettings", http.MethodGet, "Get a user's settings, and the rules that apply to the user",
		"A user without settings has the rules of the default policy and the ETag \"0\".")
	rt.Responses = knowable(rt.Responses)
	rt.do = func(r *http.Request, _ web.Query) (web.Answer, error) {
		settings, err := s.users.Get(r.Context(), r.PathValue("user"))
		if err != nil {
			return web.Answer{}, err
		}
		policies, err := s.policiesByName(r.Context())
		if err != nil {
			return web.Answer{}, err
		}
		return settingsAnswer(r, settings, policies), nil
	}
	return rt
}

func (s *server) putSettingsRoute() route {
	rt := s.settingsRoute("setUserSettings", http.MethodPut, "Replace a user's settings",
		"Replaces all settings. Takes effect immediately.", bodyProblems()...)
	rt.RequestBody = jsonBody[message.SettingsDraft](s)
	rt.do = func(r *http.Request, _ web.Query) (web.Answer, error) {
		draft, err := web.ReadBody(s.bodies(), r, checkDraft)
		if err != nil {
			return web.Answer{}, err
		}
		return s.setSettings(r, checkAll, func(message.SettingsDraft) (message.SettingsDraft, error) { return draft, nil })
	}
	return rt
}

func (s *server) changeSettingsRoute() route {
	rt := s.settingsRoute("changeUserSettings", http.MethodPatch, "Change a user's settings",
		"An absent field stays; a null or empty field is removed. Takes effect immediately.", bodyProblems()...)
	rt.RequestBody = jsonBody[message.SettingsPatch](s)
	rt.do = func(r *http.Request, _ web.Query) (web.Answer, error) {
		_, given, err := web.ReadMembers(s.bodies(), r, func(_ message.SettingsPatch, given map[string]json.RawMessage) error {
			draft, err := merged(message.SettingsDraft{}, given)
			if err != nil {
				return err
			}
			return checkDraft(draft)
		})
		if err != nil {
			return web.Answer{}, err
		}
		_, policy := given["policy"]
		_, limits := given["limits"]
		_, categories := given["categories"]
		_, quiet := given["quiet_hours"]
		check := checkNone
		switch {
		case policy:
			check = checkAll
		case limits || categories || quiet:
			check = checkNew
		}
		return s.setSettings(r, check, func(before message.SettingsDraft) (message.SettingsDraft, error) { return merged(before, given) })
	}
	return rt
}

func (s *server) clearSettingsRoute() route {
	rt := s.settingsRoute("clearUserSettings", http.MethodDelete, "Remove a user's settings",
		"The user's messages stay as they are.")
	rt.do = func(r *http.Request, _ web.Query) (web.Answer, error) {
		condition, err := web.PreconditionOf(r.Header)
		if err != nil {
			return web.Answer{}, err
		}
		if len(condition) > 0 {
			return s.setSettings(r, checkNone, func(message.SettingsDraft) (message.SettingsDraft, error) { return message.SettingsDraft{}, nil })
		}
		// This also removes settings that only a newer program can read.
		if err := s.users.Clear(r.Context(), r.PathValue("user")); err != nil {
			return web.Answer{}, err
		}
		policies, err := s.policiesByName(r.Context())
		if err != nil {
			return web.Answer{}, err
		}
		return settingsAnswer(r, policy.UserSettings{}, policies), nil
	}
	return rt
}

// settingsCheck says which settings must fit the stored policies.
type settingsCheck int

const (
	checkNone settingsCheck = iota
	checkNew                // what is new: the rest may refer to rules that are gone, which prevents no change of others
	checkAll
)

// setSettings changes a user's settings if they have the version that the request expects.
func (s *server) setSettings(r *http.Request, check settingsCheck, change func(message.SettingsDraft) (message.SettingsDraft, error)) (web.Answer, error) {
	condition, err := web.PreconditionOf(r.Header)
	if err != nil {
		return web.Answer{}, err
	}
	policies, err := s.policiesByName(r.Context())
	if err != nil {
		return web.Answer{}, err
	}
	settings, err := s.users.Update(r.Context(), r.PathValue("user"), func(before policy.UserSettings) (policy.UserSettings, error) {
		if err := checkVersion(condition, before); err != nil {
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
			wrong.Add(s.contacts.Check("contact", settings.Contact))
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
		return settings, err
	})
	if err != nil {
		return web.Answer{}, err
	}
	return settingsAnswer(r, settings, policies), nil
}

// newIn returns settings without the limits that were there before.
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

// versionOf returns the version of settings; that of none if nothing is set.
func versionOf(s policy.UserSettings) string {
	if s.Equal(policy.UserSettings{}) {
		return web.NoVersion
	}
	return s.Version
}

// checkVersion returns an error unless settings are at the version that a request
// wants to find.
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
	all, _, err := s.policies.All(ctx)
	if err != nil {
		return nil, err
	}
	policies := make(map[string]policy.Policy, len(all))
	for _, policy := range all {
		policies[policy.Name] = policy
	}
	return policies, nil
}

func settingsAnswer(r *http.Request, settings policy.UserSettings, policies map[string]policy.Policy) web.Answer {
	return web.Answer{
		Status: http.StatusOK, Header: web.ETag(versionOf(settings)),
		Body: message.UserSettingsOf(r.PathValue("user"), settings, policies),
	}
}

func draftOf(s policy.UserSettings) message.SettingsDraft {
	all := message.UserSettingsOf("", s, nil)
	return message.SettingsDraft{
		Contact: all.Contact, Policy: all.Policy, Limits: all.Limits, Categories: all.Categories,
		OptOut: all.OptOut, QuietHours: all.QuietHours, TimeZone: all.TimeZone, Blocked: all.Blocked,
	}
}

// checkDraft checks what needs no look at the store.
func checkDraft(d message.SettingsDraft) error {
	_, err := settingsOf(d)
	return err
}

// settingsOf reads a draft. The error is a *fault.InvalidError, or fault.InvalidErrors for
// several settings.
func settingsOf(d message.SettingsDraft) (policy.UserSettings, error) {
	s := policy.UserSettings{Contact: d.Contact, Policy: d.Policy, OptOut: d.OptOut, TimeZone: d.TimeZone, Blocked: d.Blocked}
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
	// Into a draft where nothing is set, so null sets nothing.
	if err := json.Unmarshal(text, &changed); err != nil {
		return changed, fmt.Errorf("changing settings: %w", err)
	}
	return changed, nil
}
