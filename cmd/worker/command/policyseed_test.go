package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Policies of the settings file are written once, each under its name; then the
// store's hold, and each difference is said with what differs.
func TestPoliciesOfTheSettingsFile(t *testing.T) {
	t.Parallel()
	_, _, environ := elsewhere(t)
	settings := func(content string) string {
		name := filepath.Join(t.TempDir(), "sendlimit.yaml")
		require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
		return name
	}
	start(t, environ, "--config", settings("policy: {categories: {otp: {exempt: true}}}\n"+
		"policies: {vip: {rules: [5/minute], reach: 30d}}")).started(t).notLogged(t, "differs_in")
	list, err := command(t, environ, "", "policy", "list")
	require.NoError(t, err)
	require.Equal(t, ""+
		"NAME     VERSION  RULES                                          TIME ZONE  QUIET HOURS\n"+
		"default  1        1/minute, 5/hour, 10/calendar_day; otp exempt  UTC        none\n"+
		"vip      1        5/minute                                       UTC        none\n", list)

	again := start(t, environ, "--config", settings(
		"policies:\n  vip: {rules: [6/minute], quiet_hours: [\"22:00-08:00\"], categories: {ads: {rules: [1/hour]}}}\n  new: {rules: [1/hour]}",
	)).started(t)
	line := again.logged(t, "the rules in the settings are not those of the store, which hold")
	require.Equal(t, "vip", line["policy"])
	require.Equal(t, "6/minute, ads 1/hour, quiet 22:00-08:00", line["settings"])
	require.Equal(t, "5/minute, at most 30d ahead", line["store"])
	require.Equal(t, "rules, quiet_hours, reach, unknown_categories, categories.ads", line["differs_in"])
	shownNew, err := command(t, environ, "", "policy", "show", "new")
	require.NoError(t, err)
	require.Contains(t, shownNew, "  - 1/hour\n")
	kept, err := command(t, environ, "", "policy", "show", "vip")
	require.NoError(t, err)
	require.Contains(t, kept, "version: 1\n")
}
