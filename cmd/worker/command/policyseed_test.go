package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Policies of the settings are written once, each under its name; then the store's hold, and
// each difference is said with what differs, and with nobody's whole address. Settings without
// policies differ from none.
func TestPoliciesOfTheSettingsFile(t *testing.T) {
	t.Parallel()
	_, _, environ := elsewhere(t)
	settings := func(content string) string {
		name := filepath.Join(t.TempDir(), "sendlimit.yaml")
		require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
		return name
	}
	start(t, environ, "--config", settings("policy: {categories: {otp: {exempt: true}}}\n"+
		"policies: {vip: {rules: [5/minute], reach: 30d, alert_to: team@example.com}}"), "--policy-time-zone", "Europe/Berlin").started(t).notLogged(t, "differs_in")
	silent := start(t, environ).started(t)
	require.Equal(t, "1/minute, 5/hour, 10/calendar_day (Europe/Berlin), otp exempt", silent.attribute(t, "rules", "rules"))
	silent.notLogged(t, "differs_in")
	list := prints(t, environ, "", "policy", "list")
	require.Equal(t, ""+
		"NAME     VERSION  RULES                                          TIME ZONE      QUIET HOURS\n"+
		"default  1        1/minute, 5/hour, 10/calendar_day; otp exempt  Europe/Berlin  none\n"+
		"vip      1        5/minute                                       UTC            none\n", list)

	again := start(t, environ, "--config", settings(
		"policies:\n  vip: {rules: [6/minute], quiet_hours: [\"22:00-08:00\"], categories: {ads: {rules: [1/hour]}}, alert_to: boss@example.net}\n  new: {rules: [1/hour]}",
	)).started(t)
	line := again.logged(t, "the rules in the settings differ from the store's, which apply")
	require.Equal(t, "vip", line["policy"])
	require.Equal(t, "6/minute, ads 1/hour, quiet 22:00-08:00, alerts to …@example.net", line["settings"])
	require.Equal(t, "5/minute, at most 30d ahead, alerts to …@example.com", line["store"])
	require.Equal(t, "rules, quiet_hours, reach, alert_to, unknown_categories, categories.ads", line["differs_in"])
	require.NotRegexp(t, "team|boss", again.stderr.String())
	shownNew := prints(t, environ, "", "policy", "show", "new")
	require.Contains(t, shownNew, "  - 1/hour\n")
	kept := prints(t, environ, "", "policy", "show", "vip")
	require.Contains(t, kept, "version: 1\n")
}
