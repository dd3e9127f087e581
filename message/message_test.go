package message_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// noon is the send time of messages that are judged by themselves.
func noon() time.Time { return time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC) }

// valid is a message that the edits of a test make invalid.
func valid(edits ...func(*message.Message)) message.Message {
	m := message.Message{ID: "order-17", User: "alice", SendAt: noon(), Title: "Shipped"}
	for _, edit := range edits {
		edit(&m)
	}
	return m
}

// refuses requires the very sentence that an error says.
func refuses(t *testing.T, err error, sentence string) {
	t.Helper()
	var invalid *fault.InvalidError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, sentence, err.Error())
}

// refusesFirst requires the sentence of the first fault.
func refusesFirst(t *testing.T, err error, sentence string) {
	t.Helper()
	var invalid *fault.InvalidError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, sentence, invalid.Error())
}

func TestMessageWithinTheBounds(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*message.Message){
		"the least there is":         func(m *message.Message) { *m = message.Message{User: "a", Now: true, Body: "b"} },
		"the longest id":             func(m *message.Message) { m.ID = strings.Repeat("a", 128) },
		"every byte of an id":        func(m *message.Message) { m.ID = "AZaz09._:-" },
		"the longest user":           func(m *message.Message) { m.User = strings.Repeat("ü", 128) },
		"a user with signs and such": func(m *message.Message) { m.User = "a b/c:d{e}🙂" },
		"the longest category":       func(m *message.Message) { m.Category = strings.Repeat("a", 64) },
		"every byte of a category":   func(m *message.Message) { m.Category = "az09_-" },
		"lines in a text":            func(m *message.Message) { m.Title, m.Body = "", "one\r\n\ttwo" },
		"the most content": func(m *message.Message) {
			m.Title, m.Body = strings.Repeat("t", 1000), strings.Repeat("b", 3000)
			m.Data = map[string]string{"key": strings.Repeat("d", 93)}
		},
		"empty data":                    func(m *message.Message) { m.Data = map[string]string{"": ""} },
		"an expiry a millisecond after": func(m *message.Message) { m.ExpiresAt = noon().Add(time.Millisecond) },
		"a refusal asked for":           func(m *message.Message) { m.OnConflict = "refuse" },
		"a shift": func(m *message.Message) {
			m.OnConflict, m.ShiftUntil = "shift", noon() // inclusive
		},
		"a bound of a shift that the policy may make": func(m *message.Message) { m.ShiftUntil = noon() },
		"a bound of now's own shift": func(m *message.Message) {
			m.SendAt, m.Now, m.ShiftUntil = time.Time{}, true, noon()
		},
		"now looks at no send time": func(m *message.Message) {
			m.Now, m.ExpiresAt = true, noon().Add(-time.Hour)
		},
		"ends in the same millisecond": func(m *message.Message) {
			m.SendAt, m.OnConflict, m.ShiftUntil = noon().Add(900), "shift", noon().Add(100)
		},
		"a long campaign": func(m *message.Message) { m.Campaign = strings.Repeat("A", 58) + "z09._-" },
		"the most metadata": func(m *message.Message) {
			m.Metadata = map[string]string{strings.Repeat("k", 64): strings.Repeat("v", 434)}
			for _, key := range []string{"a", "b", "c", "d", "e", "f", "g"} {
				m.Metadata[key] = "v"
			}
		},
		"metadata of any text": func(m *message.Message) { m.Metadata = map[string]string{" ü": "a\x00\n", "empty": ""} },
	} {
		require.NoError(t, valid(edit).Validate(), name)
	}
}

func TestMessageOutOfBounds(t *testing.T) {
	t.Parallel()
	const (
		ids        = "1 to 128 of A-Z a-z 0-9 . _ : -"
		users      = "1 to 256 bytes of UTF-8 without control or invisible characters, and without a space at its ends"
		categories = "1 to 64 of a-z 0-9 _ -"
	)
	for _, row := range []struct {
		edit     func(*message.Message)
		sentence string
	}{
		{
			func(m *message.Message) { m.ID = strings.Repeat("a", 129) },
			`id "` + strings.Repeat("a", 80) + `…" is not allowed: use ` + ids,
		},
		{func(m *message.Message) { m.ID = "a b" }, `id "a b" is not allowed: use ` + ids},
		{func(m *message.Message) { m.ID = "a/b" }, `id "a/b" is not allowed: use ` + ids},
		{func(m *message.Message) { m.ID = "ä" }, `id "ä" is not allowed: use ` + ids},
		{func(m *message.Message) { m.ID = "a\n" }, `id "a\n" is not allowed: use ` + ids},
		{func(m *message.Message) { m.User = "" }, `user "" is not allowed: use ` + users},
		{
			func(m *message.Message) { m.User = strings.Repeat("ü", 128) + "a" }, // 257 bytes
			`user "` + strings.Repeat("ü", 40) + `…" is not allowed: use ` + users,
		},
		{func(m *message.Message) { m.User = "a\x00b" }, `user "a\x00b" is not allowed: use ` + users},
		{func(m *message.Message) { m.User = "a\u0085" }, `user "a\u0085" is not allowed: use ` + users + "; it has U+0085"},
		{func(m *message.Message) { m.User = "a\xff" }, `user "a\xff" is not allowed: use ` + users},
		{
			func(m *message.Message) { m.SendAt = time.Time{} },
			`send_at is required: an RFC 3339 time such as 2040-06-22T11:11:11Z, or now`,
		},
		{
			func(m *message.Message) { m.Category = strings.Repeat("a", 65) },
			`category "` + strings.Repeat("a", 65) + `" is not allowed: use ` + categories,
		},
		{func(m *message.Message) { m.Category = "News" }, `category "News" is not allowed: use ` + categories},
		{func(m *message.Message) { m.Category = "a.b" }, `category "a.b" is not allowed: use ` + categories},
		{
			func(m *message.Message) { m.Title = "" },
			`title or body is required: a message has at least one of them`,
		},
		{
			func(m *message.Message) { m.Title, m.Data = "", map[string]string{"only": "data"} },
			`title or body is required: a message has at least one of them`,
		},
		{func(m *message.Message) { m.Title = "a\xff" }, `title is not valid UTF-8`},
		{func(m *message.Message) { m.Body = "a\xff" }, `body is not valid UTF-8`},
		{
			func(m *message.Message) { m.Data = map[string]string{"key": "a\xff"} },
			`data "key" is not valid UTF-8`,
		},
		{
			func(m *message.Message) { m.Data = map[string]string{"k\xff": "a"} },
			`data "k�" is not valid UTF-8`,
		},
		{ // the title has 7
			func(m *message.Message) { m.Body = strings.Repeat("b", 4090) },
			`title, body and data are 4097 bytes together: the limit is 4096`,
		},
		{ // names in data count as well
			func(m *message.Message) { m.Data = map[string]string{strings.Repeat("k", 4090): ""} },
			`title, body and data are 4097 bytes together: the limit is 4096`,
		},
		{
			func(m *message.Message) { m.Campaign = strings.Repeat("a", 65) },
			`campaign "` + strings.Repeat("a", 65) + `" is not allowed: use 1 to 64 of a-z A-Z 0-9 . _ -`,
		},
		{
			func(m *message.Message) { m.Campaign = "a/b" },
			`campaign "a/b" is not allowed: use 1 to 64 of a-z A-Z 0-9 . _ -`,
		},
		{
			func(m *message.Message) {
				m.Metadata = map[string]string{"a": "", "b": "", "c": "", "d": "", "e": "", "f": "", "g": "", "h": "", "i": ""}
			},
			`metadata has 9 entries: the limit is 8`,
		},
		{
			func(m *message.Message) {
				m.Metadata = map[string]string{strings.Repeat("k", 64): strings.Repeat("v", 449)}
			},
			`the keys and values of metadata are 513 bytes together: the limit is 512`,
		},
		{
			func(m *message.Message) { m.Metadata = map[string]string{"": "a"} },
			`metadata has the key "": a key is 1 to 64 bytes of UTF-8 without control characters`,
		},
		{
			func(m *message.Message) { m.Metadata = map[string]string{strings.Repeat("k", 65): "a"} },
			`metadata has the key "` + strings.Repeat("k", 65) + `": a key is 1 to 64 bytes of UTF-8 without control characters`,
		},
		{
			func(m *message.Message) { m.Metadata = map[string]string{"a\nb": ""} },
			`metadata has the key "a\nb": a key is 1 to 64 bytes of UTF-8 without control characters`,
		},
		{func(m *message.Message) { m.Metadata = map[string]string{"key": "a\xff"} }, `metadata "key" is not valid UTF-8`},
		{
			func(m *message.Message) { m.OnConflict = "Shift" },
			`on_conflict "Shift" is not allowed: use refuse or shift`,
		},
		{
			func(m *message.Message) { m.OnConflict, m.ShiftUntil = "refuse", noon().Add(time.Hour) },
			`shift_until needs on_conflict shift: on_conflict is refuse`,
		},
		{ // whatever the user's policy says
			func(m *message.Message) { m.ShiftUntil = noon().Add(-time.Millisecond) },
			`shift_until, 2026-11-22T11:59:59.999Z, is before send_at`,
		},
		{
			func(m *message.Message) { m.Now, m.OnConflict, m.ShiftUntil = true, "refuse", noon() },
			`shift_until needs on_conflict shift: on_conflict is refuse`,
		},
		{
			func(m *message.Message) { m.OnConflict, m.ShiftUntil = "shift", noon().Add(-time.Millisecond) },
			`shift_until, 2026-11-22T11:59:59.999Z, is before send_at`,
		},
		{
			func(m *message.Message) { m.ExpiresAt = noon() },
			`expires_at, 2026-11-22T12:00:00Z, is not after send_at`,
		},
		{ // what is finer than a millisecond is cut off, so this is the same time
			func(m *message.Message) { m.ExpiresAt = noon().Add(999 * time.Microsecond) },
			`expires_at, 2026-11-22T12:00:00.000999Z, is not after send_at`,
		},
		{
			func(m *message.Message) { m.ExpiresAt = noon().In(time.FixedZone("", 3600)).Add(-time.Hour) },
			`expires_at, 2026-11-22T11:00:00Z, is not after send_at`,
		},
	} {
		refuses(t, valid(row.edit).Validate(), row.sentence)
	}
}

// A name by itself, as usage and next-free take it, is judged as that of a message.
func TestCheckCategory(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "n", "az09_-", strings.Repeat("a", 64), "unknown-to-the-rules"} {
		require.NoError(t, message.CheckCategory(name), name)
	}
	for _, name := range []string{"News", "a.b", "a b", " a", "ä", "a\xff", strings.Repeat("a", 65)} {
		refuses(t, message.CheckCategory(name), fmt.Sprintf("category %q is not allowed: use 1 to 64 of a-z 0-9 _ -", name))
		err := valid(func(m *message.Message) { m.Category = name }).Validate()
		require.Equal(t, message.CheckCategory(name), err)
	}
}

// The first field in the contract's order is named, and always the same one.
func TestMessageWithSeveralFaults(t *testing.T) {
	t.Parallel()
	m := message.Message{ID: "a b", SendAt: noon(), Title: "\xff", Body: "\xff", Category: "!", ExpiresAt: noon()}
	for _, field := range []struct {
		name string
		mend func()
	}{
		{"id", func() { m.ID = "" }},
		{"user", func() { m.User = "alice" }},
		{"category", func() { m.Category = "" }},
		{"title", func() { m.Title = "" }},
		{"body", func() { m.Body = "b" }},
		{"expires_at", func() { m.ExpiresAt = time.Time{} }},
	} {
		for range 10 {
			var invalid *fault.InvalidError
			require.ErrorAs(t, m.Validate(), &invalid)
			require.Equal(t, field.name, invalid.Field)
		}
		field.mend()
	}
	require.NoError(t, m.Validate())
}

func TestCount(t *testing.T) {
	t.Parallel()
	require.Equal(t, "1 line", message.Count(1, "line"))
	require.Equal(t, "0 lines", message.Count(0, "line"))
	require.Equal(t, "2 marketing messages", message.Count(2, "marketing message"))
}

func TestThereAre(t *testing.T) {
	t.Parallel()
	require.Equal(t, "there are none", message.ThereAre("vip", nil))
	require.Equal(t, "there are default, vips", message.ThereAre("vip", []string{"vips", "default"}))
	many := []string{"vips", "default", "vi"}
	for i := range 3000 {
		many = append(many, fmt.Sprintf("tenant-%04d", i))
	}
	require.Equal(t, "the nearest of 3003 are vi, vips, default", message.ThereAre("vip", many))
}

func TestMaskedAddresses(t *testing.T) {
	t.Parallel()
	for address, masked := range map[string]string{
		strings.Repeat("x", 26) + "123456": "…123456",
		strings.Repeat("x", 25) + "123456": "…",
		"":                                 "…",
		`{"endpoint":"https://push.example.net/secret"}`:  "https://push.example.net/…",
		`{"endpoint":"/` + strings.Repeat("s", 40) + `"}`: "…" + `ssss"}`,
	} {
		require.Equal(t, masked, message.MaskAddress(address))
	}
}

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
