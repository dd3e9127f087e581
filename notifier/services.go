package notifier

import "strings"

// ServiceSchemes returns the schemes of the URLs that package service opens, in order. They are
// here for programs that only check a setting, and should not contain all services.
func ServiceSchemes() []string {
	return []string{
		"bark", "discord", "generic", "googlechat", "gotify", "hangouts", "ifttt", "join", "lark", "matrix", "mattermost",
		"mqtt", "mqtts", "notifiarr", "ntfy", "opsgenie", "pagerduty", "pushbullet", "pushover", "rocketchat", "signal",
		"slack", "smtp", "teams", "telegram", "twilio", "wecom", "zulip",
	}
}

// ServiceScheme returns which of ServiceSchemes a URL has; empty for none. What follows a plus
// does not count: "generic+https" is generic.
func ServiceScheme(target string) string {
	scheme, _, found := strings.Cut(target, "://")
	if !found {
		return ""
	}
	scheme, _, _ = strings.Cut(strings.ToLower(scheme), "+")
	for _, known := range ServiceSchemes() {
		if scheme == known {
			return known
		}
	}
	return ""
}
