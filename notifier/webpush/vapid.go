package webpush

import (
	"crypto/ecdsa"
	"encoding/base64"
	"fmt"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// tokenLife is how long a VAPID token is valid. RFC 8292 allows 24 hours; half of it
	// leaves room for clocks that are wrong.
	tokenLife = 12 * time.Hour
	// tokenKept is how long a token is used. Apple asks for no more than a token an hour.
	tokenKept = time.Hour
	// maxOrigins bounds the tokens and pauses that are kept, in origins. Browsers' push
	// services have a few; Windows' has one for each data centre.
	maxOrigins = 1024
)

// signer signs VAPID tokens, one for each origin and hour. It is safe for concurrent use.
type signer struct {
	key     *ecdsa.PrivateKey
	public  string // of key, in base64url
	subject string

	mu   sync.Mutex
	kept *simplelru.LRU[string, token]
}

type token struct {
	authorization string
	signed        time.Time
}

func newSigner(key *ecdsa.PrivateKey, subject string) (*signer, error) {
	public, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, fmt.Errorf("encode the public VAPID key: %w", err)
	}
	kept, err := simplelru.NewLRU[string, token](maxOrigins, nil)
	if err != nil {
		return nil, fmt.Errorf("make room for VAPID tokens: %w", err)
	}
	return &signer{key: key, public: base64.RawURLEncoding.EncodeToString(public), subject: subject, kept: kept}, nil
}

// authorization returns the Authorization header for pushes to an origin, as RFC 8292 says.
func (s *signer) authorization(origin string, now time.Time) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A clock that was set back would make an old token valid for too long.
	if t, ok := s.kept.Get(origin); ok && now.Sub(t.signed) < tokenKept && !now.Before(t.signed) {
		return t.authorization, nil
	}
	text, err := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
		"aud": origin, "exp": now.Add(tokenLife).Unix(), "sub": s.subject,
	}).SignedString(s.key)
	if err != nil {
		return "", fmt.Errorf("sign a VAPID token: %w", err)
	}
	t := token{authorization: "vapid t=" + text + ", k=" + s.public, signed: now}
	s.kept.Add(origin, t)
	return t.authorization, nil
}
