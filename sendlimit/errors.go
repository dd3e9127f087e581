package sendlimit

import (
	"errors"
	"fmt"
	"strings"
)

// CodeInvalidField is the code of every InvalidError.
const CodeInvalidField Code = "invalid_field"

// ErrReply is returned when a script's reply has not the shape it is
// documented to have: the store is not Redis, or runs another version's
// script.
var ErrReply = errors.New("unexpected reply of a script")

// InvalidError is returned when an argument is outside what is allowed.
// Nothing was done.
type InvalidError struct {
	Field string // as the contract spells it: "send_at", "rule"
	Value string // what was given
	Want  string // what is allowed, to stand after "is not" or "wants"
}

// Error names the field, the value and what is allowed.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s %q is not allowed: it takes %s", e.Field, clip(e.Value), e.Want)
}

// Code returns CodeInvalidField.
func (e *InvalidError) Code() Code { return CodeInvalidField }

// InvalidErrors is returned when several things of one argument, such as a Policy,
// are outside what is allowed, so that all can be mended at once; errors.As finds
// the first. Nothing was done.
type InvalidErrors []*InvalidError

// Error has a sentence for each, up to 20.
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

// add notes what an error says is not allowed; nil says nothing.
func (e *InvalidErrors) add(err error) {
	if several, ok := errors.AsType[InvalidErrors](err); ok {
		*e = append(*e, several...)
	} else if one, ok := errors.AsType[*InvalidError](err); ok {
		*e = append(*e, one)
	}
}

// err is the error to return: nil where there is nothing, and one by itself.
func (e InvalidErrors) err() error {
	switch len(e) {
	case 0:
		return nil
	case 1:
		return e[0]
	default:
		return e
	}
}

// clip keeps a message readable when the value is not.
func clip(s string) string {
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
