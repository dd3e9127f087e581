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
	// tokenLife is the validity of a VAPID token. RFC 8292 allows 24 hours; half of it tolerates
	// wrong clocks.
	tokenLife = 12 * time.Hour
	// tokenKept is how long a token is used. Apple asks for at most one an hour.
	tokenKept = time.Hour
	// maxOrigins bounds the kept tokens and pauses. Push services have a few origins; Windows' has
	// one for each data centre.
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

// authorization returns the Authorization header for an origin (RFC 8292).
func (s *signer) authorization(origin string, now time.Time) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A clock that was set back would prolong an old token.
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
