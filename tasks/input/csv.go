package input

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// table reads the records of a CSV file.
type table struct {
	lines   *lineReader
	records record
	names   []string // the columns as the header spells them
	fields  []string // what they are; "" for one that is ignored
	trimmed atomic.Int64
}

// separators are the possible separators of fields. A file has the most frequent one of its header.
const separators = ",;\t|"

// named is the line in which Excel names the separator of a file.
var named = regexp.MustCompile(`^"?sep=([,;\t|])"?$`)

// newTable reads the header of a CSV file. The error is a *fault.InvalidError.
func newTable(lines *lineReader, first line, c columns) (*table, error) {
	t := &table{lines: lines}
	if separator := named.FindSubmatch(first.text); separator != nil {
		t.records.separator = rune(separator[1][0])
		var err error
		if first, err = lines.nextFilled(); errors.Is(err, io.EOF) {
			return nil, noLines(c.options)
		} else if err != nil {
			return nil, fmt.Errorf("reading the header: %w", err)
		}
	}
	if first.long {
		return nil, tooLong()
	}
	if t.records.separator == 0 {
		t.records.separator = separatorOf(first.text)
	}
	names, invalid := t.records.split(first.text)
	if invalid != nil {
		return nil, invalid
	}
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	var err error
	t.names = names
	t.fields, err = c.resolve(names)
	return t, err
}

// separatorOf returns the separator of a header, a comma if there is none.
func separatorOf(header []byte) rune {
	outside := make([]byte, 0, len(header))
	for i, part := range bytes.Split(header, []byte{'"'}) {
		if i%2 == 0 {
			outside = append(outside, part...)
		}
	}
	best, most := ',', 0
	for _, separator := range separators {
		if n := bytes.Count(outside, []byte(string(separator))); n > most {
			best, most = separator, n
		}
	}
	return best
}

// read reads the record that begins on a line, with the further lines that a quoted field spans. If
// they are no valid record, the lines after the first are read again, so that an unclosed quote
// does not swallow them. The fields are nil for an empty row. last is the line on which the record
// ends.
func (t *table) read(first line) (fields []string, last line, invalid *fault.InvalidError, err error) {
	last = first
	text, after, err := t.whole(first)
	if err != nil {
		return nil, last, nil, err
	}
	if len(after) > 0 {
		last = after[len(after)-1]
	}
	invalid = unclosed()
	if text != nil {
		fields, invalid = t.split(text)
	}
	if invalid != nil && len(after) > 0 {
		t.lines.unread(after...)
	}
	return fields, last, invalid, nil
}

// split returns the fields of a record, trimmed; nil if all are empty.
func (t *table) split(text []byte) ([]string, *fault.InvalidError) {
	fields, invalid := t.records.split(text)
	if invalid != nil {
		return nil, invalid
	}
	if !slices.ContainsFunc(fields, func(text string) bool { return strings.TrimSpace(text) != "" }) {
		return nil, nil
	}
	if len(fields) != len(t.fields) {
		return nil, fault.Wrong("message", "the line has %s, and the header has %s",
			message.Count(len(fields), "field"), message.Count(len(t.fields), "column"))
	}
	for i, field := range t.fields {
		if trimmed := strings.Trim(fields[i], " \t"); !isText(field) && len(trimmed) < len(fields[i]) {
			fields[i] = trimmed
			t.trimmed.Add(1)
		}
	}
	return fields, nil
}

// isText reports whether a field is a text for people, in which white space may matter.
func isText(field string) bool {
	return field == "title" || field == "body" || strings.HasPrefix(field, dataPrefix) || strings.HasPrefix(field, metadataPrefix)
}

// whole returns the text of the record that begins on a line, and its further lines. The text is
// nil if the record is too long or does not end.
func (t *table) whole(first line) (text []byte, after []line, err error) {
	quotes := countQuotes(first)
	if quotes%2 == 0 {
		return first.text, nil, nil
	}
	text = bytes.Clone(first.text)
	for quotes%2 != 0 {
		l, err := t.lines.next()
		if errors.Is(err, io.EOF) {
			return nil, after, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("reading line %d: %w", t.lines.number+1, err)
		}
		after = append(after, l.kept())
		if l.long || len(text)+1+len(l.text) > MaxLine {
			return nil, after, nil
		}
		text = append(append(text, '\n'), l.text...)
		quotes += countQuotes(l)
	}
	return text, after, nil
}

func countQuotes(l line) int { return bytes.Count(l.text, []byte{'"'}) }

func unclosed() *fault.InvalidError {
	return fault.Wrong("message", `a quote is never closed: a quote within a field is written ""`)
}

// record splits the text of one CSV record.
type record struct {
	separator rune
	buffer    *bufio.Reader
}

func (r *record) split(text []byte) ([]string, *fault.InvalidError) {
	if r.buffer == nil {
		r.buffer = bufio.NewReader(nil)
	}
	r.buffer.Reset(bytes.NewReader(text))
	reader := csv.NewReader(r.buffer) // does not wrap a bufio.Reader, so this is cheap
	reader.Comma = r.separator
	fields, err := reader.Read()
	if wrong, ok := errors.AsType[*csv.ParseError](err); ok {
		return nil, fault.Wrong("message", `invalid CSV at column %d: %v; quote the whole field, and write "" for a quote within it`, wrong.Column, wrong.Err)
	}
	if err != nil {
		return nil, fault.Wrong("message", "invalid CSV: %v", err)
	}
	return fields, nil
}
