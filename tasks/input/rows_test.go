package input_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks/input"
)

// rowsOf returns the rows of a file with columns a and b, of which a is required.
func rowsOf(t *testing.T, text string, format input.Format) []input.Row {
	t.Helper()
	rows, err := input.NewRows(strings.NewReader(text), format, []string{"a", "b"}, []string{"a"})
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
		"1\n":        "the line has 1 fields, and the header has 2",
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
		"b\n":       "the header has no a",
		"a,c\n":     `unknown column "c" in the header: there are a, b (without a header, write a JSON object a line)`,
		"a,a\n":     "the header has the column a twice",
		"[1]\n":     "the file is a JSON array: write a JSON object a line, without brackets around and commas between them (jq -c '.[]' does that), or CSV with a header",
		"\x1f\x8b":  "the text is gzipped: unzip it first",
		long + "\n": "the line is too long: it has at most 65536 bytes",
		"a,\"b\n":   `invalid CSV at column 5: extraneous or missing " in quoted-field; quote the whole field, and write "" for a quote within it`,
	} {
		_, err := input.NewRows(strings.NewReader(text), input.Auto, []string{"a", "b"}, []string{"a"})
		require.EqualError(t, err, says)
	}
}
