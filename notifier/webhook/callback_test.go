package webhook_test

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
)

// callbackAt serves a callback, and returns its URL and a Callback that trusts it.
func callbackAt(t *testing.T, serve http.HandlerFunc, change ...func(webhook.CallbackConfig) webhook.CallbackConfig) (*webhook.Callback, string) {
	t.Helper()
	server := httptest.NewTLSServer(serve)
	t.Cleanup(server.Close)
	c := webhook.CallbackConfig{AllowInternal: true, RootCAs: x509.NewCertPool(), Now: time.Now}
	c.RootCAs.AddCert(server.Certificate())
	for _, f := range change {
		c = f(c)
	}
	callback, err := webhook.NewCallback(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, callback.Close()) })
	return callback, server.URL + "/events?token=" + token
}

func batchTo(to string) webhook.Batch {
	return webhook.Batch{URL: to, Secrets: []string{secret}, Account: "acme", First: "1-0", Last: "2-0", Body: []byte(`[{"id":"1-0"}]`)}
}

func TestABatchIsSignedWithEverySecret(t *testing.T) {
	t.Parallel()
	other := "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("other", 6)))
	var status atomic.Int64
	var keys []string
	callback, to := callbackAt(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		for _, s := range []string{secret, other} {
			verifier, wrong := standardwebhooks.NewWebhook(s)
			if err == nil {
				err = wrong
			}
			if err == nil {
				err = verifier.Verify(body, r.Header)
			}
		}
		if err != nil || string(body) != `[{"id":"1-0"}]` || r.Header.Get("Content-Type") != "application/cloudevents-batch+json" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		keys = append(keys, r.Header.Get("Webhook-Id"))
		w.WriteHeader(int(status.Load()))
	})
	batch := batchTo(to)
	batch.Secrets = append(batch.Secrets, other)
	status.Store(http.StatusServiceUnavailable)
	require.Equal(t, notifier.ReasonUnavailable, callback.Post(t.Context(), batch).Reason)
	status.Store(http.StatusNoContent)
	require.Equal(t, notifier.Delivered, callback.Post(t.Context(), batch).Status)
	batch.Last = "3-0"
	require.Equal(t, notifier.Delivered, callback.Post(t.Context(), batch).Status)
	require.Len(t, keys, 3)
	require.Equal(t, keys[0], keys[1], "the same batch")
	require.NotEqual(t, keys[1], keys[2], "another one")

	batch.Secrets = []string{other}
	require.Equal(t, notifier.ReasonRejected, callback.Post(t.Context(), batch).Reason, "the receiver misses a signature")
	for _, none := range [][]string{nil, {""}, {"hunter2"}} {
		batch.Secrets = none
		result := callback.Post(t.Context(), batch)
		require.Equal(t, notifier.Permanent, result.Status, "nothing is sent unsigned: %q", none)
	}
	require.Len(t, keys, 3)
}

// resolving returns a resolver for which every name has the address that of returns.
func resolving(t *testing.T, of func() netip4) *net.Resolver {
	t.Helper()
	server, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		answerNames(server, of)
	}()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		<-done
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

type netip4 [4]byte

// answerNames answers questions for the A record of a name, and says of others that there
// is none.
func answerNames(server net.PacketConn, of func() netip4) {
	question := make([]byte, 512)
	for {
		n, from, err := server.ReadFrom(question)
		if err != nil {
			return
		}
		end := 12
		for end < n && question[end] != 0 {
			end += int(question[end]) + 1
		}
		end += 5 // the root, the type and the class
		kind := binary.BigEndian.Uint16(question[end-4:])
		answer := append([]byte{}, question[:end]...)
		answer[2], answer[3] = 0x81, 0x80 // an answer, without an error
		copy(answer[6:12], make([]byte, 6))
		if kind == 1 {
			address := of()
			answer[7] = 1
			answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
			answer = append(answer, address[:]...)
		}
		_, _ = server.WriteTo(answer, from)
	}
}

// The address counts that is dialed, whatever the name's address was before.
func TestANameThatTurnsInternalIsRefused(t *testing.T) {
	t.Parallel()
	var reached, asked atomic.Int32
	guarded := false
	resolver := resolving(t, func() netip4 {
		asked.Add(1)
		return netip4{127, 0, 0, 1}
	})
	for _, guarded = range []bool{false, true} {
		callback, to := callbackAt(t, func(http.ResponseWriter, *http.Request) { reached.Add(1) },
			func(c webhook.CallbackConfig) webhook.CallbackConfig {
				c.AllowInternal = !guarded
				return webhook.ResolvedBy(c, resolver)
			})
		result := callback.Post(t.Context(), batchTo(strings.Replace(to, "127.0.0.1", "example.com", 1)))
		if !guarded {
			require.Equal(t, notifier.Delivered, result.Status, "the test's resolver does not work: %v", result.Err)
			continue
		}
		require.Equal(t, notifier.ReasonMisaddressed, result.Reason, "%v", result.Err)
		require.ErrorContains(t, result.Err, "internal")
		require.NotContains(t, result.Err.Error(), "127.0.0.1")
	}
	require.Positive(t, asked.Load())
	require.Equal(t, int32(1), reached.Load())
}

func TestInternalCallbacksAreRefused(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	callback, to := callbackAt(t, func(http.ResponseWriter, *http.Request) { reached.Add(1) },
		func(c webhook.CallbackConfig) webhook.CallbackConfig {
			c.AllowInternal = false
			return c
		})
	for _, url := range []string{
		to, "https://localhost:9/", "https://[::1]:9/", "https://10.0.0.1/", "https://192.168.1.1:8443/", "https://172.16.0.1/",
		"https://169.254.169.254/latest/meta-data", "https://100.64.0.1/", "https://224.0.0.1/", "https://0.0.0.0:9/",
		"https://[::]:9/", "https://[::ffff:127.0.0.1]:9/", "https://[::ffff:a9fe:a9fe]/", "https://[64:ff9b::7f00:1]/", "https://[2002:7f00:1::]/",
		"https://[fd00::1]/", "https://[fe80::1]/", "https://[ff02::1]/",
	} {
		result := callback.Post(t.Context(), batchTo(url))
		require.Equal(t, notifier.ReasonMisaddressed, result.Reason, "%s: %v", url, result.Err)
		require.ErrorContains(t, result.Err, "internal", url)
	}
	for _, url := range []string{"https://2130706433/", "https://0x7f.1/"} { // which may be no address at all
		require.NotEqual(t, notifier.Delivered, callback.Post(t.Context(), batchTo(url)).Status, url)
	}
	for _, url := range []string{"", "http" + to[len("https"):], "https:///events", "https://robot:x@example.com", "file:///etc/passwd"} {
		require.Equal(t, notifier.ReasonMisaddressed, callback.Post(t.Context(), batchTo(url)).Reason, url)
	}
	require.Zero(t, reached.Load())
}

func TestACallbackFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	callback, to := callbackAt(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			elsewhere.Add(1)
			return
		}
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	require.Equal(t, notifier.ReasonRedirected, callback.Post(t.Context(), batchTo(to)).Reason)
	require.Zero(t, elsewhere.Load())
}
