package web

import (
	"net/http"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// NoVersion is the version of something that does not exist.
const NoVersion = "0"

// Precondition is the version that a request expects. "" accepts every version.
type Precondition struct{ Version string }

// PreconditionOf reads If-Match, which must be a version in quotes, and If-None-Match,
// which must be *.
func PreconditionOf(h http.Header) (Precondition, error) {
	match, none := h.Values("If-Match"), h.Values("If-None-Match")
	switch {
	case len(match) > 0 && len(none) > 0:
		return Precondition{}, HeaderError("If-None-Match", none, "no value beside If-Match")
	case len(none) > 0:
		if len(none) != 1 || strings.TrimSpace(none[0]) != "*" {
			return Precondition{}, HeaderError("If-None-Match", none, "*: there must be nothing yet")
		}
		return Precondition{NoVersion}, nil
	case len(match) == 0:
		return Precondition{}, nil
	}
	const want = `one version in quotes, as ETag has it: "7"`
	version, quoted := strings.CutPrefix(strings.TrimSpace(match[0]), `"`)
	version, ended := strings.CutSuffix(version, `"`)
	if len(match) != 1 || !quoted || !ended || version == "" || strings.ContainsAny(version, "\", \t") {
		return Precondition{}, HeaderError("If-Match", match, want)
	}
	return Precondition{version}, nil
}

// HeaderError returns the error about a header that is not allowed.
func HeaderError(name string, values []string, want string) error {
	return &fault.InvalidError{Field: name, Value: Printable(strings.Join(values, ", ")), Want: want}
}

// OtherVersion returns the error for a request that expects another version than the
// present one.
func OtherVersion(present, detail string) error {
	p := &Error{Status: http.StatusPreconditionFailed, Outcome: message.Outcome{
		Outcome: message.Refused, Code: fault.CodeVersionMismatch, Detail: detail,
	}}
	if present != NoVersion {
		p.Header = ETag(present)
	}
	return p
}

// ETag returns the header of an answer that has a version.
func ETag(version string) http.Header { return http.Header{"Etag": {`"` + version + `"`}} }
