package integration_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/email"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// python is the system's own Python, which has the system's packages.
const python = "/usr/bin/python3"

// mailbox is aiosmtpd in a separate process, which writes accepted mails to a maildir.
type mailbox struct {
	address, folder string
}

// startMailbox skips the test if aiosmtpd is not installed, unless everything must be
// installed.
func startMailbox(t *testing.T) mailbox {
	t.Helper()
	if err := exec.CommandContext(t.Context(), python, "-c", "import aiosmtpd").Run(); err != nil {
		if os.Getenv("CI") == "true" {
			require.NoError(t, err, "aiosmtpd is missing: tools/install-packages.sh")
		}
		t.Skip("aiosmtpd is not installed: tools/install-packages.sh")
	}
	m := mailbox{address: freeAddress(t), folder: filepath.Join(t.TempDir(), "maildir")}
	var said bytes.Buffer
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	server := exec.CommandContext(ctx, python, "-m", "aiosmtpd", "-n", "-l", m.address,
		"-c", "aiosmtpd.handlers.Mailbox", m.folder)
	server.Stderr = &said
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		stop()
		_ = server.Wait()
	})
	require.Eventually(t, func() bool {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.address)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	}, time.Minute, 20*time.Millisecond, "aiosmtpd does not start")
	return m
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// letter is a mail as its reader sees it.
type letter struct {
	header              mail.Header
	subject, text, html string
}

func (m mailbox) letters(t *testing.T) []letter {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(m.folder, "new", "*"))
	require.NoError(t, err)
	var all []letter
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		all = append(all, readLetter(t, data))
	}
	return all
}

func readLetter(t *testing.T, data []byte) letter {
	t.Helper()
	message, err := mail.ReadMessage(bytes.NewReader(data))
	require.NoError(t, err)
	kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	require.NoError(t, err)
	require.Equal(t, "multipart/alternative", kind)
	l := letter{header: message.Header}
	l.subject, err = new(mime.WordDecoder).DecodeHeader(message.Header.Get("Subject"))
	require.NoError(t, err)
	parts := multipart.NewReader(message.Body, parameters["boundary"])
	for _, want := range []struct {
		kind string
		into *string
	}{{"text/plain", &l.text}, {"text/html", &l.html}} {
		part, err := parts.NextRawPart()
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(part.Header.Get("Content-Type"), want.kind))
		content, err := io.ReadAll(quotedprintable.NewReader(part))
		require.NoError(t, err)
		*want.into = string(content)
	}
	return l
}

// Every kind of notice, and names that try to add a header or an element, pass through
// another product's mail server and are read from its maildir.
func TestNoticesArriveInAMailbox(t *testing.T) {
	t.Parallel()
	box := startMailbox(t)
	announcer, err := email.Open(email.Options{
		URL: "smtp://" + box.address, From: "Alerts <alerts@sender.example>", Now: time.Now,
	})
	require.NoError(t, err)
	require.NoError(t, announcer.Check(t.Context()))
	require.Empty(t, box.letters(t), "a check sends nothing")

	notices := notifiertest.Notices()
	for name, n := range notices {
		result := announcer.Announce(t.Context(), "ops@receiver.example", n)
		require.Equal(t, notifier.Delivered, result.Status, "%s: %v", name, result.Err)
	}
	letters := box.letters(t)
	require.Len(t, letters, len(notices))
	ids := make(map[string]bool)
	for _, l := range letters {
		ids[l.header.Get("Message-ID")] = true
		require.Empty(t, l.header.Get("Bcc"))
		require.Equal(t, "ops@receiver.example", l.header.Get("X-RcptTo"), "one receiver")
		require.Equal(t, "auto-generated", l.header.Get("Auto-Submitted"))
		require.NotContains(t, l.subject, "\n")
		require.NotEmpty(t, l.text)
		require.NotContains(t, l.html, "<script")
		date, err := l.header.Date()
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), date, time.Minute)
	}
	require.Len(t, ids, len(notices), "each has an id of its own")

	// Its id identifies a second copy.
	require.Equal(t, notifier.Delivered, announcer.Announce(t.Context(), "ops@receiver.example", notices["account"]).Status)
	again := box.letters(t)
	require.Len(t, again, len(notices)+1)
	for _, l := range again {
		require.True(t, ids[l.header.Get("Message-ID")])
	}
}

func TestWorkerChecksItsServers(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	mails, err := notifiertest.NewMailServer(t.Context(), notifiertest.MailServerOptions{
		TLS: true, Users: map[string]string{"robot": "hunter2"},
	})
	require.NoError(t, err)
	t.Cleanup(mails.Close)
	push := notifiertest.NewReceiver(time.Now)
	t.Cleanup(push.Close)
	roots := filepath.Join(t.TempDir(), "roots.pem")
	require.NoError(t, os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: mails.Root().Raw}), 0o600))
	environ := []string{
		"REDIS_URL=" + redistest.Shared(t).URL(), "SENDLIMIT_PUSH_URL=" + push.URL(), "SSL_CERT_FILE=" + roots,
		"SENDLIMIT_EMAIL_URL=smtp://robot@" + mails.Address(), "SENDLIMIT_EMAIL_TLS=mandatory",
		"SENDLIMIT_EMAIL_FROM=alerts@sender.example",
	}

	good := p.workerCommand(t, append(environ, "SENDLIMIT_SMTP_PASSWORD=hunter2"), "check")
	require.Equal(t, 0, good.status, "%s%s", good.stdout, good.stderr)
	require.Equal(t, 3, strings.Count(good.stdout, "ok "), good.stdout)
	require.Contains(t, good.stdout, "logged in")

	bad := p.workerCommand(t, append(environ, "SENDLIMIT_SMTP_PASSWORD=wrong"), "check", "--json")
	require.Equal(t, 1, bad.status, "%s%s", bad.stdout, bad.stderr)
	require.Contains(t, bad.stdout, "535")
	require.NotContains(t, bad.stdout+bad.stderr, "wrong")

	require.Empty(t, mails.Mails(), "no mail")
	require.Empty(t, push.Requests(), "no push")

	environ[0] = "REDIS_URL=redis://" + freeAddress(t)
	gone := p.workerCommand(t, append(environ, "SENDLIMIT_SMTP_PASSWORD=hunter2"), "check")
	require.Equal(t, 5, gone.status, "%s%s", gone.stdout, gone.stderr)
	require.Equal(t, 2, strings.Count(gone.stdout, "ok "), "the others are looked at all the same: %s", gone.stdout)
}
