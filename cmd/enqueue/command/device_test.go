package command

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

const (
	canaryToken  = "canary-canary-canary-canary-canary-123456"
	subscription = `{"endpoint":"https://push.example.net/canary","expirationTime":null,"keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}`
)

// devicesOf returns the devices of a user in the store.
func (f *fixture) devicesOf(t *testing.T, user string) []devices.Device {
	t.Helper()
	s := devices.New(f.client, keyspace.KeysUnder(""), devices.Options{})
	list, err := s.List(t.Context(), user)
	require.NoError(t, err)
	return list
}

func TestDevices(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	require.Equal(t, "alice has no devices\n", f.prints(t, "device", "list", "--user", "alice"))
	f.stdin = strings.NewReader(canaryToken + "\n")
	require.Equal(t, "added: device phone of alice\n",
		f.prints(t, "device", "add", "--user", "alice", "--channel", "fcm", "--token", "-", "--id", "phone", "--app", "shop", "--locale", "pt-BR"))
	require.Equal(t, canaryToken, f.devicesOf(t, "alice")[0].Address)
	file := filepath.Join(t.TempDir(), "subscription.json")
	require.NoError(t, os.WriteFile(file, []byte(subscription), 0o600))
	var added message.DeviceChange
	require.NoError(t, json.Unmarshal([]byte(f.prints(t, "device", "add", "--user", "alice", "--channel", "webpush", "--subscription", file, "--json")), &added))
	require.Equal(t, message.DeviceAdded, added.Outcome)
	require.Equal(t, "https://push.example.net/…", added.Device.Address)
	f.stdin = strings.NewReader(subscription)
	require.Equal(t, "unchanged: device "+added.Device.ID+" of alice\n",
		f.prints(t, "device", "add", "--user", "alice", "--channel", "webpush", "--subscription", "-"))

	require.Equal(t, "id            channel  registered                    last success                  address\n"+
		"phone         fcm      2093-11-21 10:00:00 UTC       never                         …123456  app shop  locale pt-BR\n"+
		added.Device.ID+"  webpush  2093-11-21 10:00:00 UTC       never                         https://push.example.net/…\n",
		f.prints(t, "device", "list", "--user", "alice"))
	var list message.Devices
	require.NoError(t, json.Unmarshal([]byte(f.prints(t, "device", "list", "--user", "alice", "--json", "--addresses")), &list))
	require.Equal(t, canaryToken, list.Devices[0].Address)

	require.Equal(t, "removed: device phone of alice\n", f.prints(t, "device", "remove", "--user", "alice", "phone"))
	require.Equal(t, result{4, "", "not found: no device \"phone\"\n"}, f.run(t, "device", "remove", "--user", "alice", "phone"))
	require.JSONEq(t, `{"outcome":"removed","user":"alice","device":"`+added.Device.ID+`"}`,
		f.prints(t, "device", "remove", "--user", "alice", "--json", added.Device.ID))
	require.Empty(t, f.devicesOf(t, "alice"))
}

// A device that is refused is not shown.
func TestDevicesThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, row := range []struct {
		args []string
		says string
	}{
		{[]string{"--channel", "fcm"}, "error: token is required with the channel fcm\n"},
		{[]string{"--channel", "sms", "--token", "canary"}, "error: channel \"sms\" is not allowed: use fcm, apns or webpush\n"},
		{[]string{"--channel", "apns", "--token", "canary"}, "error: token is not valid: it must be a device token, 64 to 200 hexadecimal digits\n"},
		{[]string{"--channel", "webpush", "--subscription", "-"}, "error: - is not a JSON object\n"},
		{[]string{"--channel", "webpush", "--subscription", "-", "--token", "-"}, "error: --token and --subscription can't both be standard input\n"},
		{[]string{"--channel", "webpush", "--subscription", "nosuch"}, "error: open nosuch: no such file or directory\n"},
	} {
		got := f.run(t, append([]string{"device", "add", "--user", "alice"}, row.args...)...)
		require.Equal(t, result{2, "", row.says}, got)
	}
	for i := range devices.Most {
		f.prints(t, "device", "add", "--user", "alice", "--channel", "fcm", "--token", fmt.Sprint("token", i))
	}
	full := f.run(t, "device", "add", "--user", "alice", "--channel", "fcm", "--token", "canary")
	require.Equal(t, result{3, "", "error: the user has 100 devices already: remove one first\n"}, full)
}

const importCSV = "user,channel,token,subscription,id,app\n" +
	"alice,fcm,canary-1,,phone,shop\n" +
	"alice,fcm,canary-2,,phone,shop\n" + // after the line before
	"bob,webpush,,\"" + `{""endpoint"":""https://push.example.net/canary"",""keys"":{""p256dh"":""BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"",""auth"":""BTBZMqHH6r4Tts7J_aSIgg""}}` + "\",,\n"

func TestImportOfDevices(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.stdin = strings.NewReader(importCSV)
	require.Equal(t, "3 lines read\n  added      2\n  replaced   1\n", f.prints(t, "device", "import", "-"))
	require.Equal(t, "canary-2", f.devicesOf(t, "alice")[0].Address)
	require.Len(t, f.devicesOf(t, "bob"), 1)

	f.server.SetTime(now().Add(time.Hour))
	ndjson := `{"user":"alice","channel":"fcm","token":"canary-2","id":"phone","app":"shop"}` + "\n\n" +
		`{"user":"bob","channel":"webpush","subscription":` + subscription + "}\n"
	f.stdin = strings.NewReader(ndjson)
	results := filepath.Join(t.TempDir(), "results")
	require.JSONEq(t, `{"outcome":"imported","lines":2,"added":0,"replaced":0,"unchanged":2,"refused":0,"invalid":0}`,
		f.prints(t, "device", "import", "-", "--json", "--results", results))
	written, err := os.ReadFile(results)
	require.NoError(t, err)
	require.Equal(t, `{"outcome":"unchanged","line":1,"id":"phone","user":"alice"}`+"\n"+
		`{"outcome":"unchanged","line":3,"id":"`+f.devicesOf(t, "bob")[0].ID+`","user":"bob"}`+"\n", string(written))
}

// A token that a file gives to several users is the last one's.
func TestImportOfADeviceThatMoves(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var file strings.Builder
	file.WriteString("user,channel,token\n")
	for i := range 20 {
		fmt.Fprintf(&file, "user%02d,fcm,canary\n", i)
	}
	f.stdin = strings.NewReader(file.String())
	require.Equal(t, "20 lines read\n  added      20\n  19 devices had another user until now\n", f.prints(t, "device", "import", "-"))
	for i := range 20 {
		require.Len(t, f.devicesOf(t, fmt.Sprintf("user%02d", i)), i/19)
	}
}

// With an account, an import registers as many devices as the account's tier allows.
func TestImportOfAnAccountsDevices(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.account(t, "acme", 0)
	directory := accounts.New(f.client, keyspace.KeysUnder(""))
	require.NoError(t, directory.SetTier(t.Context(), accounts.Tier{Name: "acme", Devices: 1}))
	f.stdin = strings.NewReader(importCSV[:strings.Index(importCSV, "bob")] + "alice,fcm,canary-3,,tablet,\n")
	got := f.run(t, "device", "import", "-", "--account", "acme")
	require.Equal(t, 3, got.status)
	require.Equal(t, "3 lines read\n  added      1\n  replaced   1\n  refused    1\n", got.stdout)
	require.Contains(t, got.stderr, `line 4: account "acme" has as many devices as its tier allows, which is 1: remove`)
}

// A line that is no device is reported without its token, and the others are registered.
func TestImportOfLinesThatAreNoDevices(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.stdin = strings.NewReader(strings.Join([]string{
		`{"user":"alice","channel":"fcm","token":"canary"}`,
		`{"user":"","channel":"fcm","token":"canary"}`,
		`{"user":"alice","channel":"fcm","token":5}`,
		`{"user":"alice","channel":"fcm","token":"canary"`,
		`{"user":"alice","chanel":"fcm","token":"canary"}`,
		`{"user":"alice","channel":"apns","token":"canary"}`,
		`canary`,
		`{"user":"alice","channel":"fcm","token":"canary"}{}`,
	}, "\n"))
	got := f.run(t, "device", "import", "-")
	require.Equal(t, result{
		2, "8 lines read\n  added      1\n  invalid    7\n",
		"line 2: user is missing\n" +
			"line 3: token has the wrong type: number\n" +
			"line 4: the JSON ends too early\n" +
			"line 5: unknown field \"chanel\"\n" +
			"line 6: token is not valid: it must be a device token, 64 to 200 hexadecimal digits\n" +
			"line 7: the line is not a JSON object\n" +
			"line 8: the line has more than one JSON object\n",
	}, got)
	for text, says := range map[string]string{
		"user,token\nalice,canary\n": "error: the header has no column channel: it is user,token\n",
		"user,channel,color\na,fcm,canary\n": "error: unknown column \"color\" in the header: there are user, channel, token, subscription, id, app, locale (without a header, write a JSON object a line)" +
			"; --column FIELD=COLUMN reads a column as a field, and --other-columns ignore skips the others\n",
		"user,channel,user\na,fcm,canary\n": "error: the header has the column user twice\n",
	} {
		f.stdin = strings.NewReader(text)
		require.Equal(t, result{2, "", says}, f.run(t, "device", "import", "-"))
	}
	f.stdin = strings.NewReader("user,channel,token\na,fcm\nb,fcm,\"canary\nc,fcm,t\n")
	got = f.run(t, "device", "import", "-")
	require.Equal(t, "3 lines read\n  added      1\n  invalid    2\n", got.stdout)
	require.Equal(t, "line 2: the line has 2 fields, and the header has 3 columns\n"+
		"line 3: a quote is never closed: a quote within a field is written \"\"\n", got.stderr)
	require.Len(t, f.devicesOf(t, "c"), 1)
}

// More lines than are in memory at a time, and a user with more devices than are allowed.
func TestImportOfManyDevices(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var text strings.Builder
	text.WriteString("user,channel,token\n")
	for i := range 2345 {
		fmt.Fprintf(&text, "user%d,fcm,token%d\n", i%1000, i)
	}
	for i := range devices.Most + 1 {
		fmt.Fprintf(&text, "alice,fcm,phone%d\n", i)
	}
	file := filepath.Join(t.TempDir(), "devices.csv")
	require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
	got := f.run(t, "device", "import", file)
	require.Equal(t, result{
		3, "2,446 lines read\n  added      2,445\n  refused    1\n",
		"line 2447: the user has 100 devices already: remove one first\n",
	}, got)
	f.server.SetError("LOADING it is")
	require.Equal(t, 5, f.run(t, "device", "import", file).status)
}
