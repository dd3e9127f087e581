package apns

import (
	"crypto/ecdsa"
	"fmt"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	// tokenKept is how long a provider token is used. Apple refuses one after 60 minutes.
	tokenKept = 50 * time.Minute
	// tokenLeast is how long a token is used at least. Apple refuses a key whose tokens change
	// more often.
	tokenLeast = 20 * time.Minute
)

// signer signs provider tokens, and has one for all connections. It is safe for concurrent use.
type signer struct {
	key           *ecdsa.PrivateKey
	keyID, teamID string

	mu   sync.Mutex
	kept token     // the zero token before the first
	held time.Time // when a renewal is allowed again
}

// token is a provider token.
type token struct {
	text   string // a secret
	signed time.Time
}

// current returns the token to use at a time.
func (s *signer) current(now time.Time) (token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept.text != "" && (!s.kept.due(now) || !s.mayRenew(now)) {
		return s.kept, nil
	}
	return s.sign(now)
}

// renew returns a token to use in place of one that Apple says has expired, or false if there
// can be none: the refused one is too young, so that a new one would not be better.
func (s *signer) renew(refused token, now time.Time) (token, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept.text != refused.text {
		return s.kept, true // another delivery was faster
	}
	if !s.mayRenew(now) {
		return token{}, false
	}
	renewed, err := s.sign(now)
	return renewed, err == nil
}

// hold keeps the token for tokenLeast, since Apple says that tokens change too often.
func (s *signer) hold(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !now.Before(s.held) {
		s.held = now.Add(tokenLeast)
	}
}

// mayRenew reports whether a renewal is not too early.
func (s *signer) mayRenew(now time.Time) bool {
	return now.Sub(s.kept.signed) >= tokenLeast && !now.Before(s.held)
}

// due reports whether Apple may soon refuse a token for its age, or refuses one that was signed
// in the future, since the clock was set back. Both are matters of the wall clock.
func (t token) due(now time.Time) bool {
	age := now.Round(0).Sub(t.signed.Round(0))
	return age >= tokenKept || age < 0
}

func (s *signer) sign(now time.Time) (token, error) {
	claims := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{"iss": s.teamID, "iat": now.Unix()})
	claims.Header["kid"] = s.keyID
	text, err := claims.SignedString(s.key)
	if err != nil {
		return token{}, fmt.Errorf("sign a provider token: %w", err)
	}
	s.kept = token{text: text, signed: now}
	return s.kept, nil
}
