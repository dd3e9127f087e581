package input

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// file reads the rows of a file, in order. At most one row is in memory.
type file struct {
	lines *lineReader
	table *table // nil for NDJSON
}

// row is a row of a file.
type row struct {
	number  int      // that of its first line, from 1
	text    []byte   // of NDJSON
	fields  []string // of CSV
	last    line
	invalid *fault.InvalidError
}

// open reads the beginning of a file. The error is a *fault.InvalidError if the file has another form.
func open(from io.Reader, c columns) (*file, error) {
	plain, err := plainText(bufio.NewReader(from))
	if err != nil {
		return nil, err
	}
	f := &file{lines: newLineReader(plain)}
	first, err := f.lines.nextFilled()
	if errors.Is(err, io.EOF) {
		return f, noLines(c.options)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the first line: %w", err)
	}
	format := c.options.Format
	if format == Auto || format == "" {
		if format, err = tell(first); err != nil {
			return nil, err
		}
	}
	if format == NDJSON {
		f.lines.unread(first.kept())
		return f, notLines(first)
	}
	f.table, err = newTable(f.lines, first.kept(), c)
	return f, err
}

// checkFilled returns an error about a CSV file with only a header, unless the options allow one.
func (f *file) checkFilled(o Options) error {
	first, err := f.lines.nextFilled()
	if errors.Is(err, io.EOF) {
		return noLines(o)
	}
	if err == nil {
		f.lines.unread(first.kept())
	}
	return nil // another error is that of the first row
}

// noLines returns an error about a file that has no lines, unless the options allow one.
func noLines(o Options) error {
	switch {
	case o.AllowEmpty:
		return nil
	case o.Flags:
		return fault.Wrong("file", "the file has no lines: look at how it was made, or give --allow-empty")
	default:
		return fault.Wrong("file", "the file has no lines")
	}
}

// trimmed returns how many CSV values had white space at their ends so far. Call it at any time.
func (f *file) trimmed() int {
	if f.table == nil {
		return 0
	}
	return int(f.table.trimmed.Load())
}

// next returns the next row. The error is io.EOF at the end. After any other error the rest
// of the file can't be read.
func (f *file) next() (row, error) {
	for {
		l, err := f.lines.nextFilled()
		if errors.Is(err, io.EOF) {
			return row{}, io.EOF
		}
		if err != nil {
			return row{}, fmt.Errorf("reading line %d: %w", f.lines.number+1, err)
		}
		r := row{number: l.number, last: l}
		switch {
		case l.long:
			r.invalid = tooLong()
			return r, nil
		case f.table == nil:
			r.text = l.text
			return r, nil
		}
		if r.fields, r.last, r.invalid, err = f.table.read(l); err != nil || r.fields != nil || r.invalid != nil {
			r.invalid = cutOff(r.invalid, r.last)
			return r, err
		}
	}
}

// cutOff adds to the error of an invalid last line that the file may be cut off, as by a broken
// download.
func cutOff(wrong *fault.InvalidError, l line) *fault.InvalidError {
	if wrong == nil || !l.open {
		return wrong
	}
	const open = "; the file ends within this line, as if the rest of it were missing"
	return wrong.Noting(open)
}

func tooLong() *fault.InvalidError {
	return fault.Wrong("message", "the line is too long: it has at most %d bytes", MaxLine)
}
