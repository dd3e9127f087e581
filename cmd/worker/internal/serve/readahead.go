package serve

import (
	"bytes"
	"io"
	"mime"
	"net/http"
)

// readAhead reads at most most bytes of a request's body before it calls next. So a slow
// client takes no place among the requests that are being answered. The lines of a batch
// are answered while they are read, and have their own places.
func readAhead(next http.Handler, most int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // "" is no batch
		if r.Body != http.NoBody && kind != "application/x-ndjson" && kind != "application/jsonl" {
			r.Body = ahead(r.Body, most)
		}
		next.ServeHTTP(w, r)
	})
}

// ahead reads the beginning of a body, or all of it, and returns the whole body. Its reader
// gets the error of that.
func ahead(body io.ReadCloser, most int64) io.ReadCloser {
	var read bytes.Buffer
	_, err := io.CopyN(&read, body, most)
	rest := io.Reader(body)
	if err != nil {
		rest = failing{err}
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(&read, rest), body}
}

// failing is a reader at an error, or at its end.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
