package client

import (
	"context"
	"fmt"
	"net/http"
)

// Settings are what is a user's own; what is empty is not set.
type Settings struct {
	Contact string `json:"contact,omitempty"` // who is told when a daily rule is full: an e-mail address or an https: URL
	Policy  string `json:"policy,omitempty"`  // the name of one that exists; "" means that of everybody else
	// Limits are rules in place of those of the policy that have the same window:
	// 20/calendar_day for 10/calendar_day.
	Limits   []string `json:"limits,omitempty"`
	TimeZone string   `json:"time_zone,omitempty"` // IANA
	Blocked  bool     `json:"blocked,omitempty"`   // nothing more is accepted; what was is still sent
}

// SettingsChange says what to change of a user's settings; what is nil stays, and
// what is empty is set no more.
type SettingsChange struct {
	Contact  *string  `json:"contact,omitempty"`
	Policy   *string  `json:"policy,omitempty"`
	Limits   []string `json:"limits,omitzero"`
	TimeZone *string  `json:"time_zone,omitempty"`
	Blocked  *bool    `json:"blocked,omitempty"`
}

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

// EffectiveRules are what holds for a user.
type EffectiveRules struct {
	Policy        string           `json:"policy"`
	Version       int64            `json:"version"`   // of the policy
	TimeZone      string           `json:"time_zone"` // in which calendar rules count
	Rules         []EffectiveRule  `json:"rules"`     // those of categories last
	Exempt        []ExemptCategory `json:"exempt"`
	QuietHours    []string         `json:"quiet_hours"`
	QuietTimeZone string           `json:"quiet_time_zone"`
	WithoutEffect []string         `json:"without_effect"` // limits of the user that replace no rule
}

// EffectiveRule is a rule that holds for a user.
type EffectiveRule struct {
	Rule     string `json:"rule"`
	Category string `json:"category"` // whose messages it counts; "" for all
	From     string `json:"from"`     // policy or user
	Replaces string `json:"replaces"` // the policy's rule, where it is the user's
}

// ExemptCategory is a category whose messages nothing judges.
type ExemptCategory struct {
	Category string `json:"category"`
	Counts   bool   `json:"counts"` // whether they count for the others
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
