package input

import (
	"io"
	"slices"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Row is a line of a file with other data than messages.
type Row struct {
	Line   int
	JSON   []byte            // the object of NDJSON, valid until the next row
	Fields map[string]string // of CSV, by column; without empty fields
	// Invalid is the error if the line has no fields. It does not show the line.
	Invalid *fault.InvalidError
}

// Rows reads the rows of a file, in order. At most one row is in memory.
type Rows struct {
	file    *file
	options Options
}

// NewRows returns the rows of a file. A CSV file must have all required columns, and others only
// among the known ones. The error is a *fault.InvalidError if the file has another form.
func NewRows(from io.Reader, o Options, known, required []string) (*Rows, error) {
	if o.Others == KeepAsMetadata {
		return nil, &fault.InvalidError{Field: "other_columns", Value: string(o.Others), Want: "refuse or ignore: what this file has knows no metadata"}
	}
	f, err := open(from, columns{known: known, options: o})
	if err != nil || f.table == nil {
		return &Rows{file: f, options: o}, err
	}
	for _, name := range required {
		if !slices.Contains(f.table.fields, name) {
			return nil, fault.Wrong("header", "the header has no column %s: it is %s", name, headerOf(f.table.names))
		}
	}
	return &Rows{file: f, options: o}, f.checkFilled(o)
}

// Trimmed returns how many CSV values had white space at their ends so far, which was cut off.
func (r *Rows) Trimmed() int { return r.file.trimmed() }

// CheckFilled refuses a user that looks like an export's placeholder for a missing value, unless
// the options allow it.
func (r *Rows) CheckFilled(user string) *fault.InvalidError {
	return r.options.checkFilled("user", user)
}

// Next returns the next row. The error is io.EOF at the end. After any other error the rest of
// the file can't be read.
func (r *Rows) Next() (Row, error) {
	row, err := r.file.next()
	if err != nil {
		return Row{}, err
	}
	result := Row{Line: row.number, JSON: row.text, Invalid: row.invalid}
	if row.fields == nil {
		return result, nil
	}
	result.Fields = make(map[string]string, len(row.fields))
	for i, value := range row.fields {
		if field := r.file.table.fields[i]; value != "" && field != "" {
			result.Fields[field] = value
		}
	}
	return result, r.file.checkColumn(r.options, row.number, result.Fields["user"])
}
