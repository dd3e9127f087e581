package fault

import (
	"errors"
	"fmt"
	"strings"
)

// CodeExpired is the code of a dead letter that cannot be retried because its own expiry has
// passed.
const CodeExpired Code = "expired"

// Code is the reason of a refusal, for machines. Its spelling is part of the contract and does not
// change.
type Code string

// Codes of refusals.
const (
	CodeSendLimit   Code = "send_limit"     // the time would break a rule: see Violations
	CodeIDReused    Code = "id_reused"      // the id belongs to another request
	CodeTooLate     Code = "too_late"       // the message is being sent, was sent, or may have been
	CodeNotFound    Code = "not_found"      // there is no such reservation
	CodeInPast      Code = "in_past"        // more than Grace before now
	CodeTooFarAhead Code = "too_far_ahead"  // beyond the reach of schedules
	CodePastExpiry  Code = CodeInvalidField // a move to a time at or after ExpiresAt

	CodeTooManyDevices Code = "too_many_devices" // the user has as many devices as are allowed

	CodeQuietHours Code = "quiet_hours" // the time is in the policy's quiet hours
	// CodeDoNotDisturb is for a time before UserSettings.DoNotDisturbUntil.
	CodeDoNotDisturb Code = "do_not_disturb"
	// CodeTooManyPlaces is for a day in which the user has the maximum number of places, see
	// sendlimit.Options.PlacesPerDay.
	CodeTooManyPlaces Code = "too_many_places"
	// CodeAccountPlaces is for a day in which the account has its share of the user's places, see
	// sendlimit.Share.
	CodeAccountPlaces Code = "account_places"

	CodeBlocked Code = "blocked" // nothing is accepted for the user, see UserSettings.Blocked

	CodeOptedOut        Code = "opted_out"        // the user does not want the category, see UserSettings.OptOut
	CodeUnknownCategory Code = "unknown_category" // the policy has categories, but not this one
	// CodeCategoryReserved is for a category that the policy reserves for other accounts.
	CodeCategoryReserved Code = "category_reserved"

	CodeRateLimited   Code = "rate_limited"   // too many calls: see RetryAfter
	CodeQuotaExceeded Code = "quota_exceeded" // the account's messages of the hour or day are used up: see ResetsAt
	CodeThrottled     Code = "throttled"      // the category's messages of the minute or hour, over all users, are used up
	CodeUnauthorized  Code = "unauthorized"   // there is no API key, or it may not do this
	CodeForbidden     Code = "forbidden"      // the API key does not have the scope
	CodeInternal      Code = "internal"       // an error of the program itself

	// Codes of a change that the program has to repeat, with another hold or for the present
	// version of the message. Callers of the API never see them.
	CodeHoldOver    Code = "hold_over"    // it was later than Hold.NotAfter
	CodeOutsideHold Code = "outside_hold" // its place would be at or after Hold.Until
	CodeChanged     Code = "changed"      // the reservation is not as Hold.Former and From say
	CodeEdited      Code = "edited"       // the message is not as Edit.Of says
)

// Shiftable reports whether only the time was refused: the same message may be accepted at another
// time. It lists all limits on send times: the rules, the quiet hours, the do-not-disturb and the full days of a user,
// the throttle of a category, and the quota of an account.
func (c Code) Shiftable() bool {
	switch c {
	case CodeSendLimit, CodeQuietHours, CodeDoNotDisturb, CodeTooManyPlaces, CodeAccountPlaces, CodeThrottled, CodeQuotaExceeded:
		return true
	default:
		return false
	}
}

// CodeInvalidField is the code of every InvalidError.
const CodeInvalidField Code = "invalid_field"

// InvalidError is returned when an argument is out of bounds. Nothing was done.
type InvalidError struct {
	Field string // in the contract's spelling: "send_at", "rule"
	Value string // the value that was given
	Want  string // what is allowed, to follow "use"
	// Says replaces the usual sentence of field, Value and Want; "" for the usual one.
	Says string
}

// Wrong returns an InvalidError with its own sentence.
func Wrong(field, sentence string, args ...any) *InvalidError {
	return &InvalidError{Field: field, Says: fmt.Sprintf(sentence, args...)}
}

// Error names the field, the value and what is allowed.
func (e *InvalidError) Error() string {
	if e.Says != "" {
		return e.Says
	}
	return fmt.Sprintf("%s %q is not allowed: use %s", e.Field, Clip(e.Value), e.Want)
}

// Noting returns the error with a note at its end.
func (e *InvalidError) Noting(note string) *InvalidError {
	noted := *e
	noted.Want += note
	if noted.Says != "" {
		noted.Says += note
	}
	return &noted
}

// Code returns CodeInvalidField.
func (e *InvalidError) Code() Code { return CodeInvalidField }

// InvalidErrors is returned when several parts of one argument, such as a policy, are out of
// bounds, so that all can be corrected at once. errors.As finds the first. Nothing was done.
type InvalidErrors []*InvalidError

// Error returns a sentence for each, at most 20.
func (e InvalidErrors) Error() string {
	const most = 20
	var sentences []string
	for _, one := range e[:min(len(e), most)] {
		sentences = append(sentences, one.Error())
	}
	if more := len(e) - most; more > 0 {
		sentences = append(sentences, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(sentences, "; ")
}

// Code returns CodeInvalidField.
func (e InvalidErrors) Code() Code { return CodeInvalidField }

// Unwrap returns each.
func (e InvalidErrors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, one := range e {
		errs[i] = one
	}
	return errs
}

// Add adds each InvalidError in the tree of an error; it ignores nil and other errors.
func (e *InvalidErrors) Add(err error) {
	*e = append(*e, All[*InvalidError](err)...)
}

// All returns every error of a type in the tree of an error.
func All[E error](err error) []E {
	if one, is := err.(E); is { //nolint:errorlint // it walks the whole tree
		return []E{one}
	}
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() []error }:
		var all []E
		for _, one := range e.Unwrap() {
			all = append(all, All[E](one)...)
		}
		return all
	case interface{ Unwrap() error }:
		return All[E](e.Unwrap())
	}
	return nil
}

// Err returns nil for no error, a single error as it is, and several as InvalidErrors.
func (e InvalidErrors) Err() error {
	switch len(e) {
	case 0:
		return nil
	case 1:
		return e[0]
	default:
		return e
	}
}

// Clip shortens a long value, to keep an error readable.
func Clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}

// CodeVersionMismatch is the code of a change to something that was replaced meanwhile.
const CodeVersionMismatch Code = "version_mismatch"

// InField renames the field of an *InvalidError, or of InvalidErrors, to the caller's name for it.
// It returns other errors as they are.
func InField(err error, field string) error {
	var given, named InvalidErrors
	given.Add(err)
	for _, invalid := range given {
		named = append(named, &InvalidError{Field: field, Value: invalid.Value, Want: invalid.Want, Says: invalid.Says})
	}
	if named == nil {
		return err
	}
	return named.Err()
}

// CodePolicyInUse is the code of the deletion of a policy that settings of users name.
const CodePolicyInUse Code = "policy_in_use"

// CodeCampaignRunning is the code of a move of a campaign while another program moves it.
const CodeCampaignRunning Code = "campaign_running"

// CodeCampaignEnded is the code of a message of a campaign that was cancelled.
const CodeCampaignEnded Code = "campaign_ended"

// CodeIndexOff is the code of a search for messages that only the index finds, while it is off.
const CodeIndexOff Code = "index_off"

// CodeRefitRunning is the code of a refit while another one of the same policy runs.
const CodeRefitRunning Code = "refit_running"

// The codes of an UnavailableError.
const (
	CodeUnavailable Code = "unavailable"
	CodeStoreFull   Code = "store_full"  // no memory is left for more messages
	CodeStoreUnfit  Code = "store_unfit" // it may delete accepted messages, or lacks those of a backup
)

// UnavailableError is returned when the store cannot be used as it is: unreachable, not ready,
// full, refusing to write, or set up in a way that loses data. No argument is the cause, so the
// same call can succeed later.
type UnavailableError struct {
	// Detail says in one sentence what is wrong and what to do about it. It contains no secret.
	Detail string
	// Full says that the store has no memory left for the call, and that nothing was done.
	Full bool
	// Unfit says that the store would not keep what it accepts, until an operator changes that, and
	// that nothing was done.
	Unfit bool
	// Internal says that Detail is for operators even without a cause: it names an address.
	Internal bool
	Err      error // the cause; nil if the store answered
}

// MayBeDone ends the Detail of an UnavailableError of a call whose reply got lost.
const MayBeDone = ": the request may have been carried out, and it is safe to send it again with the same id"

// Error returns Detail.
func (e *UnavailableError) Error() string { return e.Detail }

// Public returns a text for callers who are not operators: Detail, or less if Detail may name an
// address or tell how the store is set up.
func (e *UnavailableError) Public() string {
	switch {
	case e.Err == nil && !e.Internal:
		return e.Detail
	case e.Full:
		return "the store is full: send the same request again later, when messages have been delivered and their records have expired"
	case e.Unfit:
		return "the store would not keep new messages: send the same request again later, when an operator has changed its settings"
	case strings.HasSuffix(e.Detail, MayBeDone):
		return "the store did not answer" + MayBeDone
	default:
		return "the store can't be used at the moment: send the same request again in a moment"
	}
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Code returns CodeStoreFull if the store is Full, CodeStoreUnfit if it is Unfit, otherwise
// CodeUnavailable.
func (e *UnavailableError) Code() Code {
	switch {
	case e.Full:
		return CodeStoreFull
	case e.Unfit:
		return CodeStoreUnfit
	default:
		return CodeUnavailable
	}
}

// ErrClockStepped is the cause of an UnavailableError while the store's clock is ahead of where it
// was: due times and counts may be wrong, so nothing is judged.
var ErrClockStepped = errors.New("the store's clock has stepped forward")

// NoSuchError is returned when a change names something that does not exist. Nothing was done.
type NoSuchError struct {
	What string // such as "account" or "version 3 of policy"
	Name string
}

// Error names what does not exist.
func (e *NoSuchError) Error() string { return fmt.Sprintf("no %s %q", e.What, Clip(e.Name)) }

// Code returns CodeNotFound.
func (e *NoSuchError) Code() Code { return CodeNotFound }

// CodeExists is the code of an ExistsError.
const CodeExists Code = "already_exists"

// ExistsError is returned when the name of something new is taken. Nothing was done.
type ExistsError struct {
	What string // "account"
	Name string
}

// Error names what exists.
func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s %q exists already", e.What, Clip(e.Name))
}

// Code returns CodeExists.
func (e *ExistsError) Code() Code { return CodeExists }

// NoSuchAccount returns the NoSuchError of an account.
func NoSuchAccount(name string) error { return &NoSuchError{What: "account", Name: name} }

// ErrReply is returned when a script's reply does not have its documented shape: the store is not
// Redis, or runs a script of another version.
var ErrReply = errors.New("unexpected reply of a script")
