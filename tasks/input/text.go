package input

import (
	"bufio"
	"bytes"
	"io"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// The first bytes of files that are not plain text. No text begins with those of two bytes.
const (
	gzipped  = "\x1f\x8b"
	zipped   = "PK\x03\x04"
	oldExcel = "\xd0\xcf\x11\xe0"
	pdf      = "%PDF"
	mark     = "\xef\xbb\xbf" // the byte order mark in UTF-8
)

// plainText returns the text of a file in UTF-8, without a byte order mark. It recognizes UTF-16 by
// its mark, or by a zero byte in its first character. The error is a *fault.InvalidError for a file
// that is no text.
func plainText(file *bufio.Reader) (io.Reader, error) {
	begins := func(with string) bool {
		for n := 2; n <= len(with); n += 2 { // no more than two bytes are awaited where these differ
			if start, _ := file.Peek(min(n, len(with))); string(start) != with[:min(n, len(with))] {
				return false
			}
		}
		start, _ := file.Peek(len(with))
		return string(start) == with
	}
	decoded := func(order unicode.Endianness) (io.Reader, error) {
		return transform.NewReader(file, unicode.UTF16(order, unicode.UseBOM).NewDecoder()), nil
	}
	start, _ := file.Peek(2)
	switch {
	case begins(gzipped):
		return nil, fault.Wrong("file", "the text is gzipped: unzip it first")
	case begins(zipped):
		return nil, fault.Wrong("file", "the file is an Excel workbook or another zip archive: save it as CSV (UTF-8), or unpack it")
	case begins(oldExcel):
		return nil, fault.Wrong("file", "the file is an Excel workbook: save it as CSV (UTF-8)")
	case begins(pdf):
		return nil, fault.Wrong("file", "the file is a PDF: export CSV, or a JSON object a line")
	case begins(mark):
		_, _ = file.Discard(len(mark)) // Peek has buffered it
	case len(start) < 2:
	case string(start) == "\xff\xfe", start[1] == 0:
		return decoded(unicode.LittleEndian)
	case string(start) == "\xfe\xff", start[0] == 0:
		return decoded(unicode.BigEndian)
	}
	return file, nil
}

// tell detects the format of a file from its first line, which is not blank. The error is a
// *fault.InvalidError for any other format.
func tell(first line) (Format, error) {
	switch text := bytes.TrimSpace(first.text); {
	case bytes.HasPrefix(text, []byte("{")):
		return NDJSON, nil
	case bytes.HasPrefix(text, []byte("[")):
		return "", fault.Wrong("file", "the file is a JSON array: write a JSON object a line, without brackets around"+
			" and commas between them (jq -c '.[]' does that), or CSV with a header")
	case bytes.HasPrefix(text, []byte("<")):
		return "", fault.Wrong("file", "the file is HTML or XML: export CSV, or a JSON object a line")
	default:
		return CSV, nil
	}
}

// notLines returns an error for the first line of JSON that is not one object a line.
func notLines(first line) error {
	inside, object := strings.CutPrefix(strings.TrimSpace(string(first.text[:min(len(first.text), 64)])), "{")
	inside = strings.TrimSpace(inside)
	switch {
	case !object:
		return nil
	case inside == "":
		return fault.Wrong("file", "the file has a JSON object over several lines: write each object on one line (jq -c . does that)")
	case strings.HasPrefix(inside, `"messages"`):
		return fault.Wrong("file", `the file is one JSON object with the list "messages": write a JSON object a line`+
			" (jq -c '.messages[]' does that)")
	default:
		return nil
	}
}
