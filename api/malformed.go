package api

import (
	"net/http"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// WriteMalformed answers bytes that can't be read as a request with a problem and a new
// request id. Reason says what is wrong, in the words of net/http; "" if it does not say.
func WriteMalformed(w http.ResponseWriter, status int, reason string) {
	w.Header().Set(web.RequestIDHeader, newRequestID())
	o := message.Outcome{Outcome: message.Invalid, Code: fault.CodeInvalidField, Field: "request"}
	switch {
	case status == http.StatusRequestHeaderFieldsTooLarge:
		o.Detail = "the headers of the request are too large: send fewer or shorter ones"
	case status == http.StatusNotImplemented:
		o.Code = web.CodeNotImplemented
		o.Detail = "the transfer encoding is not supported: use chunked, or Content-Length"
	case status == http.StatusHTTPVersionNotSupported:
		o.Detail = "the version of HTTP is not supported: use HTTP/1.1"
	case reason == "":
		o.Detail = "this is no HTTP request: its first line or a header is malformed"
	default:
		o.Detail = "malformed HTTP request: " + reason
	}
	web.WriteProblemStatus(w, status, o)
}
