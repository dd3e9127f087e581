package message

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Both ways to read a draft agree: the fast one reads every draft without faults, except
// one with escapes, which it may leave to the other, and nothing else.
func FuzzReadDraft(f *testing.F) {
	for _, text := range []string{
		`{"id":"order-17","user":"alice","send_at":"2026-11-22T12:11:11.1239+01:00","category":"orders","title":"t","body":"b",` +
			`"data":{"order":"17","empty":""},"campaign":"spring","metadata":{"source":"shop"},"expires_at":"x","on_conflict":"shift","shift_until":"y"}`,
		`{"metadata":{"a":"b"},"data":{"a":"b"}}`, `{"metadata":{"a":"b","a":"b"}}`, `{"metadata":{},"metadata":{}}`, `{"metadata":{"a":1}}`,
		`{"metadata":"a"}`, `{"metadata":null,"campaign":null}`, `{"campaign":"a","campaign":"a"}`, `{"campaign":{}}`,
		`{"image":"https://a/b","click_url":"a:b","sound":"c","priority":"high","collapse_key":"k","badge":3,` +
			`"channels":{"fcm":{"a":[1,{"b":null}]},"apns":{}, "webpush" : { "ttl" : 60 }},"to":{"channel":"fcm","app":"shop","device":"phone"}}`,
		`{"badge":0}`, `{"badge":-0}`, `{"badge":null}`, `{"to":{}}`, `{"to":null}`, `{"to":{"app":null}}`, `{"channels":{}}`, `{"channels":null}`,
		`{"channels":{"fcm":null,"x":1,"":[]}}`, `{"channels":{"a":{"b":"\u0061"}}}`,
		"\t{\"user\" : \"alice\",\r\n\"data\": {} , \"body\":\"b\"}\n", `{"user":"\u0061\ud83d\ude42\"\n"}`, `{"us\u0065r":"a"}`,
		`{"id":null,"user":null,"data":null}`, `{}`, ` {} `, `{"user":"🙂"}`, `{"data":{"a":"b\u0000"}}`,
		// No drafts, and drafts with faults.
		``, ` `, `null`, `[]`, `"a"`, `{`, `{"user"`, `{"user":`, `{"user":"a"`, `{"user":"a",}`, `{,}`, `{} {}`, `{}}`, `{"user" "a"}`,
		`{"id":""}`, `{"User":"a"}`, `{"zeal":"a"}`, `{"":"a"}`, `{"user":1}`, `{"user":{}}`, `{"user":[]}`, `{"user":true}`,
		`{"user":"a","user":"a"}`, `{"user":"a","us\u0065r":"a"}`, `{"user":null,"user":null}`, `{"id":null,"id":"a"}`,
		`{"badge":1.0}`, `{"badge":1e2}`, `{"badge":"1"}`, `{"badge":99999999999999999999}`, `{"badge":1,"badge":1}`, `{"badge":[]}`,
		`{"to":1}`, `{"to":[]}`, `{"to":{"user":"a"}}`, `{"to":{"app":1}}`, `{"to":{"app":{}}}`, `{"to":{"app":"a","app":"a"}}`,
		`{"to":{"app":null,"app":null}}`, `{"to":{"\u0061pp":"a"}}`, `{"to":{},"to":{}}`, `{"to":{"app"}}`, `{"to":{"app":"a",}}`,
		`{"channels":1}`, `{"channels":[]}`, `{"channels":{"a":{},"a":{}}}`, `{"channels":{"a":{"b":1,"b":1}}}`, `{"channels":{"a":{"b":[{"c":1,"c":1}]}}}`,
		`{"channels":{"a":{},"\u0061":{}}}`, `{"channels":{"a":{"b":"\ud800"}}}`, "{\"channels\":{\"a\":\"\xff\"}}", `{"channels":{"a":}}`, `{"channels":{},"channels":{}}`,
		`{"data":1}`, `{"data":[]}`, `{"data":{"a":null}}`, `{"data":{"a":1}}`, `{"data":{"a":{}}}`, `{"data":{"a":"b","a":"b"}}`,
		`{"data":{"a":"b","\u0061":"b"}}`, `{"data":{"a":"b"},"data":{"c":"d"}}`, `{"data":{"a"}}`, `{"data":{"a":"b",}}`,
		"{\"user\":\"a\xff\"}", "{\"data\":{\"\xff\":\"a\"}}", `{"user":"a\ud800"}`, `{"user":"\ude42\ud83d"}`, "{\"user\":\"a\x01\"}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fast, ok := readDraft([]byte(text))
		slow, err := decodeFaulty([]byte(text))
		faultless := err == nil && slow.faults == nil
		if !ok {
			require.False(t, faultless && !strings.Contains(text, `\`), text)
			return
		}
		require.True(t, faultless, text)
		if len(slow.Data) == 0 {
			slow.Data = nil
		}
		if len(slow.Metadata) == 0 {
			slow.Metadata = nil
		}
		for name, override := range slow.Channels { // it was encoded once more
			require.Equal(t, string(canonicalJSON(override)), string(canonicalJSON(fast.Channels[name])), text)
			fast.Channels[name] = override
		}
		require.Equal(t, slow, fast, text)
	})
}
