package input

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// nextCSV reads the record that begins on a line, with the further lines that a quoted
// field spans. If they are not a record, the lines after the first are read again, so
// that a quote that is never closed does not swallow them.
func (r *Reader) nextCSV(first line) (Record, error) {
	last := first
	text, after, err := r.whole(first)
	if err != nil {
		return Record{}, err
	}
	if len(after) > 0 {
		last = after[len(after)-1]
	}
	draft, invalid := message.Draft{}, unclosed()
	if text != nil {
		draft, invalid = r.csv.read(text)
	}
	if invalid != nil && len(after) > 0 {
		r.lines.unread(after...)
	}
	return Record{Line: first.number, Draft: draft, Invalid: cutOff(invalid, last)}, nil
}

// whole returns the text of the record that begins on a line, and the further lines that
// it spans. The text is nil if the record is too long or does not end.
func (r *Reader) whole(first line) (text []byte, after []line, err error) {
	quotes := countQuotes(first)
	if quotes%2 == 0 {
		return first.text, nil, nil
	}
	text = bytes.Clone(first.text)
	for quotes%2 != 0 {
		l, err := r.lines.next()
		if errors.Is(err, io.EOF) {
			return nil, after, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("reading line %d: %w", r.lines.number+1, err)
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
	buffer *bufio.Reader
}

func (r *record) split(text []byte) ([]string, *fault.InvalidError) {
	if r.buffer == nil {
		r.buffer = bufio.NewReader(nil)
	}
	r.buffer.Reset(bytes.NewReader(text))
	// csv.NewReader does not wrap a bufio.Reader, so this is cheap.
	fields, err := csv.NewReader(r.buffer).Read()
	if wrong, ok := errors.AsType[*csv.ParseError](err); ok {
		return nil, fault.Wrong("message", `invalid CSV at column %d: %v; quote the whole field, and write "" for a quote within it`, wrong.Column, wrong.Err)
	}
	if err != nil {
		return nil, fault.Wrong("message", "invalid CSV: %v", err)
	}
	return fields, nil
}
