package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/channels"
)

func TestChannelKeys(t *testing.T) {
	t.Parallel()
	out := prints(t, nil, "", "channel", "keys", "--json")
	var pair map[string]string
	require.NoError(t, json.Unmarshal([]byte(out), &pair))
	require.Len(t, pair["public_key"], 87)
	require.Len(t, pair["private_key"], 43)

	file := filepath.Join(t.TempDir(), "vapid.key")
	out = prints(t, nil, "", "channel", "keys", "--out", file)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	private := strings.TrimSpace(string(text))
	require.Len(t, private, 43)
	require.NotContains(t, out, private)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	// A key in use is not replaced.
	_, err = command(t, nil, "", "channel", "keys", "--out", file)
	require.ErrorContains(t, err, "already exists")
	again, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, text, again)

	// Workers use what it wrote.
	out = prints(t, nil, "", "channel", "check", "--webpush-private-key-file", file, "--webpush-subject", "ops@example.com")
	require.Regexp(t, `^webpush: accepted \(\d+ ms\)\n$`, out)
}

func TestWrongSettingsOfChannelsAreAllReported(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	wrong := filepath.Join(folder, "wrong")
	require.NoError(t, os.WriteFile(wrong, []byte("s3cret"), 0o600))
	_, err := command(t, nil, "", "channel", "check",
		"--fcm-credentials-file", wrong, "--apns-key-file", filepath.Join(folder, "nosuch"), "--webpush-private-key-file", wrong)
	require.Equal(t, cli.StatusInvalid, cli.ExitCode(err))
	for _, want := range []string{"fcm.credentials_file", "apns.key_file", "no such file", "webpush.private_key_file", "webpush.subject"} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "s3cret")

	_, err = command(t, nil, "", "channel", "check")
	require.ErrorContains(t, err, "no channel is set up")
}

func TestChannelListAndResume(t *testing.T) {
	t.Parallel()
	m, client := redistest.Embedded(t)
	environ := []string{"REDIS_URL=redis://" + m.Addr()}
	kept := channels.NewStore(client, keyspace.KeysUnder(""))

	out := prints(t, environ, "", "channel", "list")
	require.Equal(t, "No channel has delivered anything yet, and none is stopped: see sendlimit-worker channel check.\n", out)

	_, err := kept.Stop(t.Context(), notifier.ChannelAPNs, channels.Stop{Reason: channels.Brake, Detail: "30 of 50 devices gone"})
	require.NoError(t, err)
	_, err = kept.Stop(t.Context(), notifier.ChannelFCM, channels.Stop{Reason: channels.Unauthorized, Detail: "HTTP status 403"})
	require.NoError(t, err)
	require.NoError(t, kept.Accept(t.Context(), notifier.ChannelLog, "", time.Now()))
	require.NoError(t, kept.NoteWave(t.Context(), notifier.ChannelLog, channels.Wave{
		At: time.Now(), Gone: 40, Of: 90, Accounts: map[string]int{"shop": 39, "": 1}, Campaigns: map[string]int{"spring": 40},
	}))
	out = prints(t, environ, "", "channel", "list")
	require.Regexp(t, `^apns     stopped since .* UTC: brake, 30 of 50 devices gone
 +its provider reports all devices as gone: check project, key and environment, then sendlimit-worker channel resume apns
fcm      stopped since .* UTC: unauthorized, HTTP status 403
( +next probe at .*
)?log      running
 +its provider reports many devices as gone, which are kept as suspects: 40 of the last 90 answers,
 +by account shop 39, \(none\) 1, by campaign spring 40
$`, out)

	out = prints(t, environ, "", "channel", "resume", "apns", "--json")
	require.JSONEq(t, `{"outcome":"resumed","channel":"apns"}`, out)
	_, err = command(t, environ, "", "channel", "resume", "apns")
	require.EqualError(t, err, `"apns" is not stopped: see sendlimit-worker channel list`)

	out = prints(t, environ, "", "channel", "list", "--json")
	require.Len(t, strings.Split(strings.TrimSpace(out), "\n"), 2)
	require.Contains(t, out, `"channel":"fcm","state":"stopped","reason":"unauthorized","detail":"HTTP status 403","since":"`)
}

func TestSendTestNeedsADevice(t *testing.T) {
	t.Parallel()
	m, _ := redistest.Embedded(t)
	file := filepath.Join(t.TempDir(), "vapid.key")
	prints(t, nil, "", "channel", "keys", "--out", file)
	environ := []string{
		"REDIS_URL=redis://" + m.Addr(), "SENDLIMIT_WEBPUSH_PRIVATE_KEY_FILE=" + file, "SENDLIMIT_WEBPUSH_SUBJECT=ops@example.com",
	}
	for args, want := range map[string]string{
		"webpush":                                  "--address-file or --user is required: the device to send to",
		"webpush --user alice --address-file x":    "--address-file or --user is required: the device to send to",
		"webpush --device d1 --address-file x":     "--device requires --user",
		"fcm --user alice":                         `channel "fcm" is not set up: set up are webpush`,
		"webpush --user alice":                     "alice has no such device on channel webpush: see sendlimit device list --user alice",
		"webpush --address-file /nosuch/s3cret":    "can't read the device's address: open /nosuch/s3cret: no such file or directory",
		"webpush --address-file - --title Testing": "- is not a device's address: give a token, or the JSON of a browser's subscription",
	} {
		_, err := command(t, environ, "", append([]string{"channel", "send-test"}, strings.Fields(args)...)...)
		require.EqualError(t, err, want, args)
	}
	worker := start(t, environ[1:]).started(t)
	_, err := command(t, append(worker.environ(t), environ[1:]...), "", "channel", "send-test", "webpush", "--user", "alice", "--webpush-private-key-file", file)
	require.EqualError(t, err, "alice has no such device on channel webpush: see sendlimit device list --user alice", "of the worker on this machine")
	_, client, there := elsewhere(t)
	kept := devices.New(client, keyspace.KeysUnder(""), devices.Options{})
	_, err = kept.Add(t.Context(), "alice", devices.Device{
		ID: "d1", Channel: "webpush", Address: `{"endpoint":"https://fcm.googleapis.com/fcm/send/s3cret","keys":{"auth":"BTBZMqHH6r4Tts7J_aSIgg",` +
			`"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"}}`,
	}, 1)
	require.NoError(t, err)
	key, _ := says(t, there, "account", "create", "ops", "--scopes", "admin")
	_, err = command(t, append([]string{"SENDLIMIT_API=" + overHTTP(t, client), "SENDLIMIT_API_KEY=" + strings.TrimSpace(key)}, environ[1:]...),
		"", "channel", "send-test", "webpush", "--user", "alice")
	require.EqualError(t, err, "the API shows addresses of devices only for a key with the scope content: use such a key, or --address-file")
	// What can't be a subscription is refused before anything is sent.
	out, err := command(t, environ, "canary", "channel", "send-test", "webpush", "--address-file", "-")
	require.Equal(t, cli.StatusUnexpected, cli.ExitCode(err))
	require.Contains(t, out, "webpush: permanent, misaddressed: the push was not sent")
	require.NotContains(t, out, "canary")
}

func TestSendingStopAndStart(t *testing.T) {
	t.Parallel()
	m, _ := redistest.Embedded(t)
	environ := []string{"REDIS_URL=redis://" + m.Addr()}
	require.Equal(t, "sending is not stopped\n", prints(t, environ, "", "sending", "status"))
	_, err := command(t, environ, "", "sending", "stop")
	require.EqualError(t, err, "--reason is required: operators see it until sending is started")
	_, err = command(t, environ, "", "sending", "stop", "--reason", strings.Repeat("x", 501))
	require.ErrorContains(t, err, "use 1 to 500 bytes of UTF-8 without control characters")
	const stopped = `all sending is stopped since .* UTC by ops: wrong text\n$`
	require.Regexp(t, "^"+stopped, prints(t, environ, "", "sending", "stop", "--reason", "wrong text", "--by", "ops"))
	require.Regexp(t, "^nothing changed: "+stopped, prints(t, environ, "", "sending", "stop", "--reason", "another", "--by", "eve"))
	require.Regexp(t, `^{"state":"stopped","reason":"wrong text","by":"ops","since":".*"}\n$`, prints(t, environ, "", "sending", "status", "--json"))
	require.Equal(t, "sending goes on: late messages go out as the rules allow\n", prints(t, environ, "", "sending", "start"))
	require.Equal(t, "nothing changed: sending is not stopped\n", prints(t, environ, "", "sending", "start"))
}
