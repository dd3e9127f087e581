package notifiertest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func (s *FCMServer) serveToken(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.exchanges++
	answer, life := s.token, s.life
	s.mu.Unlock()
	if err := s.verify(r); err != nil {
		respond(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": err.Error()})
		return
	}
	if answer != nil && s.scripted(w, r, answer()) {
		return
	}
	token := "ya29." + rand.Text()
	s.mu.Lock()
	s.issued[token] = s.now().Add(life)
	s.mu.Unlock()
	respond(w, http.StatusOK, map[string]any{"access_token": token, "expires_in": int(life / time.Second), "token_type": "Bearer"})
}

// verify checks a request for a token as RFC 7523 and Google's own rules say.
func (s *FCMServer) verify(r *http.Request) error {
	if err := r.ParseForm(); err != nil || r.PostForm.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
		return errors.New("grant_type")
	}
	var claims struct {
		jwt.RegisteredClaims

		Scope string `json:"scope"`
	}
	token, err := jwt.ParseWithClaims(r.PostForm.Get("assertion"), &claims, func(*jwt.Token) (any, error) { return &s.key.PublicKey, nil },
		jwt.WithValidMethods([]string{"RS256"}), jwt.WithAudience(s.server.URL+"/token"), jwt.WithIssuer(fcmEmail),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithTimeFunc(s.now))
	switch {
	case errors.Is(err, jwt.ErrTokenExpired), errors.Is(err, jwt.ErrTokenUsedBeforeIssued):
		return fmt.Errorf("in a reasonable timeframe. Check your iat and exp values in the JWT claim: %w", err)
	case err != nil:
		return fmt.Errorf("assertion: %w", err)
	case token.Header["kid"] != fcmKeyID:
		return errors.New("kid")
	case claims.Scope != fcmScope:
		return errors.New("scope")
	case claims.IssuedAt == nil || claims.ExpiresAt.Sub(claims.IssuedAt.Time) > time.Hour:
		return errors.New("iat and exp")
	}
	return nil
}
