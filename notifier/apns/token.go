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
	// tokenEvery is after how long a new provider token is used. Apple accepts one for an hour,
	// and refuses to see a new one more often than every 20 minutes.
	tokenEvery = 35 * time.Minute
	// tokenHeld is how long no new token is used after Apple has seen too many.
	tokenHeld = 20 * time.Minute
	// tokenSince is how long ago a new token says that it was issued, so that a clock that is
	// somewhat ahead makes none of the future.
	tokenSince = time.Minute
	// tokenLasts is for how long after it was issued a token is used at most. It is less than
	// Apple's hour, for a clock that is somewhat behind.
	tokenLasts = 58 * time.Minute
)

// signer signs the provider token. All programs with the same key make the same one at the same
// time, without a word between them: it says that it was issued at a multiple of tokenEvery, and
// its signature is the one that RFC 6979 gives. So Apple never sees the tokens of several
// workers alternate, nor one more for each command that an operator runs. It is safe for
// concurrent use.
type signer struct {
	key        *ecdsa.PrivateKey
	id, issuer string

	mu     sync.Mutex
	token  string // "" for none yet
	issued time.Time
	held   time.Time // until when no other is used; zero for no such time
}

// issuedAt returns when the token of a time says that it was issued.
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

// renew replaces a token that Apple says has expired, and reports whether there is another one
// now. There is none if the refused one is the present one: then the clocks do not agree.
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

// hold has no other token used for as long as Apple wants to see no other one, or until the
// token expires. If it was the refused one that came too soon, the one before it is used again:
// another program may have begun to use that a moment ago. hold reports whether there is another
// token to use than the refused one.
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
	// A clock that was set back does not make the time longer.
	return left > 0 && left <= tokenHeld
}

// sign makes the token of a time. The caller holds the lock: those who need one meanwhile get it
// too.
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

// signAlike returns the ES256 signature of a text, the same at each call: without a source of
// randomness crypto/ecdsa follows RFC 6979.
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
