package input

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Row is a line of a file of other things than messages.
type Row struct {
	Line   int
	JSON   []byte            // the object of NDJSON, valid until the next row
	Fields map[string]string // of CSV, by column; without empty fields
	// Invalid says what is wrong if the line has no fields. It does not show the line.
	Invalid *fault.InvalidError
}

// Rows reads the rows of a file, in order. At most one row is in memory.
type Rows struct {
	reader  *Reader
	names   []string // the columns of CSV; nil for NDJSON
	records record
}

// NewRows returns the rows of a file. A CSV file has columns that are among those given, and
// all that are required. The error is a *fault.InvalidError if the file has another format.
func NewRows(file io.Reader, format Format, columns, required []string) (*Rows, error) {
	reader, header, err := begin(file, format)
	r := &Rows{reader: reader}
	if header == nil || err != nil {
		return r, err
	}
	if header.long {
		return nil, tooLong()
	}
	names, invalid := r.records.split(header.text)
	if invalid != nil {
		return nil, invalid
	}
	r.names = names
	return r, checkColumns(names, columns, required)
}

// checkColumns returns an error about the first column that is unknown, doubled or missing.
func checkColumns(names, columns, required []string) error {
	for i, name := range names {
		switch {
		case !slices.Contains(columns, name):
			return fault.Wrong("header", "unknown column %q in the header: there are %s (without a header, write a JSON object a line)",
				strings.ToValidUTF8(fault.Clip(name), "�"), strings.Join(columns, ", "))
		case slices.Contains(names[:i], name):
			return fault.Wrong("header", "the header has the column %s twice", name)
		}
	}
	for _, name := range required {
		if !slices.Contains(names, name) {
			return fault.Wrong("header", "the header has no %s", name)
		}
	}
	return nil
}

// Next returns the next row. The error is io.EOF at the end. After any other error the rest of
// the file can't be read.
func (r *Rows) Next() (Row, error) {
	l, err := r.reader.lines.nextFilled()
	if errors.Is(err, io.EOF) {
		return Row{}, io.EOF
	}
	if err != nil {
		return Row{}, fmt.Errorf("reading line %d: %w", r.reader.lines.number+1, err)
	}
	row := Row{Line: l.number}
	switch {
	case l.long:
		row.Invalid = tooLong()
	case r.names == nil:
		row.JSON = l.text
	default:
		text, after, err := r.reader.whole(l)
		if err != nil {
			return Row{}, err
		}
		last := l
		if len(after) > 0 {
			last = after[len(after)-1]
		}
		if row.Fields, row.Invalid = r.fields(text); row.Invalid != nil && len(after) > 0 {
			r.reader.lines.unread(after...)
		}
		row.Invalid = cutOff(row.Invalid, last)
	}
	return row, nil
}

// fields splits the text of a record; nil is one that does not end.
func (r *Rows) fields(text []byte) (map[string]string, *fault.InvalidError) {
	if text == nil {
		return nil, unclosed()
	}
	values, invalid := r.records.split(text)
	if invalid != nil {
		return nil, invalid
	}
	if len(values) != len(r.names) {
		return nil, fault.Wrong("line", "the line has %d fields, and the header has %d", len(values), len(r.names))
	}
	fields := make(map[string]string, len(values))
	for i, value := range values {
		if value != "" {
			fields[r.names[i]] = value
		}
	}
	return fields, nil
}
