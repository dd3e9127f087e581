package store_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/cmd/internal/store"
)

// connect opens a connection to the embedded store. Its answers end with it.
func connect(t *testing.T, to *store.Embedded) *net.TCPConn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", to.Address())
	require.NoError(t, err)
	require.NoError(t, conn.SetDeadline(time.Now().Add(3*time.Second)))
	return conn.(*net.TCPConn) //nolint:forcetypeassert // what a dial of tcp returns
}

// No bytes end the process that has the store: what is no command ends its connection.
func TestNoBytesEndTheEmbeddedStore(t *testing.T) {
	t.Parallel()
	embedded := startEmbedded(t)
	for _, text := range []string{
		"*0\r\n", "*-1\r\n", "*1\r\n$-1\r\n", "*1\r\n$99999999999999\r\n", "*1\r\n$9223372036854775807\r\n", "*99999999999\r\n",
		"*1\r\n$ 4\r\nPING\r\n", "*+1\r\n$4\r\nPING\r\n", "*1\r\n:1\r\n", "*1\r\n$4\r\nPINGxx", "*1\r\n*1\r\n$4\r\nPING\r\n",
		"\r\n", "\n", "*\r\n", "PING\r\n", "GET / HTTP/1.1\r\n\r\n", "*" + strings.Repeat("1", 100), "\x16\x03\x01\x02\x00\x01",
	} {
		conn := connect(t, embedded)
		_, err := io.WriteString(conn, text)
		require.NoError(t, err, "%q", text)
		require.NoError(t, conn.CloseWrite())
		answer, err := io.ReadAll(conn)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "%q", text)
		require.Empty(t, string(answer), "%q", text)
		require.NoError(t, conn.Close())
	}
	require.NoError(t, open(t, embedded.URL()).Ping(t.Context()).Err())
}

// A command may have any arguments.
func TestNoCommandEndsTheEmbeddedStore(t *testing.T) {
	t.Parallel()
	embedded := startEmbedded(t)
	page, err := os.ReadFile("../../../docs/redis.md")
	require.NoError(t, err)
	var names []string
	for _, found := range regexp.MustCompile(` \+([a-z]+)`).FindAllStringSubmatch(regexp.MustCompile(`ACL SETUSER sendlimit on .*`).FindString(string(page)), -1) {
		names = append(names, found[1])
		err := open(t, embedded.URL()).Do(t.Context(), found[1]).Err()
		if err != nil {
			require.NotContains(t, err.Error(), "has those that Sendlimit needs", "docs/redis.md has it")
		}
	}
	require.Greater(t, len(names), 70)
	names = append(names, "flushall", "spop", "hello", "client", "auth", "type", "ttl", "nothing", "a\r\nb")
	words := rapid.SampledFrom([]string{"", "k", "l", "0", "-1", "1", "-9223372036854775808", "nan", "*", "[", "\\", "(1", "$", "limit", "count", "by", "match", "get", "store", "nx", "withscores", "streams", ">", "1-1", "return 1", "return #"})
	rapid.Check(t, func(rt *rapid.T) {
		conn := connect(t, embedded)
		var sent strings.Builder
		for range rapid.IntRange(1, 20).Draw(rt, "commands") {
			command := append([]string{rapid.SampledFrom(names).Draw(rt, "name")}, rapid.SliceOfN(words, 0, 8).Draw(rt, "arguments")...)
			fmt.Fprintf(&sent, "*%d\r\n", len(command))
			for _, word := range command {
				fmt.Fprintf(&sent, "$%d\r\n%s\r\n", len(word), word)
			}
		}
		go func() { _, _ = io.WriteString(conn, sent.String()+"*1\r\n$4\r\nQUIT\r\n") }()
		_, err := io.ReadAll(conn)
		require.NotErrorIs(rt, err, os.ErrDeadlineExceeded, "%q", sent.String())
		require.NoError(rt, conn.Close())
	})
	client := open(t, embedded.URL())
	require.NoError(t, client.Do(t.Context(), "SET", "k", "v").Err())
	require.Equal(t, "v", client.Get(t.Context(), "k").Val())
}
