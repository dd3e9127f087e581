package input

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Format is the format of a file.
type Format string

// The formats.
const (
	Auto   Format = "auto" // detected from the first line
	NDJSON Format = "ndjson"
	CSV    Format = "csv"
)

// ParseFormat reads the name of a format. The error is a
// *fault.InvalidError.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case Auto, NDJSON, CSV:
		return f, nil
	default:
		return "", &fault.InvalidError{Field: "format", Value: s, Want: "auto, ndjson or csv"}
	}
}

// Record is one message of a file.
type Record struct {
	Line int // the number of its first line, from 1
	// Draft is the message. Draft.Message names fields of it that are wrong.
	Draft message.Draft
	// Invalid says what is wrong if the line has no fields. Draft is empty then.
	Invalid *fault.InvalidError
}

// Reader reads the messages of a file, in order.
type Reader struct {
	lines *lineReader
	csv   *header // nil for NDJSON
}

// NewReader returns a Reader of the messages of a file. The error is a *fault.InvalidError
// if the file does not have the format: for example, a CSV file without a required column,
// or a gzipped file. Columns named in filledIn are not required.
func NewReader(file io.Reader, format Format, filledIn ...string) (*Reader, error) {
	r, header, err := begin(file, format)
	if header == nil || err != nil {
		return r, err
	}
	r.csv, err = parseHeader(*header, filledIn)
	return r, err
}

// begin returns the reader of a file, and its first line if that is the header of CSV.
func begin(file io.Reader, format Format) (*Reader, *line, error) {
	plain, err := withoutMark(bufio.NewReader(file))
	if err != nil {
		return nil, nil, err
	}
	r := &Reader{lines: newLineReader(plain)}
	first, err := r.lines.nextFilled()
	if errors.Is(err, io.EOF) {
		return r, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the first line: %w", err)
	}
	if format == Auto {
		if format, err = tell(first); err != nil {
			return nil, nil, err
		}
	}
	if format == NDJSON {
		r.lines.unread(first.kept())
		return r, nil, nil
	}
	return r, &first, nil
}

// Next returns the next message. The error is io.EOF at the end. After any other error
// the rest of the file can't be read.
func (r *Reader) Next() (Record, error) {
	l, err := r.lines.nextFilled()
	if errors.Is(err, io.EOF) {
		return Record{}, io.EOF
	}
	if err != nil {
		return Record{}, fmt.Errorf("reading line %d: %w", r.lines.number+1, err)
	}
	if l.long {
		return Record{Line: l.number, Invalid: tooLong()}, nil
	}
	if r.csv != nil {
		return r.nextCSV(l)
	}
	return parseJSON(l), nil
}

func parseJSON(l line) Record {
	draft, err := message.DecodeDraft(l.text)
	if err == nil {
		return Record{Line: l.number, Draft: draft}
	}
	wrong, ok := errors.AsType[*fault.InvalidError](err)
	if !ok {
		wrong = fault.Wrong("message", "the message is no JSON object: %v", err)
	}
	return Record{Line: l.number, Invalid: cutOff(wrong, l)}
}

// cutOff adds to an error that the file ends within the line.
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

// withoutMark returns the text of a file behind its byte order mark, if it has one.
func withoutMark(file *bufio.Reader) (io.Reader, error) {
	const gzipped, mark = "\x1f\x8b", "\xef\xbb\xbf"
	if start, _ := file.Peek(len(gzipped)); string(start) == gzipped {
		return nil, fault.Wrong("file", "the text is gzipped: unzip it first")
	}
	if start, _ := file.Peek(len(mark)); string(start) == mark {
		_, _ = file.Discard(len(mark)) // Peek has buffered it
	}
	return file, nil
}

// tell detects the format from the first line.
func tell(first line) (Format, error) {
	switch text := bytes.TrimSpace(first.text); {
	case bytes.HasPrefix(text, []byte("{")):
		return NDJSON, nil
	case bytes.HasPrefix(text, []byte("[")):
		return "", fault.Wrong("file", "the file is a JSON array: write a JSON object a line, without brackets around"+
			" and commas between them (jq -c '.[]' does that), or CSV with a header")
	default:
		return CSV, nil
	}
}
