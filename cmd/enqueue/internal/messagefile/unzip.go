package messagefile

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// maxGrowth bounds the size of a gzipped file's text, as a multiple of the file's size. Real files
// grow about 20 times, a file of one repeated byte 1,000 times.
const maxGrowth = 200

// growthFrom is the size in bytes that every text may have.
const growthFrom = 1 << 20

// Unzip returns the text of a file that may be gzipped. An error, also of its Read, is a
// *fault.InvalidError if the file is broken, or if its text has more than maxGrowth times its size.
// The text of a trusted file may have any size.
func Unzip(file io.Reader, trusted bool) (io.Reader, error) {
	packed := &counting{Reader: file}
	start := bufio.NewReader(packed)
	if begin, _ := start.Peek(2); string(begin) != "\x1f\x8b" {
		return start, nil
	}
	text, err := gzip.NewReader(start)
	if err != nil {
		return nil, broken(err)
	}
	return &unzipped{text: text, packed: packed, trusted: trusted}, nil
}

// counting counts the bytes that are read.
type counting struct {
	io.Reader

	count int64
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.count += int64(n)
	return n, err
}

// unzipped is the text of a gzipped file.
type unzipped struct {
	text    io.Reader
	packed  *counting
	count   int64 // bytes of text so far
	trusted bool
}

func (u *unzipped) Read(b []byte) (int, error) {
	n, err := u.text.Read(b)
	u.count += int64(n)
	if !u.trusted && u.count > growthFrom && u.count/maxGrowth > u.packed.count {
		return 0, fault.Wrong("file", "the text of the gzip file has more than %d times its size,"+
			" which is usual for harmful files: give --force if you trust it", maxGrowth)
	}
	return n, broken(err)
}

// broken returns an error of a gzipped file.
func broken(err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	if corrupt || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) {
		return fault.Wrong("file", "the gzip file is broken")
	}
	return err
}
