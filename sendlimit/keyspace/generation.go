package keyspace

import (
	"crypto/rand"
	"encoding/base64"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const TokenBytes = 9 // 72 random bits: 12 characters

// NewToken makes a generation, or the nonce of a delivery: a random token
// of 12 characters, safe in keys and task ids, never made twice.
func NewToken() string {
	var b [TokenBytes]byte
	_, _ = rand.Read(b[:]) // never fails, and ends the program if the system has no randomness
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func CheckToken(g string) error {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	if g == "" || len(g) > 64 || !OnlyBytes(g, allowed) {
		return &fault.InvalidError{Field: "generation", Value: g, Want: "1 to 64 of A-Z a-z 0-9 _ -, see NewGeneration"}
	}
	return nil
}
