package message_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
)

// said returns a valid message with a member of JSON besides.
func said(member string) string {
	return `{"user":"alice","send_at":"2026-11-22T11:11:11Z","title":"t",` + member + `}`
}

func TestPushContentThatIsNotAllowed(t *testing.T) {
	t.Parallel()
	const (
		image    = ` is not allowed: use an https URL of at most 2048 bytes`
		click    = ` is not allowed: use an absolute URL of at most 2048 bytes, such as https://example.com/ or myapp://orders/17, and not javascript:, data: or file:`
		badge    = ` is not allowed: use a whole number from 0 to 2147483647`
		collapse = ` is not allowed: use 1 to 64 printable ASCII characters`
		channels = ` is not allowed: use a JSON object`
		id       = ` is not allowed: use 1 to 64 of A-Z a-z 0-9 . _ -`
	)
	long := strings.Repeat("a", 2049-len("https://a/"))
	for _, row := range []struct{ member, sentence string }{
		{`"image":"http://a/b"`, `image "http://a/b"` + image},
		{`"image":"https:///b"`, `image "https:///b"` + image},
		{`"image":"//a/b"`, `image "//a/b"` + image},
		{`"image":"https://a/b c"`, `image "https://a/b c"` + image},
		{`"image":"https://a\\b"`, `image "https://a\\b"` + image},
		{`"image":"https://a/` + long + `"`, `image "https://a/` + strings.Repeat("a", 70) + `…"` + image},
		{`"image":7`, `image is a JSON number: it has to be a text`},
		{`"click_url":"/orders/17"`, `click_url "/orders/17"` + click},
		{`"click_url":"example.com"`, `click_url "example.com"` + click},
		{`"click_url":"myapp:"`, `click_url "myapp:"` + click},
		{`"click_url":"https://"`, `click_url "https://"` + click},
		{`"click_url":"javascript:alert(1)"`, `click_url "javascript:alert(1)"` + click},
		{`"click_url":"JavaScript:alert(1)"`, `click_url "JavaScript:alert(1)"` + click},
		{`"click_url":" javascript:alert(1)"`, `click_url " javascript:alert(1)"` + click},
		{`"click_url":"java\nscript:alert(1)"`, `click_url "java\nscript:alert(1)"` + click},
		{`"click_url":"data:text/html,a"`, `click_url "data:text/html,a"` + click},
		{`"click_url":"file:///etc/passwd"`, `click_url "file:///etc/passwd"` + click},
		{`"badge":-1`, `badge "-1"` + badge},
		{`"badge":2147483648`, `badge "2147483648"` + badge},
		{`"badge":1.5`, `badge is a JSON number 1.5: it has to be a whole number`},
		{`"badge":"3"`, `badge is a JSON string: it has to be a whole number`},
		{`"sound":"` + strings.Repeat("ü", 65) + `"`, `sound "` + strings.Repeat("ü", 40) + `…" is not allowed: use 1 to 64 characters without control characters`},
		{`"sound":"a\u0000"`, `sound "a\x00" is not allowed: use 1 to 64 characters without control characters`},
		{`"priority":"urgent"`, `priority "urgent" is not allowed: use high or normal`},
		{`"collapse_key":"` + strings.Repeat("k", 65) + `"`, `collapse_key "` + strings.Repeat("k", 65) + `"` + collapse},
		{`"collapse_key":"ü"`, `collapse_key "ü"` + collapse},
		{`"collapse_key":"a\tb"`, `collapse_key "a\tb"` + collapse},
		{`"channels":{"sms":{}}`, `unknown field "channels.sms": there are fcm, apns, webpush`},
		{`"channels":{"webhook":{}}`, `unknown field "channels.webhook": there are fcm, apns, webpush`},
		{`"channels":{"fcm":null}`, `channels.fcm "null"` + channels},
		{`"channels":{"fcm":[]}`, `channels.fcm "[]"` + channels},
		{`"channels":{"fcm":"a"}`, `channels.fcm "\"a\""` + channels},
		{`"channels":{"fcm":{"a":"` + strings.Repeat("a", 4089) + `"}}`, `channels.fcm is 4097 bytes: the limit is 4096`},
		{`"channels":{"fcm":{"a":1,"a":2}}`, `channels.fcm.a is given twice, the second time at byte 87`},
		{`"channels":[]`, `channels is a JSON array: it has to be a JSON object`},
		{`"to":{}`, `to is empty: it needs at least one of channel, app and device`},
		{`"to":{"app":null}`, `to is empty: it needs at least one of channel, app and device`},
		{`"to":"fcm"`, `to is a JSON string: it has to be a JSON object`},
		{`"to":{"user":"bob"}`, `unknown field "to.user": there are channel, app, device`},
		{`"to":{"channel":1}`, `to.channel is a JSON number: it has to be a text`},
		{`"to":{"channel":"sms"}`, `to.channel "sms" is not allowed: use fcm, apns, webpush, webhook, log, service`},
		{`"to":{"app":"a b"}`, `to.app "a b"` + id},
		{`"to":{"device":"@webhook"}`, `to.device "@webhook"` + id},
		{`"to":{"device":"` + strings.Repeat("d", 65) + `"}`, `to.device "` + strings.Repeat("d", 65) + `"` + id},
	} {
		_, err := decoded(said(row.member))
		refusesFirst(t, err, row.sentence)
	}
}

func TestPushContentWithinTheBounds(t *testing.T) {
	t.Parallel()
	for _, member := range []string{
		`"image":"https://a/` + strings.Repeat("a", 2048-len("https://a/")) + `"`,
		`"image":"HTTPS://a"`,
		`"image":null,"click_url":null,"badge":null,"sound":null,"priority":null,"collapse_key":null,"channels":null,"to":null`,
		`"click_url":"https://example.com/a?b=c#d"`, `"click_url":"myapp://orders/17"`, `"click_url":"mailto:a@example.com"`, `"click_url":"tel:+123"`,
		`"badge":0`, `"badge":2147483647`,
		`"sound":"` + strings.Repeat("ü", 64) + `"`,
		`"priority":"high"`, `"priority":"normal"`,
		`"collapse_key":"` + strings.Repeat("~", 64) + `"`, `"collapse_key":"score of a game"`,
		`"channels":{}`, `"channels":{"fcm":{},"apns":{"aps":{"mutable-content":1}},"webpush":{"ttl":60}}`,
		`"channels":{"fcm":{"a" : "` + strings.Repeat("a", 4088) + `"}}`, // white space does not count
		`"to":{"channel":"webhook"}`, `"to":{"app":"AZaz09._-"}`, `"to":{"device":"` + strings.Repeat("d", 64) + `"}`,
	} {
		_, err := decoded(said(member))
		require.NoError(t, err, member)
	}
}

func TestAMessageNamesChannels(t *testing.T) {
	t.Parallel()
	require.Empty(t, message.PushContent{Image: "https://a/b", To: &message.Target{Channel: "webhook"}}.NamedChannels())
	require.Equal(t, []string{"fcm", "webpush"}, message.PushContent{
		Channels: map[string]json.RawMessage{"webpush": []byte(`{}`)}, To: &message.Target{Channel: "fcm"},
	}.NamedChannels())
}

func TestContentIsKeptInOneSpelling(t *testing.T) {
	t.Parallel()
	write := func(override string) (content string, mark [16]byte) {
		m, err := decoded(said(`"channels":{"fcm":` + override + `}`))
		require.NoError(t, err)
		text, err := message.EncodeContent(m)
		require.NoError(t, err)
		return string(text), message.Fingerprint(m)
	}
	content, mark := write(`{"b":[1,{"d":1,"c":12345678901234567890}],"a":"ü"}`)
	again, same := write(` { "a" : "\u00fc", "b" : [ 1, { "c":12345678901234567890, "d":1 } ] } `)
	const spelled = `{"title":"t","channels":{"fcm":{"a":"ü","b":[1,{"c":12345678901234567890,"d":1}]}}}`
	require.Contains(t, content, spelled, "members in one order, numbers with all digits")
	require.Equal(t, content, again)
	require.Equal(t, mark, same, "it is the same request")
	_, other := write(`{"b":[{"d":1,"c":12345678901234567890},1],"a":"ü"}`)
	require.NotEqual(t, mark, other)
}

// edited returns the content of the JSON text after a merge patch.
func edited(t *testing.T, content, patch string) (string, error) {
	t.Helper()
	c, err := message.DecodeContent([]byte(content))
	require.NoError(t, err)
	d, err := message.DecodeMove([]byte(patch))
	require.NoError(t, err)
	p, err := d.Patch(message.ParseTime)
	if err != nil {
		return "", err
	}
	require.Nil(t, p.Move)
	require.True(t, p.Edit.Says())
	c, _, err = p.Edit.Of(c, nil)
	text, failed := json.Marshal(c)
	require.NoError(t, failed)
	return string(text), err
}

func TestPushContentIsEdited(t *testing.T) {
	t.Parallel()
	const full = `{"title":"t","image":"https://a/b","click_url":"a:b","badge":3,"sound":"s","priority":"high","collapse_key":"k",` +
		`"channels":{"apns":{"aps":{"x":1,"y":2}},"fcm":{"a":1}},"to":{"channel":"apns","device":"d"}}`
	for _, row := range []struct{ was, patch, is string }{
		{
			`{"title":"t"}`, `{"image":"https://a/b","badge":0,"to":{"app":"shop"},"channels":{"fcm":{"b":2,"a":1}}}`,
			`{"title":"t","image":"https://a/b","badge":0,"channels":{"fcm":{"a":1,"b":2}},"to":{"app":"shop"}}`,
		},
		{full, `{"image":null,"click_url":null,"badge":null,"sound":null,"priority":null,"collapse_key":null,"channels":null,"to":null}`, `{"title":"t"}`},
		{full, `{"image":"","click_url":"","badge":null,"sound":"","priority":"","collapse_key":"","channels":{"apns":null,"fcm":null},"to":{"channel":null,"device":null}}`, `{"title":"t"}`},
		{
			full, `{"priority":"normal","channels":{"apns":{"aps":{"x":null,"z":[3]}},"webpush":{"ttl":1}},"to":{"device":null,"app":"a"}}`,
			`{"title":"t","image":"https://a/b","click_url":"a:b","badge":3,"sound":"s","priority":"normal","collapse_key":"k",` +
				`"channels":{"apns":{"aps":{"y":2,"z":[3]}},"fcm":{"a":1},"webpush":{"ttl":1}},"to":{"channel":"apns","app":"a"}}`,
		},
		{`{"title":"t"}`, `{"channels":{"fcm":null},"to":{"app":null}}`, `{"title":"t"}`},
	} {
		is, err := edited(t, row.was, row.patch)
		require.NoError(t, err, row.patch)
		require.Equal(t, row.is, is, row.patch)
	}
}

func TestEditsOfPushContentThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ patch, sentence string }{
		{`{"to":{"user":"bob"}}`, `unknown field "to.user": there are channel, app, device`},
		{`{"to":{"app":1}}`, `to.app is a JSON number: it has to be a text`},
		{`{"badge":"1"}`, `badge is a JSON string: it has to be a whole number`},
		{`{"badge":-1}`, `badge "-1" is not allowed: use a whole number from 0 to 2147483647`},
		{`{"channels":{"fcm":1}}`, `channels.fcm "1" is not allowed: use a JSON object`},
		{`{"channels":{"sms":{}}}`, `unknown field "channels.sms": there are fcm, apns, webpush`},
		{`{"channels":{"sms":null}}`, `unknown field "channels.sms": there are fcm, apns, webpush`},
		{`{"click_url":"data:,"}`, `click_url "data:," is not allowed: use an absolute URL of at most 2048 bytes, such as https://example.com/` +
			` or myapp://orders/17, and not javascript:, data: or file:`},
		{`{"channels":{"fcm":{"b":"` + strings.Repeat("a", 4080) + `"}}}`, `channels.fcm is 4104 bytes: the limit is 4096`},
	} {
		_, err := edited(t, `{"title":"t","channels":{"fcm":{"abcdefg":"hij"}}}`, row.patch)
		refusesFirst(t, err, row.sentence)
	}
}
