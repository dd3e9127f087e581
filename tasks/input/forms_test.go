package input_test

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks/input"
)

// inUTF16 returns a text in UTF-16, of the byte order that low says.
func inUTF16(text string, low bool) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		if low {
			out = append(out, byte(unit), byte(unit>>8))
		} else {
			out = append(out, byte(unit>>8), byte(unit))
		}
	}
	return string(out)
}

// Files are read in the forms in which spreadsheets and other systems write them.
func TestFormsOfCSV(t *testing.T) {
	t.Parallel()
	const plain = "user,send_at,title\na," + at + ",ö\n"
	for what, text := range map[string]string{
		"semicolons":              strings.ReplaceAll(plain, ",", ";"),
		"tabs":                    strings.ReplaceAll(plain, ",", "\t"),
		"pipes":                   strings.ReplaceAll(plain, ",", "|"),
		"sep=":                    "sep=;\n" + strings.ReplaceAll(plain, ",", ";"),
		"quoted names":            `"user","send_at","title"` + "\n\"a\",\"" + at + "\",\"ö\"\n",
		"names for people":        "User , Send At,TITLE\na," + at + ",ö\n",
		"camel case":              "User,sendAt,Title\na," + at + ",ö\n",
		"rows of nothing":         "user,send_at,title\n,,\n \t,,\na," + at + ",ö\n,,,,\n",
		"white space":             "user,send_at,title\n a\t, " + at + " ,ö\n",
		"carriage returns":        strings.ReplaceAll(plain, "\n", "\r"),
		"one at the end only":     "user,send_at,title\r\na," + at + ",ö\r\n",
		"UTF-8 with a mark":       "\ufeff" + plain,
		"UTF-16, low byte first":  inUTF16("\ufeff"+plain, true),
		"UTF-16, high byte first": inUTF16("\ufeff"+plain, false),
		"UTF-16 without a mark":   inUTF16(plain, true),
		"UTF-16, without, high":   inUTF16(plain, false),
	} {
		got := readText(t, text)
		require.Len(t, got, 1, what)
		require.Regexp(t, `^\d a "ö"$`, got[0], what)
	}
	r, err := input.NewReader(strings.NewReader("user,send_at,title\n a\t, "+at+" , ö \nb,"+at+",x\n"), input.Options{})
	require.NoError(t, err)
	record, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, " ö ", record.Draft.Title, "of a text for people it may be meant")
	require.Equal(t, 2, r.Trimmed())
}

// A column has another name, is skipped, or is kept as metadata.
func TestOtherColumns(t *testing.T) {
	t.Parallel()
	const text = "External ID,user,send_at,title,Score\n17,x," + at + ",Hi,7\n"
	from := map[string]string{"user": "external_id"}
	r, err := input.NewReader(strings.NewReader(text), input.Options{Columns: from, Others: input.KeepAsMetadata})
	require.NoError(t, err)
	record, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, "17", record.Draft.User)
	require.Equal(t, map[string]string{"Score": "7", "user": "x"}, record.Draft.Metadata)
	r, err = input.NewReader(strings.NewReader(text), input.Options{Columns: from, Others: input.IgnoreColumns})
	require.NoError(t, err)
	record, err = r.Next()
	require.NoError(t, err)
	require.Equal(t, "17 Hi", record.Draft.User+" "+record.Draft.Title)
	require.Empty(t, record.Draft.Metadata)
	for _, row := range []struct {
		options input.Options
		says    string
	}{
		{input.Options{}, `unknown column "External ID" in the header: `},
		{input.Options{Flags: true}, "; --column FIELD=COLUMN reads a column as a field, and --other-columns ignore or metadata takes the others"},
		{input.Options{Columns: map[string]string{"usr": "External ID"}}, `--column usr=External ID: there is no field "usr"; there are id, user, `},
		{input.Options{Columns: map[string]string{"user": "customer"}}, `--column user=customer: the header has no column "customer": it is External ID,user,send_at,title,Score`},
	} {
		_, err := input.NewReader(strings.NewReader(text), row.options)
		require.ErrorContains(t, err, row.says)
	}
	rows, err := input.NewRows(strings.NewReader("A,c\n1,2\n"), input.Options{Others: input.IgnoreColumns}, []string{"a", "b"}, []string{"a"})
	require.NoError(t, err)
	row, err := rows.Next()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "1"}, row.Fields)
	_, err = input.NewRows(strings.NewReader("a,c\n"), input.Options{Flags: true}, []string{"a", "b"}, []string{"a"})
	require.ErrorContains(t, err, "; --column FIELD=COLUMN reads a column as a field, and --other-columns ignore skips the others")
	_, err = input.NewRows(strings.NewReader("a,c\n"), input.Options{Others: input.KeepAsMetadata}, []string{"a", "b"}, []string{"a"})
	require.ErrorContains(t, err, `other_columns "metadata" is not allowed: use refuse or ignore`)
	for _, entry := range [][]string{{"user"}, {"=x"}, {"user="}, {"user=a", "user=b"}} {
		_, err := input.ParseColumns(entry)
		require.ErrorContains(t, err, "FIELD=COLUMN")
	}
	_, err = input.ParseOtherColumns("drop")
	require.EqualError(t, err, `other_columns "drop" is not allowed: use refuse, ignore or metadata`)
}

// The error names the form of a file without messages.
func TestFormsThatAreNamed(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"PK\x03\x04rest":                   "the file is an Excel workbook or another zip archive: save it as CSV (UTF-8), or unpack it",
		"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "the file is an Excel workbook: save it as CSV (UTF-8)",
		"%PDF-1.7\n":                       "the file is a PDF: export CSV, or a JSON object a line",
		"<!DOCTYPE html>\n":                "the file is HTML or XML: export CSV, or a JSON object a line",
		"\ufeff <?xml version=\"1.0\"?>":   "the file is HTML or XML: export CSV, or a JSON object a line",
		"{\n  \"user\": \"a\"\n}\n":        "the file has a JSON object over several lines: write each object on one line (jq -c . does that)",
		`{"messages":[{"user":"a"}]}`:      `the file is one JSON object with the list "messages": write a JSON object a line (jq -c '.messages[]' does that)`,
		"{ \"messages\": [\n":              `the file is one JSON object with the list "messages": write a JSON object a line (jq -c '.messages[]' does that)`,
		"":                                 "the file has no lines",
		" \r\n\n":                          "the file has no lines",
		"user,send_at,title\n":             "the file has no lines",
		"sep=;\n":                          "the file has no lines",
	} {
		_, err := input.NewReader(strings.NewReader(text), input.Options{})
		require.EqualError(t, err, says, "%q", text)
		_, err = input.NewReader(strings.NewReader(text), input.Options{AllowEmpty: true})
		require.Equal(t, says != "the file has no lines", err != nil, "%q", text)
	}
	_, err := input.NewReader(strings.NewReader(`{"messages":[]}`), input.Options{Format: input.NDJSON})
	require.ErrorContains(t, err, "jq -c '.messages[]'")
	_, err = input.NewReader(strings.NewReader(""), input.Options{Flags: true})
	require.EqualError(t, err, "the file has no lines: look at how it was made, or give --allow-empty")
}

// A user that is no user is refused, so that its lines do not share the limits of one.
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	for user, says := range map[string]string{
		"null": "is what an export writes", "NULL": "is what an export writes", "undefined": "is what an export writes",
		"NaN": "is what an export writes", "#N/A": "is what an export writes", "#REF!": "is what an export writes",
		"[object Object]": "is what an export writes", "None": "is what an export writes",
		"{{user.id}}": "has a variable", "u-{{id}}": "has a variable", "${id}": "has a variable", "*|ID|*": "has a variable", "%%id%%": "has a variable",
		"<%= id %>": "has a variable",
		"nullable":  "", "u{1}": "", "100%": "", "a|b": "", "4.9E11": "", "E+11": "", "12345": "", "nan-2": "",
	} {
		for _, text := range []string{csvFile(`"` + user + `",` + at + `,x`), object(user, "x")} {
			got := readText(t, text)
			require.Len(t, got, 1)
			if says == "" {
				require.Contains(t, got[0], " "+user+` "x"`)
			} else {
				require.Contains(t, got[0], `: user "`+user+`" `+says)
			}
		}
	}
	require.Equal(t, []string{`1: user "4.91701E+11" looks like a number that a spreadsheet shortened: format the column as text before the export`},
		readText(t, object("4.91701E+11", "x")))
	r, err := input.NewReader(strings.NewReader(`{"id":"null","user":"a","send_at":"now","title":"t"}`+"\n"+object("null", "x")), input.Options{Flags: true})
	require.NoError(t, err)
	for _, field := range []string{"id", "user"} {
		record, err := r.Next()
		require.NoError(t, err)
		require.EqualError(t, record.Invalid, field+` "null" is what an export writes for a missing value; --allow-placeholders takes it as it is`)
	}
	r, err = input.NewReader(strings.NewReader(object("null", "x")), input.Options{Placeholders: true})
	require.NoError(t, err)
	record, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, "null", record.Draft.User)
}

// A column of users with a number that a spreadsheet shortened is read no further.
func TestAShortenedColumn(t *testing.T) {
	t.Parallel()
	text := csvFile("1,"+at+",x", `"4,9e+11",`+at+",x", "2,"+at+",x")
	r, err := input.NewReader(strings.NewReader(text), input.Options{Flags: true})
	require.NoError(t, err)
	rows, err := input.NewRows(strings.NewReader(text), input.Options{Flags: true}, []string{"user", "send_at", "title"}, nil)
	require.NoError(t, err)
	_, err = r.Next()
	require.NoError(t, err)
	_, err = rows.Next()
	require.NoError(t, err)
	const says = `user "4,9e+11" in line 3 looks like a number that a spreadsheet shortened: ` +
		`format the column as text before the export; --allow-placeholders takes it as it is`
	_, err = r.Next()
	require.EqualError(t, err, says)
	_, err = rows.Next()
	require.EqualError(t, err, says)
}
