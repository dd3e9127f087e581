package webpush

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"fmt"
)

// Keys is a pair of VAPID keys, in base64url without padding. Browsers subscribe with the public
// key, the applicationServerKey of their PushManager. The private key signs pushes. A subscription
// works only with the pair that it was made with.
type Keys struct {
	Public  string // 65 bytes
	Private string // 32 bytes
}

// GenerateKeys returns a new pair.
func GenerateKeys() (Keys, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Keys{}, fmt.Errorf("generate VAPID keys: %w", err)
	}
	private, err := key.Bytes()
	if err != nil {
		return Keys{}, fmt.Errorf("encode the VAPID keys: %w", err)
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		return Keys{}, fmt.Errorf("encode the VAPID keys: %w", err)
	}
	return Keys{
		Public:  base64.RawURLEncoding.EncodeToString(public),
		Private: base64.RawURLEncoding.EncodeToString(private),
	}, nil
}

func parsePrivate(text string) (*ecdsa.PrivateKey, error) {
	raw, err := decode(text)
	if err != nil {
		return nil, err
	}
	return ecdsa.ParseRawPrivateKey(elliptic.P256(), raw)
}
