package serve

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/api"
)

// withProblems returns a listener on whose connections the server answers with a problem
// what it can't read as a request: malformed lines, headers that are too large, a missing
// Host. Package net/http calls no handler for these. It writes a plain text of its own,
// which the connection replaces.
//
// It is not for TLS: what the server writes is encrypted before it reaches a connection.
func withProblems(l net.Listener, logger *slog.Logger) net.Listener {
	return &problemListener{l, logger}
}

type problemListener struct {
	net.Listener

	logger *slog.Logger
}

// Accept waits for the next connection.
func (l *problemListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		conn = &problemConn{tcp, l.logger}
	}
	return conn, err //nolint:wrapcheck // stands in for the listener
}

// problemConn is a connection whose other methods, such as CloseWrite, the server looks for.
type problemConn struct {
	*net.TCPConn

	logger *slog.Logger
}

// Write sends bytes, or a problem instead of a plain answer of net/http.
func (c *problemConn) Write(b []byte) (int, error) {
	status, reason, plain := plainAnswer(b)
	if !plain {
		return c.TCPConn.Write(b) //nolint:wrapcheck // stands in for the connection
	}
	answer := &malformedAnswer{header: make(http.Header)}
	api.WriteMalformed(answer, status, reason)
	c.logger.DebugContext(context.Background(), "malformed request answered", "status", status,
		"request_id", answer.header.Get("X-Request-Id"))
	if err := answer.send(c.TCPConn); err != nil {
		return 0, err
	}
	return len(b), nil
}

// plainAnswer recognises the whole of an answer that net/http writes when it can't read a
// request. An answer of a handler has other headers, such as Date, and no part of a body
// is mistaken for one: the bodies here have no carriage returns.
func plainAnswer(b []byte) (status int, reason string, ok bool) {
	const headers = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
	first, body, ok := strings.Cut(string(b[:min(len(b), longestPlain)]), headers)
	code, some := strings.CutPrefix(first, "HTTP/1.1 ")
	if !ok || !some || len(code) < 3 || len(b) > longestPlain || strings.Contains(code+body, "\r\n") {
		return 0, "", false
	}
	status, err := strconv.Atoi(code[:3])
	_, reason, _ = strings.Cut(body, ": ") // 400 Bad Request: missing required Host header
	return status, reason, err == nil
}

// longestPlain is more than the largest number of bytes in a plain answer of net/http.
const longestPlain = 512

// malformedAnswer collects an answer to a request that can't be read.
type malformedAnswer struct {
	status int
	header http.Header
	body   bytes.Buffer
}

// Header returns the headers.
func (a *malformedAnswer) Header() http.Header { return a.header }

// WriteHeader notes the status.
func (a *malformedAnswer) WriteHeader(status int) { a.status = status }

// Write notes a part of the body.
func (a *malformedAnswer) Write(b []byte) (int, error) {
	return a.body.Write(b) //nolint:wrapcheck // never fails
}

// send writes the answer, which is the last of its connection.
func (a *malformedAnswer) send(to io.Writer) error {
	response := http.Response{
		StatusCode: a.status, ProtoMajor: 1, ProtoMinor: 1, Header: a.header,
		Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Close: true,
	}
	return response.Write(to) //nolint:wrapcheck // stands in for the connection's Write
}
