package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
)

// Encode returns JSON in which < > and & are not escaped, which is shorter.
func Encode(value any) ([]byte, error) {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	if err := out.Encode(value); err != nil {
		return nil, fmt.Errorf("encode a push: %w", err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// ReadOverride reads a message's additions for a channel. It reports false unless raw is one value
// without members that into lacks.
func ReadOverride(raw json.RawMessage, into any) bool {
	in := json.NewDecoder(bytes.NewReader(raw))
	in.DisallowUnknownFields()
	in.UseNumber()
	return in.Decode(into) == nil && json.Valid(raw) // the decoder stops after the first value
}

// Merge applies a JSON merge patch (RFC 7396).
func Merge(to, patch map[string]any) {
	for name, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(to, name)
		case map[string]any:
			inner, ok := to[name].(map[string]any)
			if !ok {
				inner = map[string]any{}
				to[name] = inner
			}
			Merge(inner, value)
		default:
			to[name] = value
		}
	}
}

// Printable reports whether text is visible ASCII, so that it can be a header value.
func Printable(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// ProviderID returns a provider's id of a message, or "" if it is not printable or longer than a
// number of bytes.
func ProviderID(id string, longest int) string {
	if len(id) > longest || !Printable(id) {
		return ""
	}
	return id
}

// CheckTimeout returns a *notifier.InvalidError for a timeout that is negative or longer than most.
func CheckTimeout(field string, timeout, most time.Duration) error {
	if timeout >= 0 && timeout <= most {
		return nil
	}
	return &notifier.InvalidError{Field: field, Value: timeout.String(), Want: "a time above zero and up to " + most.String()}
}
