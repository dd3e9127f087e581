package notifier_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
)

// announcing remembers whom it was to tell, and whether it was closed.
type announcing struct {
	to     []string
	closed error
}

func (a *announcing) Announce(_ context.Context, to string, _ notifier.Notice) notifier.Result {
	a.to = append(a.to, to)
	return notifier.Result{Status: notifier.Delivered}
}

func (a *announcing) Close() error { return a.closed }

func TestAContactIsToldByItsKind(t *testing.T) {
	t.Parallel()
	mails, posts := &announcing{}, &announcing{closed: errors.New("not closed")}
	both := notifier.ByContact{Email: mails, Webhook: posts}
	for _, to := range []string{"ops@example.com", "https://example.com/a@b", "HTTPS://example.com", "https@example.com", "http://example.com"} {
		require.Equal(t, notifier.Delivered, both.Announce(t.Context(), to, notifier.Notice{}).Status)
	}
	require.Equal(t, []string{"ops@example.com", "https@example.com", "http://example.com"}, mails.to)
	require.Equal(t, []string{"https://example.com/a@b", "HTTPS://example.com"}, posts.to)
	require.ErrorIs(t, both.Close(), posts.closed)
}

func TestAContactThatNothingIsSetUpFor(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"ops@example.com", "https://example.com/secret"} {
		result := notifier.ByContact{}.Announce(t.Context(), to, notifier.Notice{})
		require.NoError(t, result.Validate())
		require.Equal(t, notifier.Retry, result.Status)
		require.False(t, result.Uncertain())
		require.ErrorIs(t, result.Err, notifier.ErrNoChannel)
		require.NotContains(t, result.Err.Error(), to)
	}
	require.NoError(t, notifier.ByContact{}.Close())
}

// A key that changed would let a notice retried across an upgrade arrive twice.
func TestNoticeKeyIsFrozen(t *testing.T) {
	t.Parallel()
	const id = "account_quota/1795305600000/80/acme"
	require.Regexp(t, "^[0-9a-f]{32}$", notifier.NoticeKey(id))
	require.Equal(t, "49e148e191b69c5e55519141e06bd681", notifier.NoticeKey(id))
	require.NotEqual(t, notifier.NoticeKey(id), notifier.NoticeKey(id+"x"))
}

func TestInternalContacts(t *testing.T) {
	t.Parallel()
	for _, host := range []string{
		"localhost", "LOCALHOST.", "api.localhost", "localhost.localdomain", "printer.local", "metadata.google.internal", "nas.home.arpa",
		"127.0.0.1", "127.1", "127.0.0.1.", "0.0.0.0", "0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1",
		"100.127.255.255", "169.254.169.254", "192.0.0.192", "198.18.0.1", "224.0.0.1", "255.255.255.255",
		"2130706433", "0x7f000001", "0x7F.1", "0177.0.0.1", "017700000001", "2852039166", "0xa9.0xfe.0xa9.0xfe", "10.66051",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "[::127.0.0.1]", "[fe80::1]", "[fe80::1%25eth0]", "[fd00:ec2::254]", "[fc00::1]",
		"[64:ff9b::7f00:1]", "[ff02::1]", "[2002:7f00:1::]", "[2001:db8::1]",
	} {
		require.True(t, notifier.InternalContact("https://"+host+"/alerts"), host)
		require.True(t, notifier.InternalContact("HTTPS://"+host+":8443"), host)
	}
	for _, contact := range []string{
		"", "ops@localhost", "ops@example.com", "https://example.com/localhost", "https://localhost.example.com/",
		"https://8.8.8.8/", "https://[2606:4700::1111]/", "https://134744072/", "https://0x08080808/", "https://172.32.0.1/", "https://100.63.0.1/",
		"https://256.0.0.1/", "https://1.2.3.4.5/", "https://4294967296/", "https://10.example/", "https://0x/", "https://08.0.0.1/",
	} {
		require.False(t, notifier.InternalContact(contact), contact)
	}
}

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
