package message

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// CheckJSON refuses text that is not one JSON value, and JSON that two readers can understand
// differently: a duplicate member, half of a surrogate pair and invalid UTF-8. encoding/json keeps
// the last duplicate and writes U+FFFD for the others, so that several users would become one.
//
// The error is a *fault.InvalidError. It names the member, such as "data.order", or whole if no
// single member is wrong. Check JSON of a caller before you decode it.
func CheckJSON(text []byte, whole string) error {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(text))
	err := decoder.SkipValue()
	at, pointer := decoder.InputOffset(), jsontext.Pointer("")
	if err == nil {
		after := bytes.TrimLeft(text[at:], " \t\r\n")
		if len(after) == 0 {
			return nil
		}
		at, err = int64(len(text)-len(after)), errTrailing
	}
	if wrong, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at, pointer, err = wrong.ByteOffset, wrong.JSONPointer, wrong.Err
	}
	if errors.Is(err, io.EOF) {
		at = int64(len(text)) // there is only white space
	}
	rest := text[min(int(at), len(text)):]
	field := whole
	if pointer != "" {
		field = fault.Clip(strings.Join(slices.Collect(pointer.Tokens()), "."))
	}
	name := printable(field)
	invalid := &fault.InvalidError{Field: field, Want: "JSON that every reader understands in the same way"}
	tooShort := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	switch {
	case tooShort:
		invalid.Field, invalid.Want = whole, "JSON"
		invalid.Says = fmt.Sprintf("invalid JSON at byte %d: the text ends too early", at+1)
	case errors.Is(err, jsontext.ErrDuplicateName):
		invalid.Says = fmt.Sprintf("%s is given twice, the second time at byte %d", name, at+1)
	case halfPair(rest):
		invalid.Value = string(rest[:escapeLength])
		invalid.Says = fmt.Sprintf("%s has half of a surrogate pair, %s, at byte %d: it is no character", name, invalid.Value, at+1)
	case notUTF8(rest):
		invalid.Says = fmt.Sprintf("%s is not valid UTF-8 at byte %d", name, at+1)
	default:
		invalid.Field, invalid.Want = whole, "JSON"
		invalid.Says = fmt.Sprintf("invalid JSON at byte %d: %s", at+1, err)
	}
	return invalid
}

// printable returns a member's name for a sentence, quoted if a terminal would not show it as it
// is.
func printable(name string) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}

var errTrailing = errors.New("there is text after the end of the value")

const escapeLength = len(`\ud800`)

// halfPair reports whether text begins with the escape of a surrogate. The decoder stops there only
// if the other half is missing.
func halfPair(text []byte) bool {
	return len(text) >= escapeLength && text[0] == '\\' && text[1] == 'u' &&
		(text[2] == 'd' || text[2] == 'D') && strings.IndexByte("89abcdefABCDEF", text[3]) >= 0
}

func notUTF8(text []byte) bool {
	r, size := utf8.DecodeRune(text)
	return r == utf8.RuneError && size == 1
}
