package api

import (
	"net/http"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// The codes of what can go wrong with HTTP alone.
const (
	codeMethodNotAllowed sendlimit.Code = "method_not_allowed"
	codeCrossOrigin      sendlimit.Code = "cross_origin"
	codeForbidden        sendlimit.Code = "forbidden"
	codeInternal         sendlimit.Code = "internal"
)

// kind is what HTTP calls a code.
type kind struct {
	code   sendlimit.Code
	status int
	title  string
}

// kinds has every code that an answer can have.
func kinds() []kind {
	return []kind{
		{sendlimit.CodeInvalidField, http.StatusUnprocessableEntity, "A field is not allowed as it is"},
		{sendlimit.CodeInPast, http.StatusUnprocessableEntity, "The send time is in the past"},
		{sendlimit.CodeTooFarAhead, http.StatusUnprocessableEntity, "The send time is too far ahead"},
		{sendlimit.CodeSendLimit, http.StatusConflict, "The send time would break a rule"},
		{sendlimit.CodeQuietHours, http.StatusConflict, "The send time is in quiet hours"},
		{sendlimit.CodeIDReused, http.StatusConflict, "The id stands for another message"},
		{sendlimit.CodeTooLate, http.StatusConflict, "The message can no longer be changed"},
		{sendlimit.CodeExpired, http.StatusConflict, "The message has expired"},
		{sendlimit.CodeRefitRunning, http.StatusConflict, "A refit of the policy is running"},
		{sendlimit.CodeVersionMismatch, http.StatusPreconditionFailed, "It is at another version"},
		{sendlimit.CodeNotFound, http.StatusNotFound, "Not found"},
		{sendlimit.CodeUnavailable, http.StatusServiceUnavailable, "Not available at the moment"},
		{sendlimit.CodeStoreFull, http.StatusServiceUnavailable, "The store is full"},
		{codeMethodNotAllowed, http.StatusMethodNotAllowed, "The address has no such method"},
		{codeCrossOrigin, http.StatusForbidden, "Another site's page must not do this"},
		{codeInternal, http.StatusInternalServerError, "Internal error"},
		{sendlimit.CodeUnauthorized, http.StatusUnauthorized, "The key is missing or unknown"},
		{codeForbidden, http.StatusForbidden, "The key has not the scope"},
		{sendlimit.CodeBlocked, http.StatusForbidden, "Nothing is accepted for the user"},
		{sendlimit.CodeRateLimited, http.StatusTooManyRequests, "Too many requests"},
		{sendlimit.CodeQuotaExceeded, http.StatusTooManyRequests, "The quota is used up"},
	}
}

// kindOf is the kind of a code; internal for one that is not known.
func kindOf(code sendlimit.Code) kind {
	for _, k := range kinds() {
		if k.code == code {
			return k
		}
	}
	return kindOf(codeInternal)
}
