package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/sendlimit/sendlimiter/tasks/message"
)

// What the calls about a user's settings take and return.
type (
	Settings       = message.SettingsDraft // an empty field is not set
	SettingsChange = message.SettingsPatch // what is nil stays, what is empty is removed
	EffectiveRules = message.EffectiveRules
	EffectiveRule  = message.EffectiveRule
	ExemptCategory = message.ExemptCategory
)

// UserSettings are what is set for a user, and what holds for the user then.
type UserSettings struct {
	Settings

	User string `json:"user"`
	// Effective is nil where there is no such policy any more: nothing is accepted
	// for the user then.
	Effective *EffectiveRules `json:"effective"`
	// Version is another one after each change, for IfVersion; "0" where nothing is
	// set.
	Version string `json:"-"`
}

// UserSettings says what is set for a user, and what holds for the user. Where
// nothing is set that is no error.
func (c *Client) UserSettings(ctx context.Context, user string) (UserSettings, error) {
	return c.aboutSettings(ctx, call{doing: "asking for a user's settings", method: http.MethodGet}, user, nil)
}

// SetUserSettings sets what is a user's own, in place of all that was set. It
// holds from the very next decision on.
//
// Of this and the other changes of settings, a refusal with CodeVersionMismatch
// may mean that a first try, whose answer got lost, has done it.
func (c *Client) SetUserSettings(ctx context.Context, user string, s Settings, only ...Condition) (UserSettings, error) {
	what := call{doing: "setting a user's settings", method: http.MethodPut, header: headerOf(only)}
	return c.aboutSettings(ctx, what, user, s)
}

// ChangeUserSettings changes some of what is a user's own, from the very next
// decision on.
func (c *Client) ChangeUserSettings(ctx context.Context, user string, change SettingsChange, only ...Condition) (UserSettings, error) {
	what := call{doing: "changing a user's settings", method: http.MethodPatch, header: headerOf(only)}
	return c.aboutSettings(ctx, what, user, change)
}

// ClearUserSettings removes all that is set for a user. Messages stay as they
// are.
func (c *Client) ClearUserSettings(ctx context.Context, user string, only ...Condition) (UserSettings, error) {
	what := call{doing: "clearing a user's settings", method: http.MethodDelete, header: headerOf(only)}
	return c.aboutSettings(ctx, what, user, nil)
}

// aboutSettings makes a call that answers with what is set for a user.
func (c *Client) aboutSettings(ctx context.Context, what call, user string, body any) (UserSettings, error) {
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
