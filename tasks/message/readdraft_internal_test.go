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
		"\t{\"user\" : \"alice\",\r\n\"data\": {} , \"body\":\"b\"}\n", `{"user":"\u0061\ud83d\ude42\"\n"}`, `{"us\u0065r":"a"}`,
		`{"id":null,"user":null,"data":null}`, `{}`, ` {} `, `{"user":"🙂"}`, `{"data":{"a":"b\u0000"}}`,
		// No drafts, and drafts with faults.
		``, ` `, `null`, `[]`, `"a"`, `{`, `{"user"`, `{"user":`, `{"user":"a"`, `{"user":"a",}`, `{,}`, `{} {}`, `{}}`, `{"user" "a"}`,
		`{"id":""}`, `{"User":"a"}`, `{"zeal":"a"}`, `{"":"a"}`, `{"user":1}`, `{"user":{}}`, `{"user":[]}`, `{"user":true}`,
		`{"user":"a","user":"a"}`, `{"user":"a","us\u0065r":"a"}`, `{"user":null,"user":null}`, `{"id":null,"id":"a"}`,
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
		require.Equal(t, slow, fast, text)
	})
}
