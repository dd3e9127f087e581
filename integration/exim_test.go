package integration_test

import (
	"context"
	"fmt"
	"net"
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
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
)

// eximSettings are those of a server that keeps what it accepts in its queue.
const eximSettings = `primary_hostname = mail.example
local_interfaces = <; 127.0.0.1
daemon_smtp_ports = %s
spool_directory = %s
log_file_path = %s/%%slog
log_selector = +smtp_connection
queue_only
tls_advertise_hosts =
acl_smtp_rcpt = rcpt
begin acl
rcpt:
  deny local_parts = unknown
       message = no such mailbox
  defer local_parts = full
        message = the mailbox is full
  accept
`

// Exim accepts, refuses and defers mails, and each session with it ends with QUIT: it logs another end
// as a lost connection.
func TestMailsToExim(t *testing.T) {
	t.Parallel()
	program := needProgram(t, "exim4")
	if os.Getuid() != 0 {
		t.Skip("only root may start Exim with other settings")
	}
	folder, err := os.MkdirTemp("", "sendlimit-exim-") //nolint:usetesting // Exim gives up root, and a folder of the test is for root only
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	require.NoError(t, os.Chmod(folder, 0o777))
	address := freeAddress(t)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	settings := filepath.Join(folder, "exim.conf")
	require.NoError(t, os.WriteFile(settings, fmt.Appendf(nil, eximSettings, port, folder, folder), 0o644))
	var said output.Buffer
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	server := exec.CommandContext(ctx, program, "-bdf", "-C", settings, "-oP", filepath.Join(folder, "pid"))
	server.Stderr = &said
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		stop()
		_ = server.Wait() // it was killed
	})
	announcer, err := email.Open(email.Options{URL: "smtp://" + address, From: "Alerts <alerts@sender.example>", Now: time.Now})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return announcer.Check(t.Context()) == nil }, time.Minute, 50*time.Millisecond, "Exim does not start: %s", &said)

	for to, status := range map[string]notifier.Status{"ops": notifier.Delivered, "unknown": notifier.Permanent, "full": notifier.Retry} {
		result := announcer.Announce(t.Context(), to+"@receiver.example", notifiertest.Notices()["account"])
		require.Equal(t, status, result.Status, "%s: %v", to, result.Err)
	}
	log := func() string {
		text, err := os.ReadFile(filepath.Join(folder, "mainlog"))
		require.NoError(t, err)
		return string(text)
	}
	require.Eventually(t, func() bool { return strings.Count(log(), "closed by QUIT") == 4 }, time.Minute, 20*time.Millisecond, "%s", log)
	require.NotContains(t, log(), "unexpected disconnection")
	require.NotContains(t, log(), "lost")
}
