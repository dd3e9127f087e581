package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// BodyLimits bound the body of a request.
type BodyLimits struct {
	Bytes int64
	// Time is how long a request may take to arrive, for error texts only. The server sets the
	// deadline.
	Time time.Duration
}

// ReadJSON reads the body of a request, which must be JSON of any shape, see CheckJSON.
func (l BodyLimits) ReadJSON(r *http.Request) ([]byte, error) {
	text, err := l.ReadText(r)
	if err != nil {
		return nil, err
	}
	return text, CheckJSON(text)
}

// CheckJSON checks the text of a body, which must be JSON of any shape. If it is not JSON, it is a
// bad request; everything else that message.CheckJSON refuses is an invalid field.
func CheckJSON(text []byte) error {
	err := message.CheckJSON(text, "body")
	if err == nil || json.Valid(text) {
		return err
	}
	return &Error{Status: http.StatusBadRequest, Outcome: message.OutcomeOf(err)}
}

// ReadText reads the body of a request with the media type JSON, without a byte order mark. It does
// not check the text.
func (l BodyLimits) ReadText(r *http.Request) ([]byte, error) {
	if err := CheckMediaType(r, "application/json"); err != nil {
		return nil, err
	}
	text, err := readAll(r.Body, l.Bytes)
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	var refused interface{ Code() fault.Code } // there is no place for the request
	switch {
	case errors.As(err, &refused):
		return nil, err //nolint:wrapcheck // of the server, not of the connection
	case tooLarge:
		return nil, BadRequest(http.StatusRequestEntityTooLarge, "body", "a longer one", fmt.Sprintf("at most %d bytes", l.Bytes))
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &Error{Status: http.StatusRequestTimeout, Outcome: message.Outcome{
			Outcome: message.Errored, Code: fault.CodeUnavailable,
			Detail: fmt.Sprintf("the request was incomplete after %s: send it again", l.Time),
		}}
	case err != nil:
		return nil, Incomplete(err, ": send it again")
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), nil
}

// readAll reads a body of at most most bytes. A body that was read ahead to its end is not copied.
func readAll(body io.ReadCloser, most int64) ([]byte, error) {
	if ahead, may := body.(interface {
		Ahead() (text []byte, whole bool)
	}); may {
		if text, whole := ahead.Ahead(); whole && int64(len(text)) <= most {
			return text, nil
		}
	}
	// The limit gets no writer: it would close the connection. The server decides
	// whether to read the rest of a body or to close.
	return io.ReadAll(http.MaxBytesReader(nil, body, most))
}

// Cause returns why a body broke off, without the addresses of the connection.
func Cause(err error) string {
	if network, ok := errors.AsType[*net.OpError](err); ok {
		return network.Err.Error()
	}
	return err.Error()
}

// ReadMembers reads the body of a request: an object with only the members of T. It also returns
// the valid members, and the faults of the others, so that one answer can report all errors.
func ReadMembers[T any](l BodyLimits, r *http.Request) (value T, given map[string]json.RawMessage, faults message.Faults, err error) {
	text, err := l.ReadJSON(r)
	if err != nil {
		return value, nil, faults, err
	}
	if err := json.Unmarshal(text, &given); err != nil || given == nil {
		return value, nil, faults, fault.Wrong("body", "the body has to be a JSON object")
	}
	value, faults, err = message.DecodeMembers[T](given)
	if err != nil {
		return value, nil, faults, fault.Wrong("body", "the body has to be a JSON object")
	}
	return value, given, faults, nil
}

// CheckMediaType returns an error unless the body has one of the types and is not compressed. It
// also refuses a request without a type, which a page of another site could send.
func CheckMediaType(r *http.Request, want ...string) error {
	given := r.Header.Get("Content-Type")
	if !slices.Contains(want, given) { // with parameters, or wrong
		if mediaType, _, err := mime.ParseMediaType(given); err != nil || !slices.Contains(want, mediaType) {
			return BadRequest(http.StatusUnsupportedMediaType, "Content-Type", Printable(given), strings.Join(want, " or "))
		}
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return BadRequest(http.StatusUnsupportedMediaType, "Content-Encoding", Printable(encoding), "identity: a body as it is")
	}
	return nil
}
