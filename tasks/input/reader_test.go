package input_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/input"
)

const at = "2026-11-22T11:11:11Z"

// read reads a whole file, and writes each record as its number, user and
// title, or what is wrong with it.
func read(t *testing.T, file io.Reader, format input.Format, filledIn ...string) []string {
	t.Helper()
	r, err := input.NewReader(file, input.Options{Format: format, FilledIn: filledIn, AllowEmpty: true})
	require.NoError(t, err)
	var all []string
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		text := fmt.Sprintf("%d %s %q", record.Line, record.Draft.User, record.Draft.Title)
		if record.Invalid != nil {
			require.Zero(t, record.Draft)
			var wrong *fault.InvalidError
			require.ErrorAs(t, record.Invalid, &wrong)
			text = fmt.Sprintf("%d: %v", record.Line, record.Invalid)
		}
		all = append(all, text)
	}
}

func readText(t *testing.T, text string) []string {
	t.Helper()
	// As a pipe gives it: in pieces of any size.
	return read(t, iotest.OneByteReader(strings.NewReader(text)), input.Auto)
}

func object(user, title string) string {
	return fmt.Sprintf(`{"user":%q,"send_at":%q,"title":%q}`, user, at, title)
}

func TestNDJSON(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{`1 a "x"`, `2 b "y"`, `5 c "z"`},
		readText(t, object("a", "x")+"\n"+object("b", "y")+"\r\n\r\n   \n"+object("c", "z")),
		"empty lines are counted and skipped, the last line needs no end")
	require.Equal(t, []string{`2 a "x"`}, readText(t, "\xef\xbb\xbf\n "+object("a", "x")+" \n"))
	require.Empty(t, readText(t, ""))
	require.Empty(t, readText(t, "\xef\xbb\xbf\r\n\n"))
}

func TestABadLineSpoilsNoOther(t *testing.T) {
	t.Parallel()
	huge := `{"user":"` + strings.Repeat("u", 3*input.MaxLine) + `"}`
	got := readText(t, strings.Join([]string{
		object("a", "x"),
		`{"user"}`,
		object("b", "y"),
		huge,
		`["a"]`,
		`{"user":"e","when":"now"}`, // Draft.Message says what is wrong with fields
		`{"user":"f","data":{"k":1}}`,
		object("a", "x") + object("a", "x"),
		"{\"user\":\"\xff\"}",
		object("c", "z"),
		`{"user":"d","send_at":"2026-1`,
	}, "\n"))
	for i, want := range []string{
		`1 a "x"`,
		`2: invalid JSON at byte 8: `,
		`3 b "y"`,
		`4: the line is too long: it has at most 65536 bytes`,
		`5: the message is a JSON array: `,
		`6 e ""`,
		`7 f ""`,
		`8: invalid JSON at byte 58: `,
		`9: user is not valid UTF-8 at byte 10`,
		`10 c "z"`,
		`11: invalid JSON at byte 30: the text ends too early; the file ends within this line`,
	} {
		require.Contains(t, got[i], want)
	}
	require.Len(t, got, 11)
	require.Contains(t, got[10], "; the file ends within this line, as if the rest of it were missing")
}

func TestALineOfTheLargestSizeIsRead(t *testing.T) {
	t.Parallel()
	fits := object("a", "")
	fits = object("a", strings.Repeat("x", input.MaxLine-len(fits)))
	for _, end := range []string{"", "\n", "\r\n"} {
		got := readText(t, fits+end)
		require.Len(t, got, 1)
		require.True(t, strings.HasPrefix(got[0], `1 a "xxx`))
		over := strings.Replace(fits, "xxx", "xxxx", 1)
		require.Equal(t, []string{`1: the line is too long: it has at most 65536 bytes`},
			readText(t, over+end))
	}
}

// A gzipped text is not unzipped here, so that a small body can't cost much.
func TestAGzippedTextIsRefused(t *testing.T) {
	t.Parallel()
	_, err := input.NewReader(strings.NewReader("\x1f\x8b\x08text"), input.Options{Format: input.NDJSON})
	require.ErrorContains(t, err, "the text is gzipped: unzip it first")
}

func TestAByteOrderMarkIsSkipped(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{`2 a "x"`}, readText(t, "\xef\xbb\xbfuser,send_at,title\na,"+at+",x\n"))
}

func TestAFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	_, err := input.NewReader(iotest.ErrReader(broken), input.Options{})
	require.ErrorIs(t, err, broken)
	r, err := input.NewReader(io.MultiReader(strings.NewReader(object("a", "x")+"\n{"), iotest.ErrReader(broken)), input.Options{})
	require.NoError(t, err)
	_, err = r.Next()
	require.NoError(t, err)
	_, err = r.Next()
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "reading line 2: ")
}

func TestTheFormat(t *testing.T) {
	t.Parallel()
	_, err := input.NewReader(strings.NewReader("[\n"+object("a", "x")+"]"), input.Options{})
	require.ErrorContains(t, err, "jq -c '.[]'")
	for _, f := range []input.Format{input.Auto, input.NDJSON, input.CSV} {
		got, err := input.ParseFormat(string(f))
		require.NoError(t, err)
		require.Equal(t, f, got)
		require.Empty(t, read(t, strings.NewReader(""), f))
	}
	_, err = input.ParseFormat("xml")
	require.EqualError(t, err, `format "xml" is not allowed: use auto, ndjson or csv`)
	// Where the format is given, the content is not asked.
	require.Len(t, read(t, strings.NewReader("user,send_at,title\n"), input.NDJSON), 1)
	_, err = input.NewReader(strings.NewReader(object("a", "x")), input.Options{Format: input.CSV})
	require.ErrorContains(t, err, `invalid CSV at column 2: bare " in non-quoted-field; `)
}

func TestTheFieldsOfBothFormatsAreTheSame(t *testing.T) {
	t.Parallel()
	want := message.Draft{
		ID: "i", User: "u", SendAt: message.When{Text: at},
		Window:   &message.WindowDraft{From: message.When{Text: "now"}, Until: message.When{Text: "2040-01-02 03:05", Zone: "user"}, Prefer: "nearest"},
		Category: "c", Title: "t", Body: "b\nb", Data: map[string]string{"k": "v", "l.m": "w"},
		PushContent: message.PushContent{
			Image: "https://a", ClickURL: "a:b", Badge: new(3), Sound: "d", Priority: "high", CollapseKey: "k",
			Channels: map[string]json.RawMessage{"fcm": []byte(`{"a":1}`)}, To: &message.Target{Channel: "fcm", App: "p", Device: "q"},
		},
		Campaign: "n", Metadata: map[string]string{"k": "x"},
		ExpiresAt: message.When{Text: "e"}, OnConflict: "shift", Late: "l", ShiftUntil: message.When{Text: "2040-01-02 03:04", Zone: "user"}, ClockStrict: true, FollowZone: true,
	}
	for _, text := range []string{
		"id,user,send_at,category,title,body,data.k,expires_at,on_conflict,late,shift_until,data.l.m,data.empty,campaign,metadata.k," +
			"image,click_url,badge,sound,priority,collapse_key,channels,to.channel,to.app,to.device,clock_strict,follow_zone,Time Zone,window.from,window.until,Window.prefer\n" +
			"i,u," + at + ",c,t,\"b\r\nb\",v,e,shift,l,2040-01-02 03:04,w,,n,x,https://a,a:b,3,d,high,k,\"{\"\"fcm\"\":{\"\"a\"\":1}}\",fcm,p,q,true,true,user,now,2040-01-02 03:05,nearest\n",
		`{"id":"i","user":"u","send_at":"` + at + `","window":{"from":"now","until":{"local":"2040-01-02 03:05"},"prefer":"nearest"},"category":"c","title":"t","body":"b\nb","data":{"k":"v","l.m":"w"},"campaign":"n","metadata":{"k":"x"},` +
			`"expires_at":"e","on_conflict":"shift","late":"l","shift_until":{"local":"2040-01-02 03:04"},"clock_strict":true,"follow_zone":true,` +
			`"image":"https://a","click_url":"a:b","badge":3,"sound":"d","priority":"high","collapse_key":"k","channels":{"fcm":{"a":1}},` +
			`"to":{"channel":"fcm","app":"p","device":"q"}}`,
	} {
		r, err := input.NewReader(strings.NewReader(text), input.Options{})
		require.NoError(t, err)
		record, err := r.Next()
		require.NoError(t, err)
		require.Equal(t, want, record.Draft)
	}
	require.Len(t, message.DraftFields(), 24, "a new field wants a column")
}

// rowsOf returns the rows of a file with columns a and b, of which a is required.
func rowsOf(t *testing.T, text string, format input.Format) []input.Row {
	t.Helper()
	rows, err := input.NewRows(strings.NewReader(text), input.Options{Format: format, AllowEmpty: true}, []string{"a", "b"}, []string{"a"})
	require.NoError(t, err)
	var all []input.Row
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		if row.JSON != nil {
			row.JSON = []byte(string(row.JSON)) // valid until the next
		}
		all = append(all, row)
	}
}

func TestRows(t *testing.T) {
	t.Parallel()
	require.Empty(t, rowsOf(t, "", input.Auto))
	require.Equal(t, []input.Row{
		{Line: 2, Fields: map[string]string{"a": "1", "b": "x\ny"}}, {Line: 5, Fields: map[string]string{"a": "2"}},
	}, rowsOf(t, "\ufeffb,a\n\"x\ny\",1\n\n,2\n", input.Auto))
	require.Equal(t, []input.Row{{Line: 1, JSON: []byte(`{"a":1}`)}, {Line: 3, JSON: []byte(`no JSON`)}},
		rowsOf(t, "{\"a\":1}\n\nno JSON\n", input.Auto))
	require.Equal(t, []input.Row{{Line: 1, JSON: []byte(`a,b`)}}, rowsOf(t, "a,b", input.NDJSON))
}

// A line without fields says why, and those behind it are read.
func TestRowsThatAreInvalid(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", input.MaxLine+1)
	for text, says := range map[string]string{
		"1\n":        "the line has 1 field, and the header has 2 columns",
		"1,\"2\n":    `a quote is never closed: a quote within a field is written ""`,
		long + ",\n": "the line is too long: it has at most 65536 bytes",
		"1,2\"3\"\n": `invalid CSV at column 4: bare " in non-quoted-field; quote the whole field, and write "" for a quote within it`,
	} {
		rows := rowsOf(t, "a,b\n"+text+"3,4\n", input.CSV)
		require.Len(t, rows, 2)
		require.EqualError(t, rows[0].Invalid, says)
		require.Equal(t, input.Row{Line: 3, Fields: map[string]string{"a": "3", "b": "4"}}, rows[1])
	}
	for text, says := range map[string]string{
		"b\n":       "the header has no column a: it is b",
		"a,c\n":     `unknown column "c" in the header: there are a, b (without a header, write a JSON object a line)`,
		"a,a\n":     "the header has the column a twice",
		"[1]\n":     "the file is a JSON array: write a JSON object a line, without brackets around and commas between them (jq -c '.[]' does that), or CSV with a header",
		"\x1f\x8b":  "the text is gzipped: unzip it first",
		long + "\n": "the line is too long: it has at most 65536 bytes",
		"a,\"b\n":   `invalid CSV at column 5: extraneous or missing " in quoted-field; quote the whole field, and write "" for a quote within it`,
	} {
		_, err := input.NewRows(strings.NewReader(text), input.Options{}, []string{"a", "b"}, []string{"a"})
		require.EqualError(t, err, says)
	}
}
