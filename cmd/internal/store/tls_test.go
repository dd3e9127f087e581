package store_test

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

func newAuthority(t *testing.T) *redistest.Authority {
	t.Helper()
	authority, err := redistest.NewAuthority(t.TempDir())
	require.NoError(t, err)
	return authority
}

// listenTLS makes a server listen with TLS, for the hosts in its certificate.
func listenTLS(t *testing.T, server *redistest.Server, authority *redistest.Authority, clients bool, hosts ...string) (address string) {
	t.Helper()
	address, err := server.ListenTLS(t.Context(), authority, clients, hosts...)
	require.NoError(t, err)
	return address
}

func issue(t *testing.T, authority *redistest.Authority, name string) (certificate, key string) {
	t.Helper()
	certificate, key, err := authority.Issue(name)
	require.NoError(t, err)
	return certificate, key
}

func openTLS(t *testing.T, url string, files config.RedisTLS) redis.UniversalClient {
	t.Helper()
	client, err := store.Open(url, store.Options{TLS: files})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// alertTries is how often a connection is tried that Redis refuses by an alert, which may be
// lost as Redis closes it.
const alertTries = 20

func TestRealRedisWithTLS(t *testing.T) {
	t.Parallel()
	server, authority := redistest.Real(t), newAuthority(t)
	address := listenTLS(t, server, authority, true, "redis.example")
	certificate, key := issue(t, authority, "client")
	stranger, strangersKey := issue(t, newAuthority(t), "stranger")
	right := config.RedisTLS{CA: authority.File(), Cert: certificate, Key: key, ServerName: "redis.example"}
	change := func(do func(*config.RedisTLS)) config.RedisTLS {
		changed := right
		do(&changed)
		return changed
	}

	report, err := store.Inspect(t.Context(), openTLS(t, "rediss://"+address+"/2", right))
	require.NoError(t, err)
	require.Equal(t, address, report.Nodes[0].Address)

	const giveName, giveCertificate = "; give the name in the certificate as redis_tls_server_name",
		"; if that is about a certificate, give one that it accepts as redis_tls_cert and redis_tls_key"
	const closed = "Redis closed the connection: begin the URL with rediss:// (rediss-sentinel://, rediss-cluster://) if it expects TLS" +
		" at this port, give redis_tls_cert and redis_tls_key if it asks for a certificate, otherwise see its log"
	for name, row := range map[string]struct {
		url   string
		files config.RedisTLS
		want  string
	}{
		"another name in the URL": {
			"rediss://" + address, change(func(f *config.RedisTLS) { f.ServerName = "" }),
			`the certificate of Redis is not for "127.0.0.1": x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs` + giveName,
		},
		"another name in the settings": {
			"rediss://" + address, change(func(f *config.RedisTLS) { f.ServerName = "other.example" }),
			`the certificate of Redis is not for "other.example": x509: certificate is valid for redis.example, not other.example` + giveName,
		},
		"unknown authority": {
			"rediss://" + address, change(func(f *config.RedisTLS) { f.CA = "" }),
			"the certificate of Redis is not trusted: x509: certificate signed by unknown authority; give the file of that authority as redis_tls_ca",
		},
		"no certificate": {
			"rediss://" + address, change(func(f *config.RedisTLS) { f.Cert, f.Key = "", "" }),
			"Redis refuses the TLS connection: tls: certificate required" + giveCertificate,
		},
		"certificate of a stranger": {
			"rediss://" + address, change(func(f *config.RedisTLS) { f.Cert, f.Key = stranger, strangersKey }),
			"Redis refuses the TLS connection: tls: unknown certificate authority" + giveCertificate,
		},
		"plain text at the TLS port": {
			"redis://" + address,
			config.RedisTLS{},
			"the Redis at " + address + " speaks only TLS: use rediss://",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ask := func() string {
				_, err := store.Inspect(t.Context(), openTLS(t, row.url, row.files))
				return unavailable(t, err)
			}
			got := ask()
			// Redis may close before this side has read its alert about the certificate.
			for try := 0; try < alertTries && got == closed && strings.HasSuffix(row.want, giveCertificate); try++ {
				got = ask()
			}
			require.Equal(t, row.want, got)
		})
	}
	t.Run("TLS at the port of plain text", func(t *testing.T) {
		t.Parallel()
		_, err := store.Inspect(t.Context(), openTLS(t, "rediss://"+server.Addr, right))
		require.Equal(t, "the Redis at "+server.Addr+" does not speak TLS: use redis://", unavailable(t, err))
	})
}

// New files are used without a restart, and half of a change harms nothing.
func TestFilesOfTLSAreReadAgain(t *testing.T) {
	t.Parallel()
	server, old, next := redistest.Real(t), newAuthority(t), newAuthority(t)
	address := listenTLS(t, server, old, true, "127.0.0.1")
	folder := t.TempDir()
	files := config.RedisTLS{
		CA: filepath.Join(folder, "ca.pem"), Cert: filepath.Join(folder, "client.pem"), Key: filepath.Join(folder, "client-key.pem"),
	}
	copyTo := func(to, from string) {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to, text, 0o600))
	}
	certificate, key := issue(t, old, "client")
	copyTo(files.CA, old.File())
	copyTo(files.Cert, certificate)
	copyTo(files.Key, key)
	var log output.Buffer
	client, err := store.Open("rediss://"+address, store.Options{TLS: files, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	reconnect := func() error {
		require.NoError(t, server.Client().ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err())
		return client.Ping(t.Context()).Err()
	}
	require.NoError(t, reconnect())

	certificate, key = issue(t, next, "client")
	copyTo(files.Key, key)
	require.NoError(t, reconnect(), "certificate and key do not match: those before are used")
	require.NoError(t, reconnect())
	require.Equal(t, 1, strings.Count(log.String(), "can't read the TLS files for Redis"), "once, however many connections follow")
	copyTo(files.Cert, certificate)
	err = reconnect()
	for try := 0; try < alertTries && err != nil && !strings.Contains(err.Error(), "unknown certificate authority"); try++ {
		err = reconnect()
	}
	require.ErrorContains(t, err, "unknown certificate authority", "the server does not know it yet")

	require.Equal(t, address, listenTLS(t, server, next, true, "127.0.0.1"))
	require.ErrorContains(t, reconnect(), "signed by unknown authority")
	copyTo(files.CA, next.File())
	require.NoError(t, reconnect())
}

func TestOpenRefusesFilesOfTLS(t *testing.T) {
	t.Parallel()
	authority := newAuthority(t)
	certificate, key := issue(t, authority, "client")
	for field, files := range map[string]config.RedisTLS{
		"redis_tls_ca":   {CA: filepath.Join(t.TempDir(), "absent.pem")},
		"redis_tls_cert": {Cert: key, Key: certificate},
	} {
		_, err := store.Open("rediss://h", store.Options{TLS: files})
		var invalid *fault.InvalidError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, field, invalid.Field)
	}
	_, err := store.Open("rediss://h", store.Options{TLS: config.RedisTLS{CA: key}})
	require.EqualError(t, err, "redis_tls_ca: "+key+" has no certificate in PEM")
}

func TestSettingsOfTLSNeedAURLWithTLS(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "redis://h", "redis-sentinel://h/m", "redis-cluster://h", "unix:///run/redis.sock"} {
		for name, files := range map[string]config.RedisTLS{
			"redis_tls_ca": {CA: "f"}, "redis_tls_cert": {Cert: "f", Key: "k"}, "redis_tls_key": {Key: "f"}, "redis_tls_server_name": {ServerName: "n"},
		} {
			problem := store.ValidURL(config.Config{RedisURL: url, RedisTLS: files})
			require.EqualError(t, problem, name+" is set, and redis_url does not use TLS: begin it with rediss://,"+
				" rediss-sentinel:// or rediss-cluster://, or remove "+name)
		}
	}
	for _, url := range []string{"rediss://h", "rediss-sentinel://h/m", "rediss-cluster://h"} {
		check := func(files config.RedisTLS) error {
			return store.ValidURL(config.Config{RedisURL: url, RedisTLS: files})
		}
		require.NoError(t, check(config.RedisTLS{CA: "f", Cert: "f", Key: "k", ServerName: "n"}))
		require.EqualError(t, check(config.RedisTLS{Cert: "f"}), "redis_tls_key is required with redis_tls_cert: the file with its private key")
		require.EqualError(t, check(config.RedisTLS{Key: "f"}), "redis_tls_cert is required with redis_tls_key: the file with its certificate")
	}
}

func TestRealClusterWithTLS(t *testing.T) {
	t.Parallel()
	cluster, authority := redistest.RealCluster(t), newAuthority(t)
	var addresses []string
	for _, node := range cluster.Nodes {
		address := listenTLS(t, node, authority, false, "redis.example")
		_, port, err := net.SplitHostPort(address)
		require.NoError(t, err)
		require.NoError(t, node.Client().Do(t.Context(), "config", "set", "tls-cluster", "yes").Err())
		require.NoError(t, node.Client().ConfigSet(t.Context(), "cluster-announce-tls-port", port).Err())
		addresses = append(addresses, address)
	}
	client := openTLS(t, "rediss-cluster://"+addresses[0], config.RedisTLS{CA: authority.File(), ServerName: "redis.example"})
	require.Eventually(t, func() bool { // the nodes tell each other their new ports
		report, err := store.Inspect(t.Context(), client)
		var found []string
		for _, node := range report.Nodes {
			found = append(found, node.Address)
		}
		return err == nil && slices.Equal(slices.Sorted(slices.Values(addresses)), slices.Sorted(slices.Values(found)))
	}, time.Minute, 50*time.Millisecond)

	for url, want := range map[string]string{
		"rediss-cluster://" + addresses[0]:          `the certificate of Redis is not for "127.0.0.1"`,
		"redis-cluster://" + addresses[0]:           "the Redis at " + addresses[0] + " speaks only TLS: use rediss-cluster://",
		"rediss-cluster://" + cluster.Nodes[0].Addr: "the Redis at " + cluster.Nodes[0].Addr + " does not speak TLS: use redis-cluster://",
	} {
		client := openTLS(t, url, config.RedisTLS{CA: authority.File()})
		require.EventuallyWithT(t, func(c *assert.CollectT) { // a busy machine may not answer a probe in its second
			_, err := store.Inspect(t.Context(), client)
			var problem *fault.UnavailableError
			if assert.ErrorAs(c, err, &problem) {
				assert.Contains(c, problem.Detail, want)
			}
		}, time.Minute, 50*time.Millisecond)
	}
}
