package client_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

// spelledOut returns settings as answers have them: with empty lists instead of none.
func spelledOut(s client.Settings) client.Settings {
	s.Limits, s.Categories, s.OptOut, s.QuietHours = []string{}, map[string][]string{}, []string{}, []string{}
	return s
}

func TestSettingsOfTheRealAPI(t *testing.T) {
	t.Parallel()
	a := realAPIOf(t)
	ctx := t.Context()
	_, err := a.ApplyPolicy(ctx, vip())
	require.NoError(t, err)
	none, err := a.UserSettings(ctx, "a/b")
	require.NoError(t, err)
	require.Equal(t, client.UserSettings{
		User: "a/b", Version: "0", Settings: spelledOut(client.Settings{}), Effective: &client.EffectiveRules{
			Policy: "default", Version: 1, TimeZone: "UTC", QuietHours: []string{}, QuietTimeZone: "UTC",
			Rules: []client.EffectiveRule{{Rule: "1/minute", From: "policy"}, {Rule: "5/hour", From: "policy"}, {Rule: "10/calendar_day", From: "policy"}},
		},
	}, none)

	own := client.Settings{
		Contact: "ada@example.org", Policy: "vip", Limits: []string{"30/calendar_day"}, TimeZone: "Asia/Tokyo", Blocked: true,
		Categories: map[string][]string{"marketing": {"1/calendar_day"}}, OptOut: []string{"news"}, QuietHours: []string{"12:00-13:00"},
	}
	set, err := a.SetUserSettings(ctx, "a/b", own, client.IfVersion(none.Version))
	require.NoError(t, err)
	require.NotEqual(t, none.Version, set.Version)
	require.Equal(t, client.UserSettings{
		User: "a/b", Version: set.Version, Settings: own, Effective: &client.EffectiveRules{
			Policy: "vip", Version: 1, TimeZone: "Asia/Tokyo", QuietHours: []string{"22:00-08:00", "12:00-13:00"}, QuietTimeZone: "Asia/Tokyo",
			OptOut: []string{"news"},
			Rules: []client.EffectiveRule{
				{Rule: "3/minute", From: "policy"},
				{Rule: "30/calendar_day", From: "user", Replaces: "20/calendar_day"},
				{Rule: "1/calendar_day", Category: "marketing", From: "user", Replaces: "2/calendar_day"},
			},
			Exempt: []client.ExemptCategory{{Category: "codes"}},
		},
	}, set)
	shown, err := a.UserSettings(ctx, "a/b")
	require.NoError(t, err)
	require.Equal(t, set, shown)

	_, err = a.Submit(ctx, client.Message{User: "a/b", Now: true, Title: "t"})
	var refusal *client.Refusal
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, client.CodeBlocked, refusal.Code)
	usage, err := a.Usage(ctx, client.UsageRequest{User: "a/b"})
	require.NoError(t, err)
	require.True(t, usage.Blocked)

	nothing, no := "", false
	changed, err := a.ChangeUserSettings(ctx, "a/b", client.SettingsChange{Contact: &nothing, Blocked: &no}, client.IfVersion(set.Version))
	require.NoError(t, err)
	own.Contact, own.Blocked = "", false
	require.Equal(t, own, changed.Settings, "the rest stays")
	changed, err = a.ChangeUserSettings(ctx, "a/b", client.SettingsChange{
		Limits: []string{}, Categories: map[string][]string{}, OptOut: []string{}, QuietHours: []string{}, TimeZone: &nothing,
	})
	require.NoError(t, err)
	require.Equal(t, spelledOut(client.Settings{Policy: "vip"}), changed.Settings)
	changed, err = a.SetUserSettings(ctx, "a/b", client.Settings{Contact: "bob@example.org"})
	require.NoError(t, err)
	require.Equal(t, spelledOut(client.Settings{Contact: "bob@example.org"}), changed.Settings, "in place of all")

	for _, outdated := range []client.Condition{client.IfNone(), client.IfVersion(set.Version)} {
		for _, err := range []error{
			second(a.SetUserSettings(ctx, "a/b", own, outdated)), second(a.ChangeUserSettings(ctx, "a/b", client.SettingsChange{}, outdated)),
			second(a.ClearUserSettings(ctx, "a/b", outdated)),
		} {
			isRefused(t, err, client.CodeVersionMismatch)
		}
	}
	cleared, err := a.ClearUserSettings(ctx, "a/b", client.IfVersion(changed.Version))
	require.NoError(t, err)
	require.Equal(t, none, cleared)
	_, err = a.ClearUserSettings(ctx, "a/b")
	require.NoError(t, err, "twice is as once")

	for field, wrong := range map[string]client.Settings{
		"policy": {Policy: "gold"}, "limits": {Limits: []string{"often"}}, "time_zone": {TimeZone: "Mars/Olympus"}, "contact": {Contact: "nobody"},
	} {
		_, err = a.SetUserSettings(ctx, "a/b", wrong)
		isInvalid(t, err, field)
	}
	_, err = a.UserSettings(ctx, "")
	isInvalid(t, err, "user")
}

// The version is what a header says, also where something on the way has encoded
// the answer anew; and of an answer that has none no condition comes that holds
// always.
func TestTheVersionOfSettings(t *testing.T) {
	t.Parallel()
	for etag, version := range map[string]string{`"x-1"`: "x-1", `W/"x-1"`: "x-1", "": ""} {
		var conditions []string
		c := serve(t, once(), func(w http.ResponseWriter, r *http.Request) {
			conditions = append(conditions, r.Header.Get("If-Match"))
			w.Header().Set("ETag", etag)
			reply(w, plainJSON, http.StatusOK, `{"user":"alice","limits":[],"effective":null}`)
		})
		s, err := c.UserSettings(t.Context(), "alice")
		require.NoError(t, err)
		require.Equal(t, version, s.Version)
		require.Nil(t, s.Effective)
		_, err = c.ClearUserSettings(t.Context(), "alice", client.IfVersion(s.Version))
		require.NoError(t, err)
		require.Equal(t, []string{"", `"` + version + `"`}, conditions)
	}
}
