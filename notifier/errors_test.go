package notifier_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
)

func TestRedactURL(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ target, want string }{
		{"log:", "log:"},
		{"", ""},
		{"stdout", "stdout"},
		{"https://push.example.com", "https://push.example.com"},
		{"https://push.example.com/", "https://push.example.com"},
		{"https://push.example.com:8443/hooks/T0KEN", "https://push.example.com:8443/…"},
		{"https://push.example.com?key=T0KEN", "https://push.example.com/…"},
		{"https://push.example.com/#T0KEN", "https://push.example.com/…"},
		{"https://robot:T0KEN@push.example.com", "https://push.example.com/…"},
		{"slack://T0KEN@channel", "slack://…"}, // of a service, any part may be a secret
		{"discord://TOKEN@17", "discord://…"},
		{"telegram://17:T0KEN@telegram?chats=@channel", "telegram://…"},
		{"gotify://push.example.com/T0KEN", "gotify://…"},
		{"generic+https://T0KEN.example.com/", "generic+https://…"},
		{"slakc://hook:T0KEN@webhook", "slakc://…"},
		{"SLACK://T0KEN", "slack://…"},
		{"slack:hook:T0KEN", "slack…"},
		{"smtp://robot:T0KEN@mail.example.com:587/?from=a@b.example", "smtp://mail.example.com:587/…"},
		{"socks5://robot:T0KEN@proxy.example.com:1080", "socks5://proxy.example.com:1080/…"},
		{"http://[::1]:8080/T0KEN", "http://[::1]:8080/…"},
		{"push.example.com/T0KEN", "push.example.com…"}, // the scheme was forgotten
		{"robot:T0KEN@push.example.com/x", "…"},         // so it was, and Go takes robot for one
		{"http://robot:T0%KEN@push.example.com", "…"},   // not a URL at all
		{"http://push.example.com/%zz?T0KEN", "http…"},
		{"http://" + "push.example.com\n/T0KEN", "http…"},
		{strings.Repeat("a", 300), strings.Repeat("a", 253) + "…"},
	} {
		require.Equal(t, row.want, notifier.RedactURL(row.target), row.target)
	}
}

func TestInvalidError(t *testing.T) {
	t.Parallel()
	err := &notifier.InvalidError{Field: "push_timeout", Value: "-1s", Want: "a time above zero and up to 5m0s"}
	require.EqualError(t, err, `push_timeout "-1s" is not allowed: use a time above zero and up to 5m0s`)
}
