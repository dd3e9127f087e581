// Package rawtest sends requests to a server as no HTTP client would: text that may be half
// of a request. It is for tests.
package rawtest

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"
)

// within bounds all that happens on a connection.
const within = 10 * time.Second

// Send opens a connection to an address and sends text. The connection fails after ten
// seconds, and is closed at the end of the test.
func Send(tb testing.TB, address, text string) (net.Conn, *bufio.Reader) {
	tb.Helper()
	conn, err := new(net.Dialer).DialContext(tb.Context(), "tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		tb.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		tb.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}
