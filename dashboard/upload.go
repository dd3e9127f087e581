package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	maxPlan   = 64 << 20 // bytes of a file of messages
	maxPacked = 8 << 20  // bytes that it takes in memory
)

// A file may take uploadWithin to come, and a second more for each slowestUpload bytes.
const (
	uploadWithin  = 10 * time.Second
	slowestUpload = 64 << 10
)

// upload is a file that has come whole. A browser reads an answer only once its request is
// sent, so that an answer to a part of it could wait for ever. It is packed: text shrinks to
// about a tenth.
type upload struct {
	packed bytes.Buffer
	hash   hash.Hash // SHA-256
	lines  int       // that have ended
}

// receive reads the file of a request.
func (d *Dashboard) receive(w http.ResponseWriter, r *http.Request) (*upload, error) {
	tooLarge := fmt.Sprintf("The file has more than %d MB: use sendlimit bulk for it.", maxPlan>>20)
	u := &upload{hash: sha256.New()}
	packer, err := gzip.NewWriterLevel(&u.packed, gzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("packing a file: %w", err)
	}
	control, began := http.NewResponseController(w), d.o.Now()
	body, part := http.MaxBytesReader(w, r.Body, maxPlan), make([]byte, 64<<10)
	for came := 0; !errors.Is(err, io.EOF); {
		slowest := time.Duration(came) * time.Second / slowestUpload
		_ = control.SetReadDeadline(began.Add(uploadWithin + slowest)) // every connection of a server has deadlines
		var n int
		if n, err = body.Read(part); err != nil && !errors.Is(err, io.EOF) {
			return nil, unread(err, tooLarge, "The file")
		}
		came += n
		u.lines += bytes.Count(part[:n], []byte("\n"))
		_, _ = u.hash.Write(part[:n]) // neither fails
		_, _ = packer.Write(part[:n])
		if u.packed.Len() > maxPacked {
			return nil, &problem{Status: http.StatusRequestEntityTooLarge, Detail: "The file is too large for a file of hardly any text: use sendlimit bulk for it."}
		}
	}
	_ = packer.Close()
	_ = control.SetReadDeadline(time.Time{})
	return u, nil
}

// open returns the file, once.
func (u *upload) open() io.Reader {
	file, err := gzip.NewReader(&u.packed)
	if err != nil { // it was packed here
		return strings.NewReader("")
	}
	return file
}
