package input_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks/input"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// messages reads a file, and returns each message or what is wrong with it.
func messages(t *testing.T, file string) (all []message.Message, wrong []string) {
	t.Helper()
	r, err := input.NewReader(strings.NewReader(file), input.Auto)
	require.NoError(t, err)
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, wrong
		}
		require.NoError(t, err)
		require.Nil(t, record.Invalid)
		m, err := record.Draft.Message(message.ParseTime)
		if err == nil {
			err = m.Validate()
		}
		if err != nil {
			wrong = append(wrong, err.Error())
			continue
		}
		all = append(all, m)
	}
}

func TestPushContentOfCSV(t *testing.T) {
	t.Parallel()
	const header = "user,send_at,title,image,click_url,badge,sound,priority,collapse_key,channels,to.channel,to.app,to.device\n"
	all, wrong := messages(t, header+
		`a,`+at+`,x,https://a/b,myapp://c,0,ding,high,key,"{""fcm"":{""a"":1}}",fcm,shop,phone`+"\n"+
		`a,`+at+`,x,,,,,,,,,,`+"\n"+
		`a,`+at+`,x,,,,,,,,,shop,`+"\n"+
		`a,`+at+`,x,,,many,,,,,,,`+"\n"+
		`a,`+at+`,x,,,-1,,,,,,,`+"\n"+
		`a,`+at+`,x,,,,,,,[],,,`+"\n"+
		`a,`+at+`,x,,,,,,,"{""fcm""",,,`+"\n"+
		`a,`+at+`,x,,,,,,,"{""fcm"":{},""fcm"":{}}",,,`+"\n"+
		`a,`+at+`,x,http://a,,many,,,,{,sms,,`+"\n")
	require.Len(t, all, 3)
	require.Equal(t, message.PushContent{
		Image: "https://a/b", ClickURL: "myapp://c", Badge: new(0), Sound: "ding", Priority: "high", CollapseKey: "key",
		Channels: map[string]json.RawMessage{"fcm": []byte(`{"a":1}`)}, To: &message.Target{Channel: "fcm", App: "shop", Device: "phone"},
	}, all[0].PushContent)
	require.Zero(t, all[1].PushContent)
	require.Equal(t, message.PushContent{To: &message.Target{App: "shop"}}, all[2].PushContent)
	const badge = " is not allowed: it takes a whole number from 0 to 2147483647"
	require.Equal(t, []string{
		`badge "many"` + badge,
		`badge "-1"` + badge,
		`channels "[]" is not allowed: it takes a JSON object`,
		`invalid JSON at byte 7: the text ends too early`,
		`fcm is given twice, the second time at byte 11`,
		`badge "many"` + badge + `; invalid JSON at byte 2: the text ends too early; image "http://a" is not allowed: it takes an https URL` +
			` of at most 2048 bytes; to.channel "sms" is not allowed: it takes fcm, apns, webpush, webhook, log, service`,
	}, wrong)
}
