package seal

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

const (
	keySize  = 32
	keyField = "cursor key" // of the meta key
	// fresh is how long the key is cached.
	fresh = time.Minute
)

// Keeper has the key of a store. It is safe for concurrent use.
type Keeper struct {
	client redis.Cmdable
	keys   keyspace.Keys

	mu   sync.Mutex
	last Sealer
	at   time.Time
}

// NewKeeper returns the keeper of a store.
func NewKeeper(client redis.Cmdable, keys keyspace.Keys) *Keeper {
	return &Keeper{client: client, keys: keys}
}

// Sealer returns the sealer of the store, and generates the key if there is none. now is the local
// time.
func (k *Keeper) Sealer(ctx context.Context, now time.Time) (Sealer, error) {
	const doing = "reading the key of cursors"
	k.mu.Lock()
	last, age := k.last, now.Sub(k.at)
	k.mu.Unlock()
	if last.aead != nil && age >= 0 && age < fresh {
		return last, nil
	}
	key, err := k.client.HGet(ctx, k.keys.Meta(), keyField).Bytes()
	if errors.Is(err, redis.Nil) {
		made := make([]byte, keySize)
		_, _ = rand.Read(made) // never fails
		if err = k.client.HSetNX(ctx, k.keys.Meta(), keyField, made).Err(); err == nil {
			key, err = k.client.HGet(ctx, k.keys.Meta(), keyField).Bytes() // another process may have been faster
		}
	}
	if err != nil {
		return Sealer{}, store.Explain(err, doing)
	}
	made, err := newSealer(key)
	if err != nil {
		return Sealer{}, fmt.Errorf("%s: %w", doing, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last, k.at = made, now
	return made, nil
}

// Sealer seals and opens texts.
type Sealer struct {
	aead   cipher.AEAD
	nonces []byte // key of the HMAC that computes the nonce of a text
}

func newSealer(key []byte) (Sealer, error) {
	derived := func(what string) []byte {
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write([]byte(what)) // a hash never fails
		return mac.Sum(nil)
	}
	block, err := aes.NewCipher(derived("text"))
	if err != nil {
		return Sealer{}, err
	}
	aead, err := cipher.NewGCM(block)
	return Sealer{aead, derived("nonce")}, err
}

// Seal seals a text, in base64url. "" stays "".
func (s Sealer) Seal(text string) string {
	if text == "" {
		return ""
	}
	mac := hmac.New(sha256.New, s.nonces)
	_, _ = mac.Write([]byte(text)) // a hash never fails
	nonce := mac.Sum(nil)[:s.aead.NonceSize()]
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nonce, nonce, []byte(text), nil))
}

// Open opens a sealed text. ok is false if Seal did not return it with this key.
func (s Sealer) Open(sealed string) (text string, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil || len(raw) < s.aead.NonceSize() {
		return "", false
	}
	nonce, rest := raw[:s.aead.NonceSize()], raw[s.aead.NonceSize():]
	opened, err := s.aead.Open(nil, nonce, rest, nil)
	return string(opened), err == nil
}
