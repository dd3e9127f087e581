package keyspace

import (
	"crypto/rand"
	"encoding/base64"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// TokenBytes is the size of a token, 72 random bits; it is written in 12 characters.
const TokenBytes = 9

// NewToken returns 12 random characters that are safe in keys and task ids and do not repeat. A
// token is a message's generation, the nonce of a delivery, or part of a hold's attempt.
func NewToken() string {
	var b [TokenBytes]byte
	_, _ = rand.Read(b[:]) // never fails; it ends the program if the system has no randomness
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// CheckToken checks a token of a caller. The error is an *InvalidError for the field.
func CheckToken(field, token string) error {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	if token == "" || len(token) > 64 || !OnlyBytes(token, allowed) {
		return &fault.InvalidError{Field: field, Value: token, Want: "1 to 64 of A-Z a-z 0-9 _ -, see keyspace.NewToken"}
	}
	return nil
}

// CheckAttempt checks the attempt of a hold, see package quota. The error is an *InvalidError.
func CheckAttempt(attempt string) error {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-~"
	if attempt == "" || len(attempt) > 256 || !OnlyBytes(attempt, allowed) {
		return &fault.InvalidError{Field: "attempt", Value: attempt, Want: "1 to 256 of A-Z a-z 0-9 _ - ~, see package quota"}
	}
	return nil
}
