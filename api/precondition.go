package api

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// noVersion stands for the version of what is not there.
const noVersion = "0"

// precondition is the version that a request wants to find; the zero value is
// whatever there is.
type precondition struct{ version string }

// preconditionOf reads If-Match, a version in quotes, and If-None-Match, which can
// be * alone.
func preconditionOf(h http.Header) (precondition, error) {
	match, none := h.Values("If-Match"), h.Values("If-None-Match")
	switch {
	case len(match) > 0 && len(none) > 0:
		return precondition{}, headerError("If-None-Match", none, "no value beside If-Match")
	case len(none) > 0:
		if len(none) != 1 || strings.TrimSpace(none[0]) != "*" {
			return precondition{}, headerError("If-None-Match", none, "*: there must be nothing yet")
		}
		return precondition{noVersion}, nil
	case len(match) == 0:
		return precondition{}, nil
	}
	const want = `one version in quotes, as ETag has it: "7"`
	version, quoted := strings.CutPrefix(strings.TrimSpace(match[0]), `"`)
	version, ended := strings.CutSuffix(version, `"`)
	if len(match) != 1 || !quoted || !ended || version == "" || strings.ContainsAny(version, "\", \t") {
		return precondition{}, headerError("If-Match", match, want)
	}
	return precondition{version}, nil
}

// number is the version as policies count them, sendlimit.AnyVersion where any will
// do.
func (p precondition) number() (int64, error) {
	if p.version == "" {
		return settings.AnyVersion, nil
	}
	n, err := strconv.ParseUint(p.version, 10, 63)
	if err != nil {
		return 0, headerError("If-Match", []string{`"` + p.version + `"`}, `a version of a policy in quotes, as ETag has it: "7"`)
	}
	return int64(n), nil
}

func headerError(name string, values []string, want string) error {
	return &fault.InvalidError{Field: name, Value: valid(strings.Join(values, ", ")), Want: want}
}

// otherVersion is the answer to a request that wants to find another version.
func otherVersion(present, detail string) error {
	p := &httpError{status: http.StatusPreconditionFailed, outcome: message.Outcome{
		Outcome: message.Refused, Code: fault.CodeVersionMismatch, Detail: detail,
	}}
	if present != noVersion {
		p.header = etag(present)
	}
	return p
}

// etag is the header of an answer that has a version.
func etag(version string) http.Header { return http.Header{"Etag": {`"` + version + `"`}} }

// conditionParameters are the headers that preconditionOf reads.
func conditionParameters(what string) []*huma.Param {
	return []*huma.Param{
		{
			Name: "If-Match", In: "header", Example: `"7"`,
			Description: "Only where " + what + " at this version, in quotes, as ETag has it; \"0\" is where there is nothing yet.",
			Schema:      &huma.Schema{Type: huma.TypeString},
		},
		{
			Name: "If-None-Match", In: "header", Example: "*",
			Description: "* is only where there is nothing yet.",
			Schema:      &huma.Schema{Type: huma.TypeString},
		},
	}
}

// versioned documents an answer that has a version.
func versioned(all map[string]*huma.Response) map[string]*huma.Response {
	all[strconv.Itoa(http.StatusOK)].Headers = headers(requestIDHeader, "ETag")
	return all
}
