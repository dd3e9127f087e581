package client

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Condition is what a change wants to find. Where it finds something else
// nothing is changed, and the error is a *Refusal with CodeVersionMismatch. IfNone
// and IfVersion make one, of which a change takes one at most; the zero value is
// none.
type Condition struct{ name, value string }

// IfNone is the condition that there is nothing yet.
func IfNone() Condition { return Condition{"If-None-Match", "*"} }

// IfVersion is the condition that nobody has changed it since it was at a
// version, Policy.Version or UserSettings.Version.
func IfVersion[V int64 | string](version V) Condition {
	return Condition{"If-Match", strconv.QuoteToASCII(fmt.Sprint(version))}
}

// headerOf spells conditions. Of more than one the API says that they are too
// many.
func headerOf(conditions []Condition) http.Header {
	h := http.Header{}
	for _, c := range conditions {
		if c != (Condition{}) {
			h.Add(c.name, c.value)
		}
	}
	return h
}

// versionOf reads the version of an answer, as IfVersion takes it. What encodes
// an answer anew on its way may have marked the version as weak, which it is no
// more when the answer has been decoded.
func versionOf(h http.Header) string {
	return strings.Trim(strings.TrimPrefix(h.Get("ETag"), "W/"), `"`)
}
