package notifier

import "strings"

// ServiceSchemes returns the URL schemes of package service, in order. They are here for programs
// that only check a setting, and should not import all services.
func ServiceSchemes() []string {
	return []string{
		"bark", "discord", "generic", "googlechat", "gotify", "hangouts", "ifttt", "join", "lark", "matrix", "mattermost",
		"mqtt", "mqtts", "notifiarr", "ntfy", "opsgenie", "pagerduty", "pushbullet", "pushover", "rocketchat", "signal",
		"slack", "smtp", "teams", "telegram", "twilio", "wecom", "zulip",
	}
}

// ServiceScheme returns the service of a URL; empty for none. It ignores the part of the scheme
// after a plus: "generic+https" is generic.
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
