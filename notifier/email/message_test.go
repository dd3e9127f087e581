package email_test

import (
	"net/mail"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/email"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

// announced returns the one mail that a notice becomes.
func announced(t *testing.T, n notifier.Notice, change ...func(*email.Options)) received {
	t.Helper()
	server := serve(t, notifiertest.MailServerOptions{})
	result := open(t, server, "smtp", "", change...).Announce(t.Context(), contact, n)
	require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
	mails := server.Mails()
	require.Len(t, mails, 1)
	return read(t, mails[0].Data)
}

func TestAMessage(t *testing.T) {
	t.Parallel()
	n := sample(t, notifier.NoticeAccountQuota)
	got := announced(t, n)
	require.Equal(t, "acme has used 80 % of its messages of 2026-11-22 (8,000 of 10,000)", got.subject)
	require.Equal(t, email.Content{Subject: got.subject, Text: got.text, HTML: got.html}, render(t, n))
	require.Equal(t, "auto-generated", got.header.Get("Auto-Submitted"))
	require.Equal(t, "Sun, 22 Nov 2026 12:00:00 +0000", got.header.Get("Date"))
	require.Equal(t, `"Alerts" <alerts@sender.example>`, got.header.Get("From"))
	require.Equal(t, "<"+contact+">", got.header.Get("To"))
	require.Empty(t, got.header.Get("X-Mailer"))
}

// An id that changed would let a notice sent again after an upgrade arrive twice.
func TestTheMessageIDIsFrozen(t *testing.T) {
	t.Parallel()
	n := sample(t, notifier.NoticeAccountQuota)
	require.Equal(t, "account_quota/1795305600000/80/acme", n.ID)
	require.Equal(t, "<e132014747444a86162ba93448290d85@sender.example>", announced(t, n).header.Get("Message-ID"))
	other := n
	other.ID += "2"
	require.NotEqual(t, announced(t, n).header.Get("Message-ID"), announced(t, other).header.Get("Message-ID"))
}

func TestNamesCannotAddHeaders(t *testing.T) {
	t.Parallel()
	plain := announced(t, sample(t, notifier.NoticeUserQuota))
	hostile := announced(t, notifiertest.Notices()["hostile"])
	require.ElementsMatch(t, headerNames(plain.header), headerNames(hostile.header))
	require.Contains(t, hostile.subject, "Bcc: victim@example.com", "it is text within the subject")
	require.NotContains(t, hostile.subject, "\n")
	require.Contains(t, hostile.text, `Jörg "Q" O'Neil`)
}

func headerNames(h mail.Header) []string {
	var all []string
	for name := range h {
		all = append(all, strings.ToLower(name))
	}
	return all
}

func TestASenderWithAnyName(t *testing.T) {
	t.Parallel()
	got := announced(t, sample(t, notifier.NoticeAccountQuota), func(o *email.Options) {
		o.From = `"Jörg \"Q\" O'Neil, Alerts" <alerts@sender.example>`
	})
	from, err := got.header.AddressList("From")
	require.NoError(t, err)
	require.Equal(t, []*mail.Address{{Name: `Jörg "Q" O'Neil, Alerts`, Address: "alerts@sender.example"}}, from)
}

func TestHeadersAreShown(t *testing.T) {
	t.Parallel()
	composer, err := email.NewComposer(sender, "", noon)
	require.NoError(t, err)
	message, err := composer.Compose(contact, sample(t, notifier.NoticeDailyReport))
	require.NoError(t, err)
	headers, err := message.Headers()
	require.NoError(t, err)
	require.Contains(t, headers, "Auto-Submitted: auto-generated\n")
	require.NotContains(t, headers, "\r")
	require.NotContains(t, headers, "<html")
}
