package serve

import (
	"bytes"
	"io"
	"mime"
	"net/http"
)

// readAhead has the body of a request there before next begins to answer it, as
// far as so many bytes: what a client sends slowly takes up no place among the
// requests that are being answered. The lines of a batch are answered while they
// are read, and have places of their own.
func readAhead(next http.Handler, most int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // of none, which is no batch
		if r.Body != http.NoBody && kind != "application/x-ndjson" {
			r.Body = ahead(r.Body, most)
		}
		next.ServeHTTP(w, r)
	})
}

// ahead returns a body of which the beginning has been read, or all of it. What
// went wrong is for its reader to find.
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

// failing is a reader that has come to an error, or to its end.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
