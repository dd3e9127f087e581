package input

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxLine is the largest size of a line, or of a CSV record of several lines, in bytes. A
// message is at most a third of that, but JSON may write one byte as six.
const MaxLine = 64 << 10

// line is a line of a file.
type line struct {
	number int    // from 1
	text   []byte // without the line end; only the beginning if long
	long   bool   // more than MaxLine
	open   bool   // the file ends within it
}

// blank reports whether the line is blank.
func (l line) blank() bool { return !l.long && len(bytes.TrimSpace(l.text)) == 0 }

// kept returns the line with a copy of its text.
func (l line) kept() line {
	l.text = bytes.Clone(l.text)
	return l
}

// lineReader splits a file into lines.
type lineReader struct {
	buffer *bufio.Reader
	end    byte // of a line: '\n', or '\r' in a file that has no other
	number int
	again  []line
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{buffer: bufio.NewReaderSize(r, MaxLine+len("\r\n")), end: '\n'}
}

// next returns the next line. Its text is valid until the next call. The error is io.EOF
// at the end.
func (r *lineReader) next() (line, error) {
	if len(r.again) > 0 {
		l := r.again[0]
		r.again = r.again[1:]
		return l, nil
	}
	text, err := r.buffer.ReadSlice(r.end)
	if r.number == 0 && r.end == '\n' && bytes.Contains(bytes.TrimRight(text, "\r\n"), []byte("\r")) {
		r.end = '\r' // as old programs for the Mac write them
		rest := []io.Reader{bytes.NewReader(bytes.Clone(text)), r.buffer}
		r.buffer = bufio.NewReaderSize(io.MultiReader(rest...), MaxLine+len("\r\n"))
		text, err = r.buffer.ReadSlice(r.end)
	}
	l := line{number: r.number + 1}
	for errors.Is(err, bufio.ErrBufferFull) {
		l.makeLong(text)
		text, err = r.buffer.ReadSlice(r.end)
	}
	switch {
	case errors.Is(err, io.EOF):
		if len(text) == 0 && !l.long {
			return line{}, io.EOF
		}
		l.open = true
	case err != nil:
		return line{}, err
	}
	r.number++
	if !l.long {
		l.text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r")) // either may be the end
		if len(l.text) > MaxLine {
			l.makeLong(l.text)
		}
	}
	return l, nil
}

// makeLong marks a line as too long and keeps its beginning, which shows its format.
func (l *line) makeLong(text []byte) {
	if !l.long {
		l.long, l.text = true, bytes.Clone(text[:64])
	}
}

// nextFilled is next without blank lines.
func (r *lineReader) nextFilled() (line, error) {
	for {
		l, err := r.next()
		if err != nil || !l.blank() {
			return l, err
		}
	}
}

// unread puts lines back, to be read again before the rest. They must be kept.
func (r *lineReader) unread(lines ...line) { r.again = append(lines, r.again...) }
