package operations

import (
	"errors"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Refused is an answer of the API that reports a failure.
type Refused struct{ message.Outcome }

// Error returns the sentence for a person.
func (r *Refused) Error() string {
	if r.Detail == "" {
		return string(r.Outcome.Code)
	}
	return r.Detail
}

// Code returns the word for programs.
func (r *Refused) Code() fault.Code { return r.Outcome.Code }

// JSON returns the answer as the API gave it.
func (r *Refused) JSON() any { return r.Outcome }

// Answered turns a client's error into the API's answer. It returns other errors unchanged.
func Answered(err error) error {
	var o message.Outcome
	if refusal, ok := errors.AsType[*client.Refusal](err); ok {
		o = refusal.Outcome
	} else if wrong, ok := errors.AsType[*client.InvalidError](err); ok {
		o = wrong.Outcome
	} else if known, ok := errors.AsType[*fault.UnavailableError](err); ok { // of the store of this process
		return known
	} else if away, ok := errors.AsType[*client.UnavailableError](err); ok {
		o = message.Outcome{Outcome: message.Errored, Code: away.Code, Detail: away.Detail}
	} else if other, ok := errors.AsType[*client.ResponseError](err); ok {
		o = message.Outcome{Outcome: message.Errored, Code: other.Code, Detail: other.Error()}
		if other.Code == fault.CodeForbidden || other.Code == fault.CodeInternal {
			o.Detail = other.Detail
		}
	} else {
		return err
	}
	return &Refused{o}
}

// OutcomeOf returns the outcome of an error.
func OutcomeOf(err error) message.Outcome {
	if refused, ok := errors.AsType[*Refused](Answered(err)); ok {
		return refused.Outcome
	}
	return message.OutcomeOf(err)
}

// needsKey explains an error of an API about a key: it names the address and where the key comes
// from. given reports whether the request had one.
func needsKey(err error, address string, given bool) error {
	refused, ok := errors.AsType[*Refused](err)
	if !ok {
		return err
	}
	the := "the API at " + address
	switch code := refused.Outcome.Code; {
	case code == fault.CodeForbidden:
		refused.Detail = the + " refuses this: " + refused.Detail
	case code != fault.CodeUnauthorized:
	case given:
		refused.Detail = the + " rejects the key: it is unknown or its account is disabled; check SENDLIMIT_API_KEY or the file of --api-key-file"
	default:
		refused.Detail = the + " requires a key: set SENDLIMIT_API_KEY, or --api-key-file to a file with the key"
	}
	return refused
}
