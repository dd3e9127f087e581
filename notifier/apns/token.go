package apns

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/asn1"
	"fmt"
	"math/big"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	// tokenEvery is the interval between provider tokens. Apple accepts one for an hour, and
	// refuses a new one more often than every 20 minutes.
	tokenEvery = 35 * time.Minute
	// tokenHeld is how long no new token is used after Apple has seen too many.
	tokenHeld = 20 * time.Minute
	// tokenSince is the age of a new token's issue time, so that a clock that is ahead does not
	// issue tokens of the future.
	tokenSince = time.Minute
	// tokenLasts is the maximum age of a token in use, less than Apple's hour for a clock that is
	// behind.
	tokenLasts = 58 * time.Minute
)

// signer signs the provider token. All programs with the same key create the same token at the same
// time, without communication: its issue time is a multiple of tokenEvery, and its signature is
// deterministic (RFC 6979). So Apple never sees alternating tokens of several workers or commands.
// It is safe for concurrent use.
type signer struct {
	key        *ecdsa.PrivateKey
	id, issuer string

	mu     sync.Mutex
	token  string // "" for none yet
	issued time.Time
	held   time.Time // no other token is used until then; zero for no hold
}

// issuedAt returns the issue time of the token at a time.
func issuedAt(now time.Time) time.Time { return now.Add(-tokenSince).Truncate(tokenEvery) }

// bearer returns the provider token.
func (s *signer) bearer(now time.Time) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == "" || !issuedAt(now).Equal(s.issued) && !s.isHeld(now) {
		if err := s.sign(issuedAt(now)); err != nil {
			return "", err
		}
	}
	return s.token, nil
}

// renew replaces a token that Apple calls expired, and reports whether there is another one. If the
// current token was refused, there is none: the clocks do not agree.
func (s *signer) renew(refused string, now time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token != refused {
		return true, nil
	}
	if issuedAt(now).Equal(s.issued) || s.isHeld(now) {
		return false, nil
	}
	return true, s.sign(issuedAt(now))
}

// hold stops the use of new tokens for as long as Apple wants to see no other one, or until the
// token expires. If the current token came too soon, it returns to the previous one, since another
// program may have changed a moment ago. It reports whether there is a token other than the refused
// one.
func (s *signer) hold(refused string, now time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token != refused {
		return true, nil
	}
	former := s.issued.Add(-tokenEvery)
	again := now.Sub(former) < tokenLasts
	if again {
		if err := s.sign(former); err != nil {
			return false, err
		}
	}
	s.held = now.Add(tokenHeld)
	if last := s.issued.Add(tokenLasts); last.Before(s.held) {
		s.held = last
	}
	return again, nil
}

func (s *signer) isHeld(now time.Time) bool {
	left := s.held.Sub(now)
	// A clock that was set back does not prolong the hold.
	return left > 0 && left <= tokenHeld
}

// sign creates the token with an issue time. The caller holds the lock.
func (s *signer) sign(issued time.Time) error {
	token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{"iss": s.issuer, "iat": issued.Unix()})
	token.Header["kid"] = s.id
	text, err := token.SigningString()
	if err != nil {
		return fmt.Errorf("encode the provider token: %w", err)
	}
	signature, err := signAlike(s.key, text)
	if err != nil {
		return fmt.Errorf("sign the provider token: %w", err)
	}
	s.token, s.issued = text+"."+token.EncodeSegment(signature), issued
	return nil
}

// signAlike returns the deterministic ES256 signature of a text: crypto/ecdsa follows RFC 6979 if
// it has no source of randomness.
func signAlike(key *ecdsa.PrivateKey, text string) ([]byte, error) {
	digest := sha256.Sum256([]byte(text))
	encoded, err := key.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	var pair struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(encoded, &pair); err != nil {
		return nil, err
	}
	signature := make([]byte, 64)
	pair.R.FillBytes(signature[:32])
	pair.S.FillBytes(signature[32:])
	return signature, nil
}
