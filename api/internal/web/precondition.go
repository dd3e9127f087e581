package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// NoVersion is the version of something that does not exist.
const NoVersion = "0"

// anyVersion matches every version of something that exists. No version has this name.
const anyVersion = "*"

// Precondition lists the versions that a request accepts. An empty list accepts every version.
type Precondition []string

// Accepts reports whether the request accepts a version.
func (p Precondition) Accepts(version string) bool {
	return len(p) == 0 || slices.Contains(p, version) || p.Existing() && version != NoVersion
}

// Existing reports whether the request accepts any existing version.
func (p Precondition) Existing() bool { return slices.Contains(p, anyVersion) }

// PreconditionOf reads If-Match, which must be * or a list of versions in quotes, and
// If-None-Match, which must be *.
func PreconditionOf(h http.Header) (Precondition, error) {
	match, none := h.Values("If-Match"), h.Values("If-None-Match")
	switch {
	case len(match) > 0 && len(none) > 0:
		return nil, HeaderError("If-None-Match", none, "no value beside If-Match")
	case len(none) > 0:
		if len(none) != 1 || strings.TrimSpace(none[0]) != "*" {
			return nil, HeaderError("If-None-Match", none, "*: there must be nothing yet")
		}
		return Precondition{NoVersion}, nil
	case len(match) == 0:
		return Precondition{}, nil
	case len(match) == 1 && strings.TrimSpace(match[0]) == "*":
		return Precondition{anyVersion}, nil
	}
	var versions Precondition
	for tag := range strings.SplitSeq(strings.Join(match, ","), ",") {
		version, quoted := strings.CutPrefix(strings.TrimSpace(tag), `"`)
		version, ended := strings.CutSuffix(version, `"`)
		if !quoted || !ended || version == "" || version == anyVersion || strings.ContainsAny(version, "\" \t") {
			return nil, HeaderError("If-Match", match, `* for any version, or versions in quotes as ETag has them: "7", or "7", "8"`)
		}
		versions = append(versions, version)
	}
	return versions, nil
}

// Known reports whether the caller already has the version of an ETag: the request is a GET with an
// If-None-Match that is *, or a list with the ETag. Weak ETags count too, since the header compares
// contents only.
func Known(r *http.Request, tag string) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	for given := range strings.SplitSeq(strings.Join(r.Header.Values("If-None-Match"), ","), ",") {
		given = strings.TrimSpace(given)
		if given == "*" || strings.TrimPrefix(given, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

// HeaderError returns the error about a header that is not allowed.
func HeaderError(name string, values []string, want string) error {
	return &fault.InvalidError{Field: name, Value: Printable(strings.Join(values, ", ")), Want: want}
}

// OtherVersion returns the error for a request that expects another version than the present one.
func OtherVersion(present, detail string) error {
	p := &Error{Status: http.StatusPreconditionFailed, Outcome: message.Outcome{
		Outcome: message.Refused, Code: fault.CodeVersionMismatch, Detail: detail,
	}}
	if present != NoVersion {
		p.Header = ETag(present)
	}
	return p
}

// ETag returns the header of a versioned answer.
func ETag(version string) http.Header { return http.Header{"Etag": {`"` + version + `"`}} }
