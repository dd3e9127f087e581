package notifier_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
)

func TestServiceScheme(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"ntfy://ntfy.sh/topic":              "ntfy",
		"NTFY://ntfy.sh/topic":              "ntfy",
		"generic+https://hooks.example.com": "generic",
		"telegram://TOKEN@telegram?chats=1": "telegram",
		"https://push.example.com":          "",
		"logger://":                         "",
		"ntfy:topic":                        "",
		"://ntfy":                           "",
		"ntfy":                              "",
		"":                                  "",
		"slakc://TOKEN":                     "",
	} {
		require.Equal(t, want, notifier.ServiceScheme(target), target)
	}
}
