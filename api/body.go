package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// readJSON reads a request's body, which has to be JSON of some shape; which
// one is for others to say.
func (s *server) readJSON(r *http.Request) ([]byte, error) {
	if err := checkMediaType(r, "application/json"); err != nil {
		return nil, err
	}
	// Not the writer, which would be told to close the connection: what is left
	// of a body the server drains or closes upon as it sees fit.
	text, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, s.limits.Body))
	switch _, tooLarge := errors.AsType[*http.MaxBytesError](err); {
	case tooLarge:
		return nil, badRequest(http.StatusRequestEntityTooLarge, "body", "a longer one", fmt.Sprintf("at most %d bytes", s.limits.Body))
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &httpError{status: http.StatusRequestTimeout, outcome: message.Outcome{
			Outcome: message.Errored, Code: fault.CodeUnavailable,
			Detail: fmt.Sprintf("the request did not come whole within %s: it can be sent again", s.limits.Timeout),
		}}
	case err != nil:
		return nil, badRequest(http.StatusBadRequest, "body", "", "to come whole ("+err.Error()+")")
	}
	if !json.Valid(text) {
		return nil, badRequest(http.StatusBadRequest, "body", "", "JSON")
	}
	return text, nil
}

// checkMediaType says whether a body is of the type, and not compressed. A
// request without a type is refused too: a page of another site could send it.
func checkMediaType(r *http.Request, want string) error {
	given := r.Header.Get("Content-Type")
	if mediaType, _, err := mime.ParseMediaType(given); err != nil || mediaType != want {
		return badRequest(http.StatusUnsupportedMediaType, "Content-Type", valid(given), want)
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return badRequest(http.StatusUnsupportedMediaType, "Content-Encoding", valid(encoding), "identity: a body as it is")
	}
	return nil
}
