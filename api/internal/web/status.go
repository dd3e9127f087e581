package web

import (
	"net/http"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// The codes of errors of HTTP itself.
const (
	CodeMethodNotAllowed fault.Code = "method_not_allowed"
	CodeCrossOrigin      fault.Code = "cross_origin"
	CodeNotImplemented   fault.Code = "not_implemented"
)

// Kind is the HTTP status and title of a code.
type Kind struct {
	Code   fault.Code
	Status int // the usual one
	Title  string
}

// Statuses returns every possible status of answers with the code, in order. Some parts of a
// request have a special status.
func (k Kind) Statuses() []int {
	switch k.Code {
	case fault.CodeInvalidField:
		return []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, k.Status}
	case fault.CodeUnavailable:
		return []int{http.StatusRequestTimeout, k.Status}
	case fault.CodeQuotaExceeded:
		return []int{http.StatusConflict, k.Status}
	default:
		return []int{k.Status}
	}
}

// Kinds returns the kinds of all codes that an answer can have.
func Kinds() []Kind {
	return []Kind{
		{fault.CodeInvalidField, http.StatusUnprocessableEntity, "A field is not allowed as it is"},
		{fault.CodeInPast, http.StatusUnprocessableEntity, "The send time is in the past"},
		{fault.CodeUnknownCategory, http.StatusUnprocessableEntity, "The policy does not know the category"},
		{fault.CodeCategoryReserved, http.StatusUnprocessableEntity, "The category is for other accounts"},
		{fault.CodeTooFarAhead, http.StatusUnprocessableEntity, "The send time is too far ahead"},
		{fault.CodeSendLimit, http.StatusConflict, "The send time would break a rule"},
		{fault.CodeQuietHours, http.StatusConflict, "The send time is in quiet hours"},
		{fault.CodeDoNotDisturb, http.StatusConflict, "The user does not want to be disturbed at the send time"},
		{fault.CodeTooManyPlaces, http.StatusConflict, "The user has as many messages on that day as are allowed"},
		{fault.CodeAccountPlaces, http.StatusConflict, "The account has its share of the user's messages on that day"},
		{fault.CodeTooManyDevices, http.StatusConflict, "The user has as many devices as are allowed"},
		{fault.CodeThrottled, http.StatusConflict, "The category's messages of that minute or hour are used up"},
		{fault.CodeIDReused, http.StatusConflict, "The id stands for another message"},
		{fault.CodeTooLate, http.StatusConflict, "The message can no longer be changed"},
		{fault.CodeExpired, http.StatusConflict, "The message has expired"},
		{fault.CodePolicyInUse, http.StatusConflict, "Users have the policy"},
		{fault.CodeCampaignRunning, http.StatusConflict, "The campaign is being moved"},
		{fault.CodeCampaignEnded, http.StatusConflict, "The campaign was cancelled"},
		{fault.CodeIndexOff, http.StatusConflict, "There is no index of all messages"},
		{fault.CodeRefitRunning, http.StatusConflict, "A refit of the policy is running"},
		{fault.CodeExists, http.StatusConflict, "It exists already"},
		{fault.CodeVersionMismatch, http.StatusPreconditionFailed, "It is at another version"},
		{fault.CodeNotFound, http.StatusNotFound, "Not found"},
		{fault.CodeUnavailable, http.StatusServiceUnavailable, "Not available at the moment"},
		{fault.CodeStoreFull, http.StatusServiceUnavailable, "The store is full"},
		{fault.CodeStoreUnfit, http.StatusServiceUnavailable, "The store would not keep messages"},
		{CodeMethodNotAllowed, http.StatusMethodNotAllowed, "The address has no such method"},
		{CodeNotImplemented, http.StatusNotImplemented, "There is no such method"},
		{CodeCrossOrigin, http.StatusForbidden, "Another site's page must not do this"},
		{fault.CodeInternal, http.StatusInternalServerError, "Internal error"},
		{fault.CodeUnauthorized, http.StatusUnauthorized, "The key is missing or unknown"},
		{fault.CodeForbidden, http.StatusForbidden, "The key lacks the scope"},
		{fault.CodeBlocked, http.StatusForbidden, "Nothing is accepted for the user"},
		{fault.CodeOptedOut, http.StatusForbidden, "The user does not want the category"},
		{fault.CodeRateLimited, http.StatusTooManyRequests, "Too many requests"},
		{fault.CodeQuotaExceeded, http.StatusTooManyRequests, "The quota is used up"},
	}
}

// KindOf returns the kind of a code. An unknown code has the kind of CodeInternal.
func KindOf(code fault.Code) Kind {
	for _, k := range Kinds() {
		if k.Code == code {
			return k
		}
	}
	return KindOf(fault.CodeInternal)
}
