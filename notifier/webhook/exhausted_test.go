package webhook_test

import (
	"context"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
)

// Too many open files are this worker's fault: the message waits, and no attempt counts.
func TestTooManyOpenFilesAreNoAttempt(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{
		"of this process": &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)},
		"of this machine": &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.ENFILE)},
		"while resolving": &net.DNSError{Err: "dial udp 192.0.2.1:53: socket: too many open files", Name: "push.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, webhook.Config{URL: "https://push.example.com/deliver"})
			w.DialBy(func(context.Context, string, string) (net.Conn, error) { return nil, cause })
			result := w.Notify(t.Context(), order())
			require.NoError(t, result.Validate())
			require.Equal(t, notifier.SlowDown, result.Status)
			require.Equal(t, notifier.ReasonExhausted, result.Reason)
			require.Equal(t, notifier.PauseMessage, result.Pause)
			require.GreaterOrEqual(t, result.RetryAfter, exchange.ExhaustedPause)
			require.ErrorContains(t, result.Err, "this worker has too many open files")
		})
	}
}
