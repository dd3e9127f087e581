package sendlimit

import (
	"errors"
	"fmt"
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
