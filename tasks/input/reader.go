package input

import (
	"errors"
	"io"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Record is a message of a file, or the error of an invalid line.
type Record struct {
	Line int // the number of its first line, from 1
	// Draft is the message. Draft.Message reports its invalid fields.
	Draft message.Draft
	// Invalid is the error if the line is no message. Draft is empty then.
	Invalid *fault.InvalidError
}

// Reader reads the messages of a file, in order. At most one record is in memory.
type Reader struct {
	file    *file
	columns []column // of CSV
	options Options
}

// NewReader returns the messages of a file. The error is a *fault.InvalidError if the
// file has another form, or if its header is wrong.
func NewReader(from io.Reader, o Options) (*Reader, error) {
	f, err := open(from, columns{known: draftColumns(), entries: true, options: o})
	if err != nil {
		return nil, err
	}
	r := &Reader{file: f, options: o}
	if f.table == nil {
		return r, nil
	}
	for _, field := range f.table.fields {
		r.columns = append(r.columns, columnOf(field))
	}
	if err := needed(f.table.names, f.table.fields, o.FilledIn); err != nil {
		return nil, err
	}
	return r, f.checkFilled(o)
}

// Trimmed returns how many CSV values had white space at their ends so far, which was cut off.
func (r *Reader) Trimmed() int { return r.file.trimmed() }

// Next returns the next record. The error is io.EOF at the end. After any other error the
// rest of the file can't be read.
func (r *Reader) Next() (Record, error) {
	row, err := r.file.next()
	if err != nil {
		return Record{}, err
	}
	record := Record{Line: row.number, Invalid: row.invalid}
	switch {
	case row.invalid != nil:
		return record, nil
	case row.fields != nil:
		zone := ""
		for i, text := range row.fields {
			r.columns[i](&record.Draft, text)
			if r.file.table.fields[i] == zoneColumn {
				zone = text
			}
		}
		record.Draft.SetZone(zoneColumn, zone)
		if err := r.file.checkColumn(r.options, row.number, record.Draft.User); err != nil {
			return Record{}, err
		}
	default:
		if record.Draft, err = message.DecodeDraft(row.text); err != nil {
			wrong, ok := errors.AsType[*fault.InvalidError](err)
			if !ok {
				wrong = fault.Wrong("message", "the message is no JSON object: %v", err)
			}
			return Record{Line: row.number, Invalid: cutOff(wrong, row.last)}, nil
		}
	}
	wrong := r.options.checkFilled("user", record.Draft.User)
	if wrong == nil {
		wrong = r.options.checkFilled("id", record.Draft.ID)
	}
	if wrong != nil {
		return Record{Line: row.number, Invalid: wrong}, nil
	}
	return record, nil
}
