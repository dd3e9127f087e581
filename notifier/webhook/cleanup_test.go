package webhook_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
)

// An answer is known when its headers have come. Its body, which may never come, is read when
// the result is recorded.
func TestTheBodyIsReadAfterTheResultIsRecorded(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]bool{"a body that comes later": true, "a body that never comes": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				connections := 0
				channel := open(t, webhook.Config{URL: "http://provider.example/"})
				channel.DialBy(func(context.Context, string, string) (net.Conn, error) {
					connections++
					ours, provider := net.Pipe()
					go serveBodies(provider, ends)
					return ours, nil
				})
				for range 2 {
					began := time.Now()
					ctx, clean := notifier.WithCleanup(t.Context())
					result := channel.Notify(ctx, order())
					require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
					require.Zero(t, time.Since(began), "it waited for the body")
					clean()
					require.NotZero(t, time.Since(began))
					require.LessOrEqual(t, time.Since(began), 250*time.Millisecond)
				}
				if ends {
					require.Equal(t, 1, connections, "the connection is used again")
				} else {
					require.Equal(t, 2, connections, "the connection is closed")
				}
			})
		})
	}
}

// serveBodies answers each request with headers, and perhaps with a body, 100 ms later.
func serveBodies(conn net.Conn, ends bool) {
	defer conn.Close()
	for requests := bufio.NewReader(conn); ; {
		request, err := http.ReadRequest(requests)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, request.Body)
		if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"); err != nil {
			return
		}
		if !ends {
			continue
		}
		time.Sleep(100 * time.Millisecond)
		if _, err := io.WriteString(conn, "ok"); err != nil {
			return
		}
	}
}
