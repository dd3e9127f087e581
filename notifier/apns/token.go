package apns

import (
	"crypto/ecdsa"
	"fmt"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	// tokenKept is how long a provider token is used. Apple accepts it for an hour.
	tokenKept = 50 * time.Minute
	// tokenLeast is how long a provider token is used at least. Apple refuses to see a new one
	// more often.
	tokenLeast = 20 * time.Minute
)

// signer signs the provider token, one for all connections. It is safe for concurrent use.
type signer struct {
	key        *ecdsa.PrivateKey
	id, issuer string

	mu     sync.Mutex
	token  string // "" for none yet
	signed time.Time
	held   time.Time // until when no other is signed; zero for no such time
}

// bearer returns the provider token.
func (s *signer) bearer(now time.Time) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == "" || s.age(now) >= tokenKept && !s.isHeld(now) {
		if err := s.sign(now); err != nil {
			return "", err
		}
	}
	return s.token, nil
}

// renew replaces a token that Apple says has expired, and reports whether there is another one
// now. There is none if the refused one is too young: then the clocks do not agree, and a new
// token would be refused as well.
func (s *signer) renew(refused string, now time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token != refused {
		return true, nil
	}
	if s.age(now) < tokenLeast || s.isHeld(now) {
		return false, nil
	}
	return true, s.sign(now)
}

// hold keeps the token for as long as Apple wants to see no other one.
func (s *signer) hold(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = now.Add(tokenLeast)
}

func (s *signer) isHeld(now time.Time) bool {
	left := s.held.Sub(now)
	// A clock that was set back does not make the time longer.
	return left > 0 && left <= tokenLeast
}

// age returns how long ago the token was signed. A clock that was set, or stood still while
// the machine slept, counts by whichever of its two readings is longer.
func (s *signer) age(now time.Time) time.Duration {
	return max(now.Sub(s.signed), now.Round(0).Sub(s.signed.Round(0)))
}

// sign makes a new token. The caller holds the lock: those who need one meanwhile get it too.
func (s *signer) sign(now time.Time) error {
	token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{"iss": s.issuer, "iat": now.Unix()})
	token.Header["kid"] = s.id
	text, err := token.SignedString(s.key)
	if err != nil {
		return fmt.Errorf("sign the provider token: %w", err)
	}
	s.token, s.signed = text, now
	return nil
}
