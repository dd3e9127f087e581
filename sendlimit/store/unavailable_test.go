package store_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

const mayBeDone = ": the request may have been carried out, and it is safe to send it again with the same id"

// detail returns the sentence of an unavailable error, "" for other errors.
func detail(t *testing.T, err error) string {
	t.Helper()
	wrapped := store.Explain(err, "reserving")
	require.ErrorIs(t, wrapped, err, "the cause stays")
	require.ErrorContains(t, wrapped, "reserving: ")
	problem, ok := errors.AsType[*fault.UnavailableError](wrapped)
	if !ok {
		require.EqualError(t, wrapped, "reserving: "+err.Error())
		return ""
	}
	code := fault.CodeUnavailable
	if redis.IsOOMError(err) {
		code = fault.CodeStoreFull
	}
	require.Equal(t, code, problem.Code())
	require.EqualError(t, problem, problem.Detail)
	return problem.Detail
}

func TestUnavailableByReply(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string]string{
		"NOAUTH Authentication required.":                                                                   "Redis wants a password: put it in the URL, redis://:PASSWORD@HOST:PORT",
		"WRONGPASS invalid username-password pair":                                                          "Redis refuses the user or password: correct them in the URL, redis://USER:PASSWORD@HOST:PORT",
		"LOADING Redis is loading the dataset in memory":                                                    "Redis is still loading its data: try again in a moment",
		"READONLY You can't write against a read only replica.":                                             "Redis is a read-only replica: give the address of its master",
		"OOM command not allowed when used memory > 'maxmemory'. script: abc, on @user_script:1.":           "Redis is full: raise its maxmemory, or wait until messages are delivered and their records expire",
		"CLUSTERDOWN Hash slot not served":                                                                  "the Redis Cluster is down or incomplete: see CLUSTER INFO on one of its nodes",
		"MOVED 866 10.0.0.2:6379":                                                                           "the Redis Cluster is moving keys from one master to another: try again in a moment",
		"ASK 866 10.0.0.2:6379":                                                                             "the Redis Cluster is moving keys from one master to another: try again in a moment",
		"TRYAGAIN Multiple keys request during rehashing of slot":                                           "the Redis Cluster is moving keys from one master to another: try again in a moment",
		"ERR Script attempted to access a non local key in a cluster node script: abc, on @user_script:22.": "the Redis Cluster is moving keys from one master to another: try again in a moment",
		"ERR Error running script (call to f_abc): @user_script:2: Script attempted to access a non local key in a cluster node": "the Redis Cluster is moving keys from one master to another: try again in a moment",
		"ERR Script attempted to execute a command while the cluster is down script: abc, on @user_script:2.":                    "the Redis Cluster is down or incomplete: see CLUSTER INFO on one of its nodes",
		"ERR Script attempted to execute a write command while the cluster is down and readonly script: abc":                     "the Redis Cluster is down or incomplete: see CLUSTER INFO on one of its nodes",
		"MASTERDOWN Link with MASTER is down":                                             "Redis is a replica that has lost its master: give the address of a master",
		"MISCONF Redis is configured to save RDB snapshots":                               "Redis refuses writes, because it can't save to disk: see its log",
		"NOREPLICAS Not enough good replicas to write.":                                   "Redis refuses writes, because it has fewer replicas than min-replicas-to-write: start them, or lower that setting",
		"BUSY Redis is busy running a script.":                                            "Redis is busy with a long script: try again in a moment",
		"ERR max number of clients reached":                                               "Redis has no connection left: raise its maxclients or close other clients",
		"ERR Error running script: -READONLY You can't write against a read only replica": "Redis is a read-only replica: give the address of its master",

		"ERR wrong number of arguments":                "", // a fault of ours
		"NOPERM this user has no permissions":          "", // repeating it never helps
		"WRONGTYPE Operation against a key":            "",
		"NOSCRIPT No matching script. Please use EVAL": "",
	} {
		t.Run(reply, func(t *testing.T) {
			t.Parallel()
			server, client := redistest.Embedded(t)
			require.NoError(t, client.Ping(t.Context()).Err(), "the connection is there before the errors begin")
			client.Options().MaxRetries = 0
			server.SetError(reply)
			require.Equal(t, want, detail(t, client.Get(t.Context(), "k").Err()))
		})
	}
}

func TestUnavailableByConnection(t *testing.T) {
	t.Parallel()
	silent := listen(t, func(conn net.Conn) { <-t.Context().Done(); _ = conn.Close() })
	rude := listen(t, func(conn net.Conn) { _ = conn.Close() })
	chatty := listen(t, func(conn net.Conn) {
		_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
		_ = conn.Close()
	})
	closed := listen(t, nil)
	ask := func(o redis.Options) error {
		o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
		client := redis.NewClient(&o)
		defer client.Close()
		return client.Get(t.Context(), "k").Err()
	}

	require.Equal(t, "no Redis at "+closed+": connection refused; check that it runs and that the address is right",
		detail(t, ask(redis.Options{Addr: closed})))
	require.Equal(t, "Redis did not answer in time"+mayBeDone,
		detail(t, ask(redis.Options{Addr: silent, ReadTimeout: 20 * time.Millisecond})))
	require.Equal(t, "Redis closed the connection"+mayBeDone, detail(t, ask(redis.Options{Addr: rude})))
	require.Equal(t, "Redis does not speak TLS on this port: use redis:// or the TLS port",
		detail(t, ask(redis.Options{Addr: chatty, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12}})))
	require.Empty(t, detail(t, ask(redis.Options{Addr: chatty})), "what answers is no Redis: repeating it never helps")
}

func TestUnavailableByOtherCauses(t *testing.T) {
	t.Parallel()
	dial := func(err error) error {
		return fmt.Errorf("all of them: %w", &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1}, Err: err})
	}
	for _, row := range []struct {
		err  error
		want string
	}{
		{context.DeadlineExceeded, "Redis did not answer in time" + mayBeDone},
		{redis.ErrPoolTimeout, "every connection to Redis was busy for too long: lower the load or raise the pool's size"},
		{dial(context.DeadlineExceeded), "no Redis at 10.0.0.1:1: no answer; check that it runs and that the address is right"},
		{
			&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Name: "nowhere", IsNotFound: true}},
			`no Redis: the host "nowhere" does not exist; check that it runs and that the address is right`,
		},
		{&net.DNSError{Name: "nowhere", Err: "server misbehaving"}, `no Redis found: the host "nowhere" can't be looked up; check the host name`},
		{&tls.CertificateVerificationError{Err: errors.New("expired")}, "the certificate of Redis is not trusted: expired"},

		{
			&net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")},
			"Redis refuses the TLS connection: tls: certificate required",
		},

		{context.Canceled, ""},       // the caller gave up
		{dial(context.Canceled), ""}, // also while connecting
		{redis.ErrClosed, ""},        // a fault of ours
		{fault.ErrReply, ""},
	} {
		require.Equal(t, row.want, detail(t, row.err), "%v", row.err)
	}
	require.NoError(t, store.Explain(nil, "reserving"))
}

func TestUnavailableTwiceKeepsTheFirstSentence(t *testing.T) {
	t.Parallel()
	once := store.Explain(context.DeadlineExceeded, "reserving")
	twice := store.Explain(once, "submitting")
	require.EqualError(t, twice, "submitting: reserving: Redis did not answer in time"+mayBeDone)
}

// listen serves connections on a loopback address until the test ends. Without
// a function nothing listens there.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	if serve == nil {
		require.NoError(t, listener.Close())
		return listener.Addr().String()
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}
