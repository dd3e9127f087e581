package message_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Each text is one that encoding/json accepts, as something that its sender may not mean.
func TestAmbiguousJSONIsRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ text, field, sentence string }{
		{`{"user":"bob\ud800"}`, "user", `user has half of a surrogate pair, \ud800, at byte 13: it is no character`},
		{`{"user":"bob\uDFFF"}`, "user", `user has half of a surrogate pair, \uDFFF, at byte 13: it is no character`},
		{`{"user":"\ud83dbob"}`, "user", `user has half of a surrogate pair, \ud83d, at byte 10: it is no character`},
		{`{"title":"\ud83d\u0041"}`, "title", `title has half of a surrogate pair, \ud83d, at byte 11: it is no character`},
		{`{"data":{"a":"\ude42\ud83d"}}`, "data.a", `data.a has half of a surrogate pair, \ude42, at byte 15: it is no character`},
		{`{"limits":["1/minute","\udc00"]}`, "limits.1", `limits.1 has half of a surrogate pair, \udc00, at byte 24: it is no character`},
		{`{"\ud800":1}`, "whole", `whole has half of a surrogate pair, \ud800, at byte 3: it is no character`},
		{"{\"user\":\"bob\xff\"}", "user", `user is not valid UTF-8 at byte 13`},
		{`{"user":"a","user":"b"}`, "user", `user is given twice, the second time at byte 13`},
		{`{"user":"a","us\u0065r":"a"}`, "user", `user is given twice, the second time at byte 13`},
		{`{"data":{"a":"x","\u0061":"y"}}`, "data.a", `data.a is given twice, the second time at byte 18`},
		{`{"data":{"\u001b[2J":"\udc00"}}`, "data.\x1b[2J", `"data.\x1b[2J" has half of a surrogate pair, \udc00, at byte 23: it is no character`},
		{`{"a/b":{"k~":"","k~":""}}`, "a/b.k~", `a/b.k~ is given twice, the second time at byte 17`},
	} {
		require.True(t, json.Valid([]byte(row.text)), row.text)
		var wrong *fault.InvalidError
		require.ErrorAs(t, message.CheckJSON([]byte(row.text), "whole"), &wrong, row.text)
		require.Equal(t, row.field, wrong.Field, row.text)
		require.EqualError(t, wrong, row.sentence, row.text)
	}
}

func TestMalformedJSONIsRefusedWithItsPosition(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ text, sentence string }{
		{``, `invalid JSON at byte 1: the text ends too early`},
		{`  `, `invalid JSON at byte 3: the text ends too early`},
		{`{"user":"ali`, `invalid JSON at byte 13: the text ends too early`},
		{`{"user":"\ud83d`, `invalid JSON at byte 10: the text ends too early`},
		{`{"user":1,}`, "invalid JSON at byte 10: invalid character ',' at start of value"},
		{`{"user":"\x"}`, "invalid JSON at byte 10: invalid escape sequence `\\x` in string"},
		{`{} {}`, `invalid JSON at byte 4: there is text after the end of the value`},
		{`{}}`, `invalid JSON at byte 3: there is text after the end of the value`},
	} {
		require.False(t, json.Valid([]byte(row.text)), row.text)
		var wrong *fault.InvalidError
		require.ErrorAs(t, message.CheckJSON([]byte(row.text), "body"), &wrong, row.text)
		require.Equal(t, "body", wrong.Field, row.text)
		require.EqualError(t, wrong, row.sentence, row.text)
	}
}

// What CheckJSON accepts reads back as it was written.
func FuzzCheckJSON(f *testing.F) {
	for _, text := range []string{
		`{"user":"bob\ud83d\ude42","data":{"a":"\u0000","user":"\\ud800"},"list":[{"a":1},{"a":2}]}` + "\r\n",
		` null `, `"\ufffd"`, `1e999`, `{"a":{"b":{"a":{}}}}`, `{"a":"\ud800"}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if message.CheckJSON([]byte(text), "body") != nil {
			return
		}
		require.True(t, json.Valid([]byte(text)))
		var value any
		decoder := json.NewDecoder(bytes.NewBufferString(text))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&value))
		again, err := json.Marshal(value)
		require.NoError(t, err)
		require.NoError(t, message.CheckJSON(again, "body"))
	})
}
