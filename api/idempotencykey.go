package api

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

const (
	idempotencyKeyHeader = "Idempotency-Key"
	maxIdempotencyKey    = 255 // bytes
)

func idempotencyKeyParameter() *huma.Param {
	return &huma.Param{
		Name: idempotencyKeyHeader, In: "header", Example: "order-17",
		Description: fmt.Sprintf("The message's id, with or without quotes: 1 to %d characters of printable ASCII. A key that is no id "+
			"stands for the id ik_ and the SHA-256 of the key in base64url without padding.", maxIdempotencyKey),
		// Quoted, a key has at most a backslash before each character.
		Schema: &huma.Schema{Type: huma.TypeString, Pattern: "^[ -~]+$", MaxLength: new(2*maxIdempotencyKey + 2)},
	}
}

// takeIdempotencyKey sets the draft's id from the header.
func takeIdempotencyKey(d *message.Draft, h http.Header) error {
	given := h.Values(idempotencyKeyHeader)
	if len(given) == 0 {
		return nil
	}
	key, ok := unquoted(given[0])
	if len(given) > 1 || !ok || !validIdempotencyKey(key) {
		want := fmt.Sprintf("one key: 1 to %d characters of printable ASCII", maxIdempotencyKey)
		return web.HeaderError(idempotencyKeyHeader, given, want)
	}
	id := idOfKey(key)
	if d.ID != "" && d.ID != id {
		return fault.Wrong("id", "id %q is not the Idempotency-Key %q: give one of them", fault.Clip(d.ID), fault.Clip(key))
	}
	d.ID = id
	return nil
}

// refuseIdempotencyKey returns an error if the header is given, for operations that would do a
// repeated request twice.
func refuseIdempotencyKey(h http.Header) error {
	if given := h.Values(idempotencyKeyHeader); len(given) > 0 {
		return &fault.InvalidError{
			Field: idempotencyKeyHeader, Value: web.Printable(given[0]), Want: "no value",
			Says: "this operation does not support the header Idempotency-Key; the messages of a batch have an id each",
		}
	}
	return nil
}

// unquoted returns a key without the quotes that the header's specification requires, and that most
// clients leave out. It reports false if they are not in pairs.
func unquoted(text string) (string, bool) {
	inside, begins := strings.CutPrefix(text, `"`)
	if !begins {
		return text, true
	}
	inside, ends := strings.CutSuffix(inside, `"`)
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(inside), ends
}

func validIdempotencyKey(key string) bool {
	unprintable := func(r rune) bool { return r < ' ' || r > '~' }
	return key != "" && len(key) <= maxIdempotencyKey && !strings.ContainsFunc(key, unprintable)
}

// idOfKey returns the id for a key. The derivation must never change, so that a repeated request
// finds its message after an upgrade.
func idOfKey(key string) string {
	if keyspace.ValidID(key) {
		return key
	}
	hash := sha256.Sum256([]byte(key))
	return "ik_" + base64.RawURLEncoding.EncodeToString(hash[:])
}
