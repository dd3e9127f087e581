package integration_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// providers are local servers of every provider of pushes, and the programs that use them.
type providers struct {
	programs

	fcm     *notifiertest.FCMServer
	apns    *notifiertest.APNsServer
	push    *notifiertest.PushService
	folder  string
	public  string // the VAPID key
	environ []string
}

// startProviders starts the providers, and writes the credentials of workers into files.
func startProviders(t *testing.T) *providers {
	t.Helper()
	p := &providers{programs: buildPrograms(t), folder: t.TempDir()}
	var err error
	p.fcm, err = notifiertest.NewFCMServer(time.Now)
	require.NoError(t, err)
	t.Cleanup(p.fcm.Close)
	p.apns, err = notifiertest.NewAPNsServer(time.Now, 100)
	require.NoError(t, err)
	t.Cleanup(p.apns.Close)
	p.push = notifiertest.NewPushService(time.Now)
	t.Cleanup(p.push.Close)

	account, err := p.fcm.Credentials()
	require.NoError(t, err)
	key, err := p.apns.Key()
	require.NoError(t, err)
	certificates := append(append(p.fcm.Certificate(), p.apns.Certificate()...), p.push.Certificate()...)
	made := p.workerCommand(t, nil, "channel", "keys", "--out", p.file("vapid.key"), "--json")
	require.Zero(t, made.status, made.stderr)
	var pair map[string]string
	require.NoError(t, json.Unmarshal([]byte(made.stdout), &pair))
	p.public = pair["public_key"]
	p.environ = []string{
		"REDIS_URL=" + redistest.Shared(t).URL(),
		"SSL_CERT_FILE=" + p.write(t, "certificates.pem", certificates),
		"SENDLIMIT_FCM_CREDENTIALS_FILE=" + p.write(t, "account.json", account), "SENDLIMIT_FCM_ENDPOINT=" + p.fcm.URL(),
		"SENDLIMIT_APNS_KEY_FILE=" + p.write(t, "key.p8", key), "SENDLIMIT_APNS_ENDPOINT=" + p.apns.URL(),
		"SENDLIMIT_APNS_KEY_ID=" + notifiertest.APNsKeyID, "SENDLIMIT_APNS_TEAM_ID=" + notifiertest.APNsTeamID,
		"SENDLIMIT_APNS_TOPIC=" + notifiertest.APNsTopic,
		"SENDLIMIT_WEBPUSH_PRIVATE_KEY_FILE=" + p.file("vapid.key"), "SENDLIMIT_WEBPUSH_SUBJECT=ops@example.com",
		"SENDLIMIT_WEBPUSH_HOSTS=" + p.push.Host(), "SENDLIMIT_WEBPUSH_ALLOW_INTERNAL=true",
	}
	return p
}

func (p *providers) file(name string) string { return filepath.Join(p.folder, name) }

func (p *providers) write(t *testing.T, name string, content []byte) string {
	t.Helper()
	require.NoError(t, os.WriteFile(p.file(name), content, 0o600))
	return p.file(name)
}

// owns registers a device of each kind.
func (p *providers) owns(t *testing.T, user string) {
	t.Helper()
	subscription, err := p.push.Subscribe(p.public)
	require.NoError(t, err)
	for channel, address := range map[string][2]string{
		"fcm":     {"--token", p.write(t, "token", []byte("fcm-token-of-"+user))},
		"apns":    {"--token", p.write(t, "token2", []byte(notifiertest.NewAPNsDevice()))},
		"webpush": {"--subscription", p.write(t, "subscription", []byte(subscription))},
	} {
		text, err := os.ReadFile(address[1])
		require.NoError(t, err)
		value := address[1]
		if address[0] == "--token" {
			value = string(text)
		}
		done := p.enqueue(t, p.environ, "device", "add", "--user", user, "--channel", channel, "--id", channel+"-1", address[0], value)
		require.Zero(t, done.status, done.stderr)
		require.NotContains(t, done.stdout+done.stderr, string(text), "an address is a secret")
	}
}

// pushes submits a message for now.
func (p *providers) pushes(t *testing.T, user, id string, args ...string) {
	t.Helper()
	done := p.enqueue(t, p.environ, append([]string{"push", "--user", user, "--id", id, "--at", "now", "--title", "Your table is ready"}, args...)...)
	require.Zero(t, done.status, done.stdout+done.stderr)
}

// status returns what became of a message.
func (p *providers) status(t *testing.T, user, id string) map[string]any {
	t.Helper()
	done := p.enqueue(t, p.environ, "status", "--user", user, id, "--json")
	require.Zero(t, done.status, done.stderr)
	var status map[string]any
	require.NoError(t, json.Unmarshal([]byte(done.stdout), &status))
	return status
}

// becomes waits until a message has a status.
func (p *providers) becomes(t *testing.T, user, id, want string) map[string]any {
	t.Helper()
	var last map[string]any
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		if last = p.status(t, user, id); last["status"] == want {
			return last
		}
	}
	require.Equal(t, want, last["status"], "%v", last)
	return nil
}

// A team without a gateway sends pushes with a worker alone: to a phone by each of Google and
// Apple, and to a browser.
func TestPushesToEveryKindOfDevice(t *testing.T) {
	t.Parallel()
	p := startProviders(t)
	w := p.worker(t, p.environ)
	w.delivers(t)
	p.owns(t, "alice")
	p.pushes(t, "alice", "table", "--click-url", "https://example.com/tables/1", "--badge", "3",
		"--channels", `{"apns":{"payload":{"thread":"tables"}}}`)
	status := p.becomes(t, "alice", "table", "delivered")
	require.Len(t, status["devices"], 3, status)

	messages, err := p.fcm.Wait(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, "fcm-token-of-alice", messages[len(messages)-1].Target)
	require.Contains(t, string(messages[len(messages)-1].Message), "Your table is ready")
	phones, err := p.apns.Wait(t.Context(), 1)
	require.NoError(t, err)
	require.Contains(t, string(phones[0].Payload), `"badge":3`)
	require.Contains(t, string(phones[0].Payload), `"thread":"tables"`)
	require.NotEmpty(t, phones[0].Header.Get("Apns-Expiration"), "a time to live from the message's expiry")
	browsers, err := p.push.Wait(t.Context(), 1)
	require.NoError(t, err)
	require.Contains(t, string(browsers[0].Payload), "Your table is ready")
	require.Greater(t, browsers[0].TTL, 80_000, "about a day")

	// To one channel, and to nobody.
	p.pushes(t, "bob", "nobody")
	require.Equal(t, "no_device", p.becomes(t, "bob", "nobody", "dropped")["reason"])
	p.owns(t, "carol")
	p.pushes(t, "carol", "phone", "--to-channel", "apns")
	require.Len(t, p.becomes(t, "carol", "phone", "delivered")["devices"], 1)
	require.Len(t, p.apns.Pushes(), 2)
	require.Len(t, p.push.Pushes(), 1)
}

// A provider that refuses the credentials stops its channel alone. Messages wait, and go out
// after an operator has resumed it.
func TestAChannelWithoutCredentialsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	p := startProviders(t)
	w := p.worker(t, p.environ)
	w.delivers(t)
	ready := strings.TrimSuffix(w.logged(t, "health endpoint", "url"), "healthz") + "readyz"
	for _, user := range []string{"alice", "bob", "carol", "dave", "erin"} {
		p.owns(t, user)
	}
	p.fcm.Revoke()
	p.fcm.AnswerTokensWith(func() notifiertest.Answer {
		return notifiertest.Answer{Status: http.StatusBadRequest, Body: `{"error":"invalid_grant"}`}
	})
	for _, user := range []string{"alice", "dave", "erin"} {
		p.pushes(t, user, "first")
	}
	w.logged(t, "a channel is stopped", "channel")
	_, err := p.apns.Wait(t.Context(), 3)
	require.NoError(t, err)
	p.pushes(t, "bob", "second")
	_, err = p.apns.Wait(t.Context(), 4)
	require.NoError(t, err, "the others deliver")
	require.Contains(t, []string{"scheduled", "postponed"}, p.status(t, "alice", "first")["status"], "it waits")

	listed := p.workerCommand(t, p.environ, "channel", "list", "--json")
	require.Contains(t, listed.stdout, `"channel":"fcm","state":"stopped","reason":"unauthorized"`)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ready, http.NoBody)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode, "it delivers what it can")
	require.Contains(t, string(text), `"check":"channel_fcm","status":"warning"`)

	// The file gets a good key again, and an operator does not want to wait for the probe.
	p.fcm.AnswerTokensWith(nil)
	require.Zero(t, p.workerCommand(t, p.environ, "channel", "resume", "fcm").status)
	w.logged(t, "a channel is resumed", "channel")
	p.pushes(t, "carol", "third")
	require.Len(t, p.becomes(t, "carol", "third", "delivered")["devices"], 3)
	require.NotContains(t, w.stderr.String(), "fcm-token-of", "tokens are secrets")
}

// Credentials are read again when their file changes, and tried at once.
func TestCredentialsAreReadAgain(t *testing.T) {
	t.Parallel()
	p := startProviders(t)
	good, err := os.ReadFile(p.file("key.p8"))
	require.NoError(t, err)
	other, err := notifiertest.NewAPNsServer(time.Now, 1)
	require.NoError(t, err)
	t.Cleanup(other.Close)
	wrong, err := other.Key()
	require.NoError(t, err)
	p.write(t, "key.p8", wrong)
	w := p.worker(t, p.environ)
	w.delivers(t)
	for _, user := range []string{"alice", "carol", "dave"} {
		p.owns(t, user)
		p.pushes(t, user, "first", "--to-channel", "apns")
	}
	w.logged(t, "a channel is stopped", "channel")

	p.write(t, "key.p8", good)
	w.logged(t, "reloaded a secret", "setting")
	w.logged(t, "a channel is resumed", "channel")
	p.owns(t, "bob")
	p.pushes(t, "bob", "third", "--to-channel", "apns")
	p.becomes(t, "bob", "third", "delivered")
}

// Before anything is sent, an operator can ask providers whether they accept the credentials,
// and send a push to a device.
func TestSendTest(t *testing.T) {
	t.Parallel()
	p := startProviders(t)
	checked := p.workerCommand(t, p.environ, "channel", "check", "--json")
	require.Zero(t, checked.status, checked.stdout+checked.stderr)
	require.Len(t, strings.Split(strings.TrimSpace(checked.stdout), "\n"), 3)

	w := p.worker(t, p.environ)
	w.delivers(t)
	p.owns(t, "alice")
	for _, channel := range []string{"fcm", "apns", "webpush"} {
		done := p.workerCommand(t, p.environ, "channel", "send-test", channel, "--user", "alice", "--json")
		require.Zero(t, done.status, done.stdout+done.stderr)
		require.Contains(t, done.stdout, `"device":"`+channel+`-1","ok":true,"result":"delivered"`)
	}
	file := p.write(t, "nobody", []byte(strings.Repeat("0", 64)))
	p.fcm.AnswerWith(func(notifiertest.FCMMessage) notifiertest.Answer {
		return notifiertest.Answer{Status: http.StatusNotFound, Body: `{"error":{"status":"NOT_FOUND","details":[` +
			`{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"}]}}`}
	})
	done := p.workerCommand(t, p.environ, "channel", "send-test", "fcm", "--address-file", file)
	require.Equal(t, 1, done.status)
	require.Contains(t, done.stdout, "fcm: gone, gone")
}
