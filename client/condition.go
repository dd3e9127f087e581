package client

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Condition is required for a change. If it is not met, nothing is changed and the error is a
// *Refusal with CodeVersionMismatch. Create it with IfNone, IfExists or IfVersion. If several
// versions are given, one must be the present one. IfNone and IfExists can't be combined with
// another condition. The zero value is no condition.
type Condition struct{ name, value string }

// IfNone requires that nothing is stored yet.
func IfNone() Condition { return Condition{"If-None-Match", "*"} }

// IfExists requires that something is stored, at any version.
func IfExists() Condition { return Condition{"If-Match", "*"} }

// IfVersion requires that the version is still this one: Policy.Version or
// UserSettings.Version.
func IfVersion[V int64 | string](version V) Condition {
	return Condition{"If-Match", strconv.QuoteToASCII(fmt.Sprint(version))}
}

func headerOf(conditions []Condition) http.Header {
	h := http.Header{}
	for _, c := range conditions {
		if c != (Condition{}) {
			h.Add(c.name, c.value)
		}
	}
	return h
}

// versionOf returns the version of an answer for IfVersion. It drops the mark "weak" that a proxy
// adds when it compresses an answer.
func versionOf(h http.Header) string {
	return strings.Trim(strings.TrimPrefix(h.Get("ETag"), "W/"), `"`)
}
