package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/sendlimit/sendlimiter/message"
)

type (
	// Settings lists the settings of a user. An empty field is not set.
	Settings = message.SettingsDraft
	// SettingsChange lists changes. A nil field stays, an empty one is removed.
	SettingsChange = message.SettingsPatch
	// EffectiveRules lists the rules that apply to a user.
	EffectiveRules = message.EffectiveRules
	// EffectiveRule is one of these rules, and where it comes from.
	EffectiveRule = message.EffectiveRule
	// ExemptCategory is a category whose messages no rule limits.
	ExemptCategory = message.ExemptCategory
)

// UserSettings has what is set for a user, and the rules that apply to the user. Effective is nil
// if the policy no longer exists: then nothing is accepted for the user.
type UserSettings struct {
	message.UserSettings

	// Version changes with each change, see IfVersion; "0" if nothing is set.
	Version string `json:"-"`
}

// UserSettings returns the settings of a user. If nothing is set that is not an error.
func (c *Client) UserSettings(ctx context.Context, user string) (UserSettings, error) {
	return c.callSettings(ctx, call{doing: "asking for a user's settings", method: http.MethodGet}, user, nil)
}

// SetUserSettings replaces all settings of a user. It takes effect immediately.
//
// After this and the other changes of settings, a refusal with CodeVersionMismatch may
// mean that an earlier try, whose answer got lost, made the change.
func (c *Client) SetUserSettings(ctx context.Context, user string, s Settings, only ...Condition) (UserSettings, error) {
	what := call{doing: "setting a user's settings", method: http.MethodPut, header: headerOf(only)}
	return c.callSettings(ctx, what, user, s)
}

// ChangeUserSettings changes some settings of a user. It takes effect immediately.
func (c *Client) ChangeUserSettings(ctx context.Context, user string, change SettingsChange, only ...Condition) (UserSettings, error) {
	what := call{doing: "changing a user's settings", method: http.MethodPatch, header: headerOf(only)}
	return c.callSettings(ctx, what, user, change)
}

// ClearUserSettings removes all settings of a user. Messages do not change.
func (c *Client) ClearUserSettings(ctx context.Context, user string, only ...Condition) (UserSettings, error) {
	what := call{doing: "clearing a user's settings", method: http.MethodDelete, header: headerOf(only)}
	return c.callSettings(ctx, what, user, nil)
}

// callSettings makes a call that returns the settings of a user.
func (c *Client) callSettings(ctx context.Context, what call, user string, body any) (UserSettings, error) {
	path, err := userPath(user, "settings")
	if err != nil {
		return UserSettings{}, fmt.Errorf("%s: %w", what.doing, err)
	}
	what.path = path
	what, err = what.with(body)
	if err != nil {
		return UserSettings{}, err
	}
	var s UserSettings
	s.Version, err = c.doVersioned(ctx, what, &s)
	return s, err
}
