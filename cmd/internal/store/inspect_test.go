package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// unavailable returns the sentence of an error that has to be of that kind.
func unavailable(t *testing.T, err error) string {
	t.Helper()
	return detailOf(t, err, fault.CodeUnavailable)
}

// unfit is unavailable for a store that would not keep messages.
func unfit(t *testing.T, err error) string {
	t.Helper()
	return detailOf(t, err, fault.CodeStoreUnfit)
}

func detailOf(t *testing.T, err error, code fault.Code) string {
	t.Helper()
	var problem *fault.UnavailableError
	require.ErrorAs(t, err, &problem)
	require.Equal(t, code, problem.Code())
	return problem.Detail
}

// fake is a server that answers every command the same way, but INFO.
func fake(t *testing.T, info, other string) string {
	t.Helper()
	s, err := server.NewServer("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(s.Close)
	s.SetPreHook(func(peer *server.Peer, command string, _ ...string) bool {
		switch {
		case command == "HELLO":
			peer.WriteError("ERR unknown command 'HELLO'")
		case command == "INFO" && strings.HasPrefix(info, "-"):
			peer.WriteError(info[1:])
		case command == "INFO":
			peer.WriteBulk(info)
		case strings.HasPrefix(other, "-"):
			peer.WriteError(other[1:])
		case command == "DEL":
			peer.WriteInt(0)
		default:
			peer.WriteInline(other)
		}
		return true
	})
	return s.Addr().String()
}

func TestInspectTheEmbeddedStore(t *testing.T) {
	t.Parallel()
	miniredis, _ := redistest.Embedded(t)
	require.NoError(t, miniredis.Set("sl:key", "value"))

	report, err := store.Inspect(t.Context(), open(t, "redis://"+miniredis.Addr()))
	require.NoError(t, err)
	require.Equal(t, store.Report{Nodes: []store.Node{{Address: miniredis.Addr(), Replicas: -1}}}, report)
	require.NoError(t, report.RefuseEviction())
	require.Equal(t, []string{"sl:key"}, miniredis.Keys(), "looking leaves nothing behind")
}

func TestInspectSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	const fine = "redis_version:7.2.4\r\nrole:master\r\nmaxmemory_policy:noeviction\r\n"
	for name, row := range map[string]struct{ info, other, want string }{
		"old":     {"redis_version:6.2.0\r\nrole:master", "PONG", "Redis at ADDRESS has version 6.2.0: 7.0 or newer is required"},
		"replica": {"redis_version:7.0.0\r\nrole:slave\r\nmaster_host:h\r\nmaster_port:1", "PONG", "Redis at ADDRESS is a read-only replica: give the address of its master, h:1"},
		"a node":  {"redis_version:7.0.0\r\nredis_mode:cluster", "PONG", "Redis at ADDRESS is a node of a cluster: give a URL that begins with redis-cluster://"},
		"sentinel": {
			"redis_version:7.0.0\r\nredis_mode:sentinel", "PONG",
			"the server at ADDRESS is a Sentinel: give a URL such as redis-sentinel://ADDRESS/MASTER-NAME",
		},
		"loading":      {"-LOADING Redis is loading the dataset in memory", "PONG", "Redis is still loading its data: try again in a moment"},
		"no password":  {fine, "-NOAUTH Authentication required.", "Redis wants a password: put it in the URL, redis://:PASSWORD@HOST:PORT"},
		"cluster down": {"-CLUSTERDOWN The cluster is down", "PONG", "the Redis Cluster is down or incomplete: see CLUSTER INFO on one of its nodes"},
		"disk full":    {fine, "-MISCONF Redis is configured to save RDB snapshots", "Redis refuses writes, because it can't save to disk: see its log"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := fake(t, row.info, row.other)
			_, err := store.Inspect(t.Context(), open(t, "redis://"+address+"?max_retries=-1"))
			require.Equal(t, strings.ReplaceAll(row.want, "ADDRESS", address), unavailable(t, err))
		})
	}
}

func TestInspectGoesOnWhereItMayNotLook(t *testing.T) {
	t.Parallel()
	for _, refusal := range []string{
		"-NOPERM this user has no permissions to run the 'info' command", "-ERR unknown command 'info', with args beginning with: ",
	} {
		address := fake(t, refusal, "PONG")
		report, err := store.Inspect(t.Context(), open(t, "redis://"+address))
		require.NoError(t, err)
		require.Equal(t, store.Report{
			Nodes: []store.Node{{Address: address, Replicas: -1}},
			Warnings: []string{"Redis at " + address + " does not allow INFO: its version (7.0 or newer)," +
				" its role (master) and its maxmemory-policy (noeviction) are not checked"},
		}, report)
		require.NoError(t, report.RefuseEviction())
	}

	address := fake(t, "redis_version:7.0.0\r\nrole:master", "PONG")
	report, err := store.Inspect(t.Context(), open(t, "redis://"+address))
	require.NoError(t, err)
	require.Equal(t, []string{"Redis at " + address + " does not tell its maxmemory-policy, which must be noeviction"}, report.Warnings)
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for version, fine := range map[string]bool{
		"7.0.0": true, "7.4.1": true, "8.0.0": true, "10.0.0": true, "7.2.4": true, // also what Valkey reports
		"6.2.14": false, "6.3.4": false, "2.8.0": false,
		"unstable": true, "255.255.255": true, // builds of the development branch
	} {
		address := fake(t, "redis_version:"+version+"\r\nrole:master\r\nmaxmemory_policy:noeviction", "PONG")
		report, err := store.Inspect(t.Context(), open(t, "redis://"+address))
		if !fine {
			require.Contains(t, unavailable(t, err), version)
			continue
		}
		require.NoError(t, err, version)
		require.Equal(t, version, report.Nodes[0].Version)
	}
}

// A maxmemory-policy other than noeviction loses jobs.
func TestRefuseEviction(t *testing.T) {
	t.Parallel()
	nodes := func(policies ...string) store.Report {
		var r store.Report
		for i, policy := range policies {
			r.Nodes = append(r.Nodes, store.Node{Address: fmt.Sprintf("h:%d", i), Eviction: policy})
		}
		return r
	}
	require.NoError(t, nodes("noeviction", "").RefuseEviction())
	require.Equal(t, "Redis at h:1 has the maxmemory-policy volatile-lru, which deletes scheduled messages when memory is full: set it to noeviction",
		unfit(t, nodes("noeviction", "volatile-lru").RefuseEviction()), "one master of several is enough")
}

func TestNothingThere(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	_, err := store.Inspect(t.Context(), open(t, "redis://"+address))
	require.Equal(t, "no Redis at "+address+": connection refused; start Redis, or leave REDIS_URL out:"+
		" a worker then starts an embedded store for trying", unavailable(t, err))

	_, err = store.Inspect(t.Context(), open(t, "redis-cluster://"+address))
	require.Contains(t, unavailable(t, err), "no Redis at "+address)

	_, err = store.Inspect(t.Context(), open(t, "redis-sentinel://"+address+"/m"))
	require.Contains(t, unavailable(t, err), "no Redis at "+address)

	_, err = store.Inspect(t.Context(), open(t, "unix://"+t.TempDir()+"/redis.sock"))
	require.Contains(t, unavailable(t, err), "redis.sock: no such file or directory; check that it runs")
}

// Behind the address is a web server, a mail server, a database, one with one answer, an echo, or one
// that hears TLS or HTTP it does not speak.
func TestAServerThatIsNotRedis(t *testing.T) {
	t.Parallel()
	for _, greeting := range []string{
		"HTTP/1.1 400 Bad Request\r\n\r\n", "220 mail.example.com ESMTP\r\n", "\x4a\x00\x00\x00\x0a8.0.1\x00\n", "+OK\r\n", ":1\r\n",
		"$99999999999\r\n", "*1\r\n$4\r\nPING\r\n", "",
	} {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				connection, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = connection.Read(make([]byte, 1024))
				_, _ = connection.Write([]byte(greeting))
				_ = connection.Close()
			}
		}()
		_, err = store.Inspect(t.Context(), open(t, "redis://"+listener.Addr().String()))
		if greeting == "" {
			require.Contains(t, unavailable(t, err), "the server at "+listener.Addr().String()+" closed the connection: check that it is Redis")
			continue
		}
		require.Equal(t, "the server at "+listener.Addr().String()+" is not Redis: check host and port", unavailable(t, err), greeting)
	}
}

// A proxy may pass on only some commands.
func TestAProxyWithoutPing(t *testing.T) {
	t.Parallel()
	address := fake(t, "", "-ERR unknown command")
	_, err := store.Inspect(t.Context(), open(t, "redis://"+address))
	require.Equal(t, "the server at "+address+" does not know the command PING: give the address of Redis,"+
		" and not of a proxy that passes on only some commands", unavailable(t, err))
}

// A server of another kind may wait for more, or speak TLS to us without Redis behind it.
func TestAServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	address := listener.Addr().String()
	_, err = store.Inspect(t.Context(), open(t, "redis://"+address+"?read_timeout=100ms&max_retries=-1"))
	require.Equal(t, "the server at "+address+" accepts connections and does not answer: check that it is Redis, and see its log",
		unavailable(t, err))

	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	address = web.Listener.Addr().String()
	for _, scheme := range []string{"redis://", "rediss://", "redis-cluster://", "rediss-cluster://"} {
		_, err = store.Inspect(t.Context(), open(t, scheme+address))
		require.Equal(t, "the server at "+address+" is not Redis: check host and port", unavailable(t, err), scheme)
	}
	_, err = store.Inspect(t.Context(), open(t, "redis-sentinel://"+address+"/mymaster"))
	require.Equal(t, "the server is not Redis: check host and port", unavailable(t, err))
}

func TestCanceledIsNotUnavailable(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	miniredis, _ := redistest.Embedded(t)
	_, err := store.Inspect(ctx, open(t, "redis://"+miniredis.Addr()))
	require.ErrorIs(t, err, context.Canceled)
	_, is := errors.AsType[*fault.UnavailableError](err)
	require.False(t, is)
}

// The client library has one logger, so this test is not beside others.
func TestTheClientLibraryIsQuiet(t *testing.T) {
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	client, err := store.Open("redis://:hunter2@"+freeAddress(t), store.Options{Logger: logger})
	require.NoError(t, err)
	_, err = store.Inspect(t.Context(), client)
	require.Error(t, err)
	require.NoError(t, client.Close())
	require.Contains(t, log.String(), `level=DEBUG msg="redis client" line="redis: connection pool: failed to dial`)
	require.NotContains(t, log.String(), "hunter2")
	_ = open(t, "redis://h") // leaves no logger of this test behind
}

// freeAddress is a loopback address where nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}
