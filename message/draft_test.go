package message_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// decoded makes a message of JSON, as every surface does.
func decoded(text string) (message.Message, error) {
	draft, err := message.DecodeDraft([]byte(text))
	if err != nil {
		return message.Message{}, err
	}
	m, err := draft.Message(message.ParseTime)
	if err != nil {
		return message.Message{}, err
	}
	return m, m.Validate()
}

func TestDraftWithEveryField(t *testing.T) {
	t.Parallel()
	m, err := decoded(`{
		"id": "order-17", "user": "alice", "send_at": "2026-11-22T12:11:11.1239+01:00", "category": "orders",
		"title": "Shipped", "body": "It is \"on\" its way \ud83d\ude42", "data": {"order": "17", "empty": ""},
		"campaign": "Spring_26.a-b", "metadata": {"source": "shop", "empty": ""},
		"expires_at": "2026-11-23T00:00:00Z", "on_conflict": "shift", "shift_until": "2026-11-22T12:00:00Z"}`)
	require.NoError(t, err)
	require.Equal(t, message.Message{
		ID: "order-17", User: "alice", Category: "orders", Title: "Shipped", Body: `It is "on" its way 🙂`,
		SendAt:    time.Date(2026, time.November, 22, 11, 11, 11, 123e6, time.UTC), // cut, not rounded
		Data:      map[string]string{"order": "17", "empty": ""},
		Campaign:  "Spring_26.a-b",
		Metadata:  map[string]string{"source": "shop", "empty": ""},
		ExpiresAt: time.Date(2026, time.November, 23, 0, 0, 0, 0, time.UTC), OnConflict: "shift",
		ShiftUntil: time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC),
	}, m)
}

func TestDraftWithTheLeast(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"user":"alice","send_at":"now","body":"b"}`,
		`{"id":null,"user":"alice","send_at":"now","title":null,"body":"b","data":null,"expires_at":null}`, // a null is none
		"\t{\"user\":\"alice\", \"send_at\":\"now\",\r\n\"body\":\"b\"}\n",
	} {
		m, err := decoded(text)
		require.NoError(t, err)
		require.Equal(t, message.Message{User: "alice", Now: true, Body: "b"}, m)
	}
}

func TestDraftThatIsNoMessage(t *testing.T) {
	t.Parallel()
	const object = `: it has to be a JSON object`
	for _, row := range []struct{ text, sentence string }{
		{``, `invalid JSON at byte 1: the text ends too early`},
		{`{"user" "alice"}`, `invalid JSON at byte 9: invalid character '"' after object name (expecting ':')`},
		{`user=alice`, `invalid JSON at byte 1: invalid character 'u' at start of value`},
		{`[{}]`, `the message is a JSON array` + object},
		{`"alice"`, `the message is a JSON string` + object},
		{`null`, `the message is null` + object},
		{"{\"user\":\"a\xff\"}", `user is not valid UTF-8 at byte 11`},
		{`{"user":"bob\ud800"}`, `user has half of a surrogate pair, \ud800, at byte 13: it is no character`},
		{`{"user":"a","user":"b"}`, `user is given twice, the second time at byte 13`},
		{`{"user":7}`, `user is a JSON number: it has to be a text`},
		{`{"id":{}}`, `id is a JSON object: it has to be a text`},
		{`{"title":["a"]}`, `title is a JSON array: it has to be a text`},
		{`{"send_at":1763809871}`, `send_at is a JSON number: it has to be a text, or an object such as {"local": "2040-06-22T11:11", "zone": "user"}`},
		{`{"expires_at":true}`, `expires_at is a JSON bool: it has to be a text, or an object such as {"local": "2040-06-22T11:11", "zone": "user"}`},
		{`{"data":"a"}`, `data is a JSON string: it has to be an object of texts`},
		{`{"data":{"a":1}}`, `data.a is a JSON number: it has to be a text`},
		{`{"data":{"a":{"b":"c"}}}`, `data.a is a JSON object: it has to be a text`},
		{`{"data":{"a":null}}`, `data.a is null: it has to be a text`},
		{`{"colour":"red"}`, unknownField("colour")},
		{`{"User":"alice"}`, unknownField("User")},
		{`{"zeal":1,"at":2}`, unknownField("at")},
		{`{}`, `send_at is required: an RFC 3339 time such as 2040-06-22T11:11:11Z, or now`},
		{`{"send_at":"now","title":"a"}`, `user "" is not allowed: use 1 to 256 bytes of UTF-8 without control or invisible characters, and without a space at its ends`},
		{
			`{"user":"a\u0000","send_at":"now","title":"a"}`,
			`user "a\x00" is not allowed: use 1 to 256 bytes of UTF-8 without control or invisible characters, and without a space at its ends`,
		},
	} {
		_, err := decoded(row.text)
		refusesFirst(t, err, row.sentence)
	}
}

// unknownField returns the error for a field that no message has.
func unknownField(field string) string {
	return fmt.Sprintf("unknown field %q: %s", field, message.ThereAre(field, message.DraftFields()))
}

// Unknown fields and those of another type come first, by name, then what the others may
// not be. Nothing is said about a field twice, nor about one that could not be read.
func TestADraftNamesAllThatIsWrong(t *testing.T) {
	t.Parallel()
	const (
		rfc3339 = " is not allowed: use an RFC 3339 time such as 2040-06-22T11:11:11Z"
		noText  = "title or body is required: a message has at least one of them"
		noUser  = `user "" is not allowed: use 1 to 256 bytes of UTF-8 without control or invisible characters, and without a space at its ends`
		noID    = `id "" is not allowed: use 1 to 128 of A-Z a-z 0-9 . _ : -`
		noTime  = "send_at is required: an RFC 3339 time such as 2040-06-22T11:11:11Z, or now"
	)
	for text, want := range map[string][]string{
		`{}`: {noTime, noUser, noText},
		`{"zeal":1,"user":7,"at":2,"send_at":"tomorrow","id":"a b"}`: {
			unknownField("at"), "user is a JSON number: it has to be a text", unknownField("zeal"), `send_at "tomorrow"` + rfc3339,
			`id "a b" is not allowed: use 1 to 128 of A-Z a-z 0-9 . _ : -`, noText,
		},
		`{"id":"","user":"a","send_at":[],"body":1,"data":{"k":null,"l":2,"m":"n"}}`: {
			"body is a JSON number: it has to be a text", "data.k is null: it has to be a text", "data.l is a JSON number: it has to be a text",
			`send_at is a JSON array: it has to be a text, or an object such as {"local": "2040-06-22T11:11", "zone": "user"}`, noID,
		},
		`{"User":"a","send_at":"2026-11-22T11:11:11Z","title":"a","expires_at":"x","shift_until":"now","on_conflict":"drop","category":"A"}`: {
			unknownField("User"), `expires_at "x"` + rfc3339, `shift_until "now"` + rfc3339, noUser,
			`category "A" is not allowed: use 1 to 64 of a-z 0-9 _ -`, `on_conflict "drop" is not allowed: use refuse or shift`,
		},
		`{"user":"a","send_at":"2026-11-22T11:11:11Z","title":"a","expires_at":"2026-11-22T11:11:11Z","shift_until":"2026-11-22T11:11:10Z"}`: {
			"shift_until, 2026-11-22T11:11:10Z, is before send_at", "expires_at, 2026-11-22T11:11:11Z, is not after send_at",
		},
	} {
		_, err := decoded(text)
		require.EqualError(t, err, strings.Join(want, "; "), text)
	}
}

// What is private stays out of the sentences.
func TestFaultsQuoteNoContent(t *testing.T) {
	t.Parallel()
	_, err := decoded(`{"user":"a","send_at":"now","foo":"s3cret","title":["s3cret"],"body":{"s":"s3cret"},"data":{"k":["s3cret"],"l":"` +
		strings.Repeat("s3cret", 1000) + `"}}`)
	require.ErrorContains(t, err, "body is a JSON object")
	require.NotContains(t, err.Error(), "s3cret")
}

// Another system's message may lack a text, also beside other faults.
func TestSentDrafts(t *testing.T) {
	t.Parallel()
	draft, err := message.DecodeDraft([]byte(`{"user":"","send_at":"2026-11-22T11:11:11Z","foo":1}`))
	require.NoError(t, err)
	_, err = draft.Sent(message.ParseTime)
	require.ErrorContains(t, err, `unknown field "foo"`)
	require.ErrorContains(t, err, `user ""`)
	require.NotContains(t, err.Error(), "title or body")
}

func BenchmarkDecodeDraft(b *testing.B) {
	for name, text := range map[string]string{
		"good":    `{"id":"order-17","user":"alice","send_at":"2026-11-22T12:11:11Z","title":"Shipped","body":"On its way","data":{"order":"17"}}`,
		"refused": `{"id":"order-17","user":"alice","send_at":"2026-11-22T12:11:11Z","titel":"Shipped","body":"On its way","data":{"order":17}}`,
		"hostile": `{"user":"a"` + manyFields(6000) + `}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = decoded(text)
			}
		})
	}
}

func manyFields(n int) string {
	var fields strings.Builder
	for i := range n {
		fmt.Fprintf(&fields, `,"%x":0`, i)
	}
	return fields.String()
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Time{
		"2026-11-22T11:11:11Z":            time.Date(2026, time.November, 22, 11, 11, 11, 0, time.UTC),
		"2026-11-22T11:11:11.5Z":          time.Date(2026, time.November, 22, 11, 11, 11, 500e6, time.UTC),
		"2026-11-22T11:11:11.999999999Z":  time.Date(2026, time.November, 22, 11, 11, 11, 999e6, time.UTC),
		"2026-11-22T23:59:59.0009-23:59":  time.Date(2026, time.November, 23, 23, 58, 59, 0, time.UTC),
		"2028-02-29T00:00:00+05:45":       time.Date(2028, time.February, 28, 18, 15, 0, 0, time.UTC),
		"1969-12-31T23:59:59.9999+00:00":  time.Date(1969, time.December, 31, 23, 59, 59, 999e6, time.UTC),
		"9999-12-31T23:59:59.9990-00:00":  time.Date(9999, time.December, 31, 23, 59, 59, 999e6, time.UTC),
		"0001-01-01T00:00:00.00100+00:00": time.Date(1, time.January, 1, 0, 0, 0, 1e6, time.UTC),
	} {
		at, now, err := message.ParseTime(text)
		require.NoError(t, err, text)
		require.False(t, now)
		require.Equal(t, want, at, text)
	}
	at, now, err := message.ParseTime("now")
	require.NoError(t, err)
	require.True(t, now)
	require.Zero(t, at)
}

func TestAnExpiryThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	late := message.Message{User: "alice", Title: "Hi", Now: true, ExpiresAt: time.Date(10000, time.January, 1, 0, 0, 0, 0, time.UTC)}
	require.ErrorContains(t, late.Validate(), "expires_at")
}

// Every field that holds a time says in its own name what is wrong with it.
func TestDraftWithUnreadableTimes(t *testing.T) {
	t.Parallel()
	const such = ` is not allowed: use an RFC 3339 time such as 2040-06-22T11:11:11Z`
	for _, row := range []struct{ text, sentence string }{
		{`{"send_at":"tomorrow"}`, `send_at "tomorrow"` + such},
		{`{"send_at":"now","expires_at":"later"}`, `expires_at "later"` + such},
		{`{"send_at":"now","expires_at":"now"}`, `expires_at "now"` + such},
		{`{"send_at":"now","shift_until":"now"}`, `shift_until "now"` + such},
		{`{"send_at":"now","shift_until":"2026-11-22T11:11:11"}`, `shift_until "2026-11-22T11:11:11" is not allowed: use ` + calendar.WantZone},
	} {
		_, err := decoded(row.text)
		refusesFirst(t, err, row.sentence)
	}

	// A parser of a surface's own says what it takes.
	_, err := message.Draft{SendAt: message.When{Text: "2026-03-29 02:30"}}.Message(func(string) (time.Time, bool, error) {
		return time.Time{}, false, &fault.InvalidError{Field: "tz", Want: "02:00 or 03:00"}
	})
	refusesFirst(t, err, `send_at "2026-03-29 02:30" is not allowed: use 02:00 or 03:00`)
	_, err = message.Draft{SendAt: message.When{Text: "soon"}}.Message(func(string) (time.Time, bool, error) {
		return time.Time{}, false, errors.New("a time of day")
	})
	refusesFirst(t, err, `send_at "soon" is not allowed: use a time of day`)
}

func FuzzDecodeDraft(f *testing.F) {
	f.Add(`{"user":"alice","send_at":"now","title":"a","data":{"b":"c"}}`)
	f.Add(`{"user":"alice","send_at":"2026-11-22T11:11:11.5+01:00","body":"a","on_conflict":"shift"}`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := decoded(text)
		if err != nil {
			var invalid *fault.InvalidError
			require.ErrorAs(t, err, &invalid)
			return
		}
		require.Zero(t, m.SendAt.Nanosecond()%1e6)
	})
}

func TestDecodeMove(t *testing.T) {
	t.Parallel()
	d, err := message.DecodeMove([]byte(`{"send_at":"2026-11-22T12:11:11.0009+01:00"}`))
	require.NoError(t, err)
	patch, err := d.Patch(message.ParseTime)
	require.NoError(t, err)
	at := time.Date(2026, 11, 22, 11, 11, 11, 0, time.UTC)
	require.Equal(t, message.Patch{Move: &message.Move{At: at}}, patch)

	patch, err = message.MoveDraft{SendAt: message.When{Text: "now"}}.Patch(message.ParseTime)
	require.NoError(t, err)
	require.Equal(t, message.Patch{Move: &message.Move{Now: true}}, patch)

	d, err = message.DecodeMove([]byte(`{"send_at":"2026-11-22T11:11:11Z","on_conflict":"shift","shift_until":"2026-11-22T11:11:12Z"}`))
	require.NoError(t, err)
	patch, err = d.Patch(message.ParseTime)
	require.NoError(t, err)
	require.Equal(t, message.Patch{
		Move: &message.Move{At: at, OnConflict: message.OnConflictShift, ShiftUntil: at.Add(time.Second)},
	}, patch)
}

// What is absent stays as it is, and null removes it.
func TestDecodeAnEdit(t *testing.T) {
	t.Parallel()
	empty, hi, at := "", "Hi", time.Date(2026, 11, 22, 11, 11, 11, 0, time.UTC)
	for text, want := range map[string]message.Edit{
		`{"title":"Hi"}`:                             {Title: &hi},
		`{"title":null,"body":"Hi"}`:                 {Title: &empty, Body: &hi},
		`{"title":"","body":null}`:                   {Title: &empty, Body: &empty},
		`{"data":{"a":"Hi","b":null}}`:               {Data: map[string]*string{"a": &hi, "b": nil}},
		`{"data":null,"metadata":null}`:              {ClearData: true, ClearMetadata: true},
		`{"metadata":{"a":null}}`:                    {Metadata: map[string]*string{"a": nil}},
		`{"expires_at":"2026-11-22T12:11:11+01:00"}`: {ExpiresAt: &at},
		`{"expires_at":null}`:                        {ExpiresAt: &time.Time{}},
	} {
		d, err := message.DecodeMove([]byte(text))
		require.NoError(t, err, text)
		patch, err := d.Patch(message.ParseTime)
		require.NoError(t, err, text)
		require.Equal(t, message.Patch{Edit: want}, patch, text)
		require.False(t, want.None(), text)
	}
	d, err := message.DecodeMove([]byte(`{"data":{}}`))
	require.NoError(t, err)
	patch, err := d.Patch(message.ParseTime)
	require.NoError(t, err)
	require.True(t, patch.Edit.None())
	require.Nil(t, patch.Move)
	d, err = message.DecodeMove([]byte(`{"send_at":"now","title":"Hi"}`))
	require.NoError(t, err)
	patch, err = d.Patch(message.ParseTime)
	require.NoError(t, err)
	require.Equal(t, message.Patch{Move: &message.Move{Now: true}, Edit: message.Edit{Title: &hi}}, patch)
}

func TestAnEditOfAMessage(t *testing.T) {
	t.Parallel()
	empty, more := "", "more"
	was, metadata := message.Content{Title: "a", Body: "b", Data: map[string]string{"k": "v", "l": "w"}}, map[string]string{"m": "n"}
	for name, row := range map[string]struct {
		edit     message.Edit
		want     message.Content
		metadata map[string]string
	}{
		"nothing": {message.Edit{}, was, metadata},
		"texts":   {message.Edit{Title: &empty, Body: &more}, message.Content{Body: "more", Data: was.Data}, metadata},
		"entries": {
			message.Edit{Data: map[string]*string{"k": nil, "l": &more, "none": nil}, Metadata: map[string]*string{"x": &empty}},
			message.Content{Title: "a", Body: "b", Data: map[string]string{"l": "more"}},
			map[string]string{"m": "n", "x": ""},
		},
		"all entries": {
			message.Edit{ClearData: true, Data: map[string]*string{"k": &more}, Metadata: map[string]*string{"m": nil}},
			message.Content{Title: "a", Body: "b", Data: map[string]string{"k": "more"}},
			nil,
		},
	} {
		content, kept, err := row.edit.Of(was, metadata)
		require.NoError(t, err, name)
		require.Equal(t, row.want, content, name)
		require.Equal(t, row.metadata, kept, name)
	}
	require.Equal(t, map[string]string{"k": "v", "l": "w"}, was.Data, "it is not changed itself")

	long := strings.Repeat("x", message.MaxContent)
	for field, edit := range map[string]message.Edit{
		"title":    {Title: &empty, Body: &empty},
		"body":     {Data: map[string]*string{"long": &long}},
		"metadata": {Metadata: map[string]*string{"": &more}},
	} {
		_, _, err := edit.Of(was, metadata)
		var invalid *fault.InvalidError
		require.ErrorAs(t, err, &invalid, field)
		require.Equal(t, field, invalid.Field)
	}
}

func TestAMoveNamesAllThatIsWrong(t *testing.T) {
	t.Parallel()
	d, err := message.DecodeMove([]byte(`{"text":"Hi","title":7,"shift_until":7,"send_at":"tomorrow","on_conflict":"drop"}`))
	require.NoError(t, err)
	_, err = d.Patch(message.ParseTime)
	require.EqualError(t, err, `shift_until is a JSON number: it has to be a text, or an object such as {"local": "2040-06-22T11:11", "zone": "user"}; `+
		`unknown field "text": the nearest of 18 are to, body, data; `+
		`title is a JSON number: it has to be a text; `+
		`send_at "tomorrow" is not allowed: use an RFC 3339 time such as 2040-06-22T11:11:11Z; `+
		`on_conflict "drop" is not allowed: use refuse or shift`)
}

func TestMovesThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	for _, wrong := range []struct{ text, field string }{
		{`{}`, "send_at"},
		{`{"send_at":null}`, "send_at"},
		{`{"send_at":""}`, "send_at"},
		{`{"send_at":7}`, "send_at"},
		{`{"send_at":"tomorrow"}`, "send_at"},
		{`{"Send_At":"now"}`, "Send_At"},
		{`{"title":7}`, "title"},
		{`{"data":7}`, "data"},
		{`{"data":{"k":7}}`, "data.k"},
		{`{"expires_at":"now"}`, "expires_at"},
		{`{"title":"Hi","send_at":null}`, "send_at"},
		{`{"title":"Hi","on_conflict":"shift"}`, "send_at"},
		{`{"send_at":"2093-11-22T11:11:12Z","expires_at":"2093-11-22T11:11:12Z"}`, "expires_at"},
		{`{"send_at":"now","on_conflict":"drop"}`, "on_conflict"},
		{`{"send_at":"now","on_conflict":7}`, "on_conflict"},
		{`{"send_at":"now","on_conflict":"shift","shift_until":"tomorrow"}`, "shift_until"},
		{`{"send_at":"now","shift_until":"2093-11-22T11:11:12Z"}`, "shift_until"},
		{`{"send_at":"now","on_conflict":"refuse","shift_until":"2093-11-22T11:11:12Z"}`, "shift_until"},
		{`{"send_at":"2093-11-22T11:11:12Z","on_conflict":"shift","shift_until":"2093-11-22T11:11:11Z"}`, "shift_until"},
		{`null`, "message"},
		{`[]`, "message"},
		{"{\"send_at\":\"\xff\"}", "send_at"},
	} {
		d, err := message.DecodeMove([]byte(wrong.text))
		if err == nil {
			_, err = d.Patch(message.ParseTime)
		}
		var invalid *fault.InvalidError
		require.ErrorAs(t, err, &invalid, wrong.text)
		require.Equal(t, wrong.field, invalid.Field, wrong.text)
	}
}
