package service

import (
	"strings"

	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"github.com/sendlimit/sendlimiter/notifier"
)

// compose returns the text and the fields for the service.
func (s *Notifier) compose(n notifier.Notification) (string, types.Params) {
	params := make(types.Params)
	lines := []string{n.Title, n.Body, n.ClickURL}
	if n.Title != "" && n.Body != "" && hasTitle(s.scheme) {
		params.SetTitle(oneLine(n.Title))
		lines[0] = ""
	}
	if field := linkField(s.scheme); field != "" && n.ClickURL != "" {
		params[field] = oneLine(n.ClickURL)
		lines[2] = ""
	}
	var text strings.Builder
	for _, line := range lines {
		if line == "" {
			continue
		}
		if text.Len() > 0 {
			text.WriteString("\n")
		}
		text.WriteString(line)
	}
	return text.String(), params
}

// oneLine removes control characters: some services send the text in a header.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}

// hasTitle reports whether a service shows titles. Others refuse a message with one.
func hasTitle(scheme string) bool {
	switch scheme {
	case "bark", "discord", "generic", "gotify", "ifttt", "join", "lark", "matrix", "ntfy", "opsgenie", "pushbullet", "pushover",
		"slack", "smtp", "teams", "telegram", "twilio", "zulip":
		return true
	default:
		return false
	}
}

// linkField returns a service's field for the click URL; empty for none.
func linkField(scheme string) string {
	switch scheme {
	case "bark":
		return "url"
	case "ntfy":
		return "click"
	default:
		return ""
	}
}
