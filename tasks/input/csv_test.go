package input_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/tasks/input"
)

func csvFile(lines ...string) string {
	return "user,send_at,title\n" + strings.Join(lines, "\n")
}

func TestCSV(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{`2 a "x"`, `3 b "one, \"two\"\n\nthree"`, `7 c ""`, `8 d "z"`},
		readText(t, "\xef\xbb\xbf"+strings.ReplaceAll(csvFile(
			`a,`+at+`,x`, `b,`+at+`,"one, ""two""`, ``, `three"`, ``, `c,`+at+`,`, `"d",`+at+`,z`,
		), "\n", "\r\n")),
		"a quoted field goes over lines, empty ones included; empty lines between records are skipped")
}

func TestABadRecordSpoilsNoOther(t *testing.T) {
	t.Parallel()
	require.Equal(
		t, []string{
			`2 a "x"`,
			`3: the line has 2 fields, and the header has 3 columns`,
			`4: the line has 4 fields, and the header has 3 columns`,
			`5 b "y"`,
			`6: a quote is never closed: a quote within a field is written ""`, // what it swallowed is read again
			`7 c "z"`,
			`8 d "5\""`,
			`9: invalid CSV at column 25: bare " in non-quoted-field; quote the whole field, and write "" for a quote within it`,
			`10: the line is too long: it has at most 65536 bytes`,
			`11: a quote is never closed: a quote within a field is written ""; the file ends within this line, as if the rest of it were missing`,
			`12 e "x"`,
			`13: the line has 2 fields, and the header has 3 columns; the file ends within this line, as if the rest of it were missing`,
		},
		readText(t, csvFile(
			`a,`+at+`,x`,
			`a,`+at,
			`a,`+at+`,x,y`,
			`b,`+at+`,y`,
			`c,`+at+`,"z`,
			`c,`+at+`,z`,
			`d,`+at+`,"5"""`,
			`d,`+at+`,5""`,
			`d,`+at+`,`+strings.Repeat("z", input.MaxLine),
			`e,`+at+`,"x`,
			`e,`+at+`,x`,
			`f,2026`,
		)))
}

func TestAnOpenQuoteIsBounded(t *testing.T) {
	t.Parallel()
	lines := []string{`a,` + at + `,"never closed`}
	for range 3000 {
		lines = append(lines, `b,`+at+`,"a longer title than that"`)
	}
	got := readText(t, csvFile(lines...))
	require.Len(t, got, 3001)
	require.Contains(t, got[0], "2: a quote is never closed: ")
	require.NotContains(t, got[0], "the file ends")
	require.Equal(t, `3 b "a longer title than that"`, got[1])
	require.Equal(t, `3002 b "a longer title than that"`, got[3000])

	// A line that is too long ends the search as well.
	got = readText(t, csvFile(`a,`+at+`,"open`, strings.Repeat("x", 2*input.MaxLine), `b,`+at+`,y`))
	require.Len(t, got, 3)
	require.Contains(t, got[1], "3: the line is too long: ")
	require.Equal(t, `4 b "y"`, got[2])
}

func TestTheHeaderIsCheckedBeforeAnythingIsDone(t *testing.T) {
	t.Parallel()
	const columns = `in the header: there are id, user, send_at, window.from, window.until, window.prefer, category, title, body, image, click_url, badge, sound, priority, collapse_key, channels, to.channel, to.app, to.device, campaign, expires_at, on_conflict, late, shift_until, follow_zone, clock_strict, time_zone,` +
		` data.KEY and metadata.KEY (without a header, write a JSON object a line)`
	for _, row := range []struct{ header, want string }{
		{"user,title", `the header has no column send_at: it is user,title`},
		{"id,send_at,body", `the header has no column user: it is id,send_at,body`},
		{"user,send_at", `the header has no column title or body,` +
			` and neither --title nor --body is given for all lines: it is user,send_at`},
		{"user,send_at,titel", `unknown column "titel" ` + columns},
		{"alice," + at + ",hi", `unknown column "alice" ` + columns},
		{"user,send_at,title,data", `unknown column "data" ` + columns},
		{"user,send_at,title,metadata", `unknown column "metadata" ` + columns},
		{"user,send_at,title,metadata.", `unknown column "metadata." ` + columns},
		{"user,send_at,title,data.", `unknown column "data." ` + columns},
		{"user,send_at,title,\xff", `unknown column "�" ` + columns},
		{"user,send_at,title,User", `the header has the column user twice`},
		{"user,send_at,title,", `unknown column "" ` + columns},
		{`"user,send_at,title`, `invalid CSV at column 20: extraneous or missing " in quoted-field;` +
			` quote the whole field, and write "" for a quote within it`},
		{strings.Repeat("u", 2*input.MaxLine), `the line is too long: it has at most 65536 bytes`},
	} {
		_, err := input.NewReader(strings.NewReader(row.header+"\n"), input.Options{})
		require.EqualError(t, err, row.want)
	}
	require.Equal(t, []string{`2 a ""`}, read(t, strings.NewReader("user,send_at\na,now"), input.Auto, "title"))
}

// messages reads a file, and returns each message or its error.
func messages(t *testing.T, file string) (all []message.Message, wrong []string) {
	t.Helper()
	r, err := input.NewReader(strings.NewReader(file), input.Options{})
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
	const badge = " is not allowed: use a whole number from 0 to 2147483647"
	require.Equal(t, []string{
		`badge "many"` + badge,
		`badge "-1"` + badge,
		`channels "[]" is not allowed: use a JSON object`,
		`invalid JSON at byte 7: the text ends too early`,
		`fcm is given twice, the second time at byte 11`,
		`badge "many"` + badge + `; invalid JSON at byte 2: the text ends too early; image "http://a" is not allowed: use an https URL` +
			` of at most 2048 bytes; to.channel "sms" is not allowed: use fcm, apns, webpush, webhook, log, service`,
	}, wrong)
}
