package input_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
	const fields = `it takes 3, one for each column of the header`
	const quotes = `it takes a field with quotes in it as a whole in quotes, and each quote within it written ""`
	require.Equal(
		t, []string{
			`2 a "x"`,
			`3: message "2 fields" is not allowed: ` + fields,
			`4: message "4 fields" is not allowed: ` + fields,
			`5 b "y"`,
			`6: message "a quote that is never closed" is not allowed: it takes fields in pairs of quotes, ` +
				`a quote within them written ""`, // what it swallowed is read again
			`7 c "z"`,
			`8 d "5\""`,
			`9: message "column 25: bare \" in non-quoted-field" is not allowed: ` + quotes,
			`10: message "a longer line" is not allowed: it takes a line of at most 65536 bytes`,
			`11: message "a quote that is never closed" is not allowed: it takes fields in pairs of quotes, ` +
				`a quote within them written ""; the file ends within this line, as if the rest of it were missing`,
			`12 e "x"`,
			`13: message "2 fields" is not allowed: ` + fields + `; the file ends within this line, as if the rest of it were missing`,
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
	require.Contains(t, got[0], "2: message \"a quote that is never closed\"")
	require.NotContains(t, got[0], "the file ends")
	require.Equal(t, `3 b "a longer title than that"`, got[1])
	require.Equal(t, `3002 b "a longer title than that"`, got[3000])

	// A line that is too long ends the search as well.
	got = readText(t, csvFile(`a,`+at+`,"open`, strings.Repeat("x", 2*input.MaxLine), `b,`+at+`,y`))
	require.Len(t, got, 3)
	require.Contains(t, got[1], "3: message \"a longer line\"")
	require.Equal(t, `4 b "y"`, got[2])
}

func TestTheHeaderIsCheckedBeforeAnythingIsDone(t *testing.T) {
	t.Parallel()
	const columns = `it takes the columns id, user, send_at, category, title, body, expires_at, on_conflict, shift_until` +
		` and data.KEY, separated by commas (without a header, write a JSON object a line)`
	for _, row := range []struct{ header, want string }{
		{"user,title", `header "user,title" is not allowed: it takes a column send_at`},
		{"id,send_at,body", `header "id,send_at,body" is not allowed: it takes a column user`},
		{"user,send_at", `header "user,send_at" is not allowed: it takes a column title or body,` +
			` or one of them for all lines by --title or --body`},
		{"user,send_at,titel", `header "titel" is not allowed: ` + columns},
		{"user;send_at;title", `header "user;send_at;title" is not allowed: ` + columns},
		{"alice," + at + ",hi", `header "alice" is not allowed: ` + columns},
		{"user,send_at,title,data", `header "data" is not allowed: ` + columns},
		{"user,send_at,title,data.", `header "data." is not allowed: ` + columns},
		{"user,send_at,title,\xff", `header "�" is not allowed: ` + columns},
		{"User,send_at,title", `header "User" is not allowed: ` + columns},
		{"user,send_at,title,user", `header "user" is not allowed: it takes each column once`},
		{`"user,send_at,title`, `message "column 20: extraneous or missing \" in quoted-field" is not allowed:` +
			` it takes a field with quotes in it as a whole in quotes, and each quote within it written ""`},
		{strings.Repeat("u", 2*input.MaxLine), `message "a longer line" is not allowed: it takes a line of at most 65536 bytes`},
	} {
		_, err := input.NewReader(strings.NewReader(row.header+"\n"), input.Auto)
		require.EqualError(t, err, row.want)
	}
	require.Equal(t, []string{`2 a ""`}, read(t, strings.NewReader("user,send_at\na,now"), input.Auto, "title"))
}
