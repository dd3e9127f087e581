package email_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/email"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

// A name that looks like an encoded word is shown as it is, however long it is.
func TestNamesThatLookEncoded(t *testing.T) {
	t.Parallel()
	server := serve(t, notifiertest.MailServerOptions{})
	announcer := open(t, server, "smtp", "")
	for _, name := range []string{
		"=?utf-8?q?alice?=", "x=?utf-8?b?YWxpY2U=?=", "=?utf-8?q?" + strings.Repeat("a", 180) + "?=", "=?utf-8?q?jörg?=",
	} {
		n, ok := email.Sample(notifier.NoticeUserQuota, name)
		require.True(t, ok)
		require.Equal(t, notifier.Delivered, announcer.Announce(t.Context(), contact, n).Status)
		mails := server.Mails()
		data := mails[len(mails)-1].Data
		require.Equal(t, name+" has used 100 % of the messages of 2026-11-22 (10 of 10)", read(t, data).subject)
		head, _, _ := strings.Cut(string(data), "\r\n\r\n")
		for line := range strings.Lines(head) {
			require.LessOrEqual(t, len(line), 80, line)
		}
	}
}

// A long name in a digest has a line of its own in the text, and wraps in the HTML.
func TestDigestsWrapLongNames(t *testing.T) {
	t.Parallel()
	composer, err := email.NewComposer(sender, "", noon)
	require.NoError(t, err)
	n, _ := email.Sample(notifier.NoticeUserQuotaDigest, "")
	long := strings.Repeat("a", 200)
	n.Users[0].User = long
	message, err := composer.Compose(contact, n)
	require.NoError(t, err)
	require.Contains(t, message.Text, "- "+long+":\n  10 of 10 messages on 2026-11-22 (100 %)\n- bob: 8 of 10 messages")
	require.Contains(t, message.HTML, `<td style="overflow-wrap:anywhere;word-break:break-word">`+long+"</td>")
	require.Regexp(t, `<body style="[^"]*overflow-wrap:anywhere`, message.HTML)
}
