package session

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

const (
	// Lasts is how long a session lasts.
	Lasts = 12 * time.Hour
	// fresh is how long an identity is not looked up again.
	fresh = time.Second
	// secretFresh is how long the secret is not read again.
	secretFresh = time.Minute
	// most is the largest number of sessions to remember.
	most = 10_000

	version    = "1"
	secretSize = 32
	idSize     = 16
)

// Sessions finds out who has logged in. It is safe for concurrent use.
type Sessions struct {
	client   redis.Cmdable
	keys     keyspace.Keys
	accounts *accounts.Accounts

	mu       sync.Mutex
	secret   []byte
	secretAt time.Time
	known    map[string]known // by cookie
}

// known is who a session belonged to at a time.
type known struct {
	identity accounts.Identity
	at       time.Time
}

// New returns the sessions of the accounts in the store behind client. Their keys begin with
// prefix; "" means keyspace.DefaultPrefix. The error is a *fault.InvalidError.
func New(client redis.Cmdable, prefix string, of *accounts.Accounts) (*Sessions, error) {
	keys, err := keyspace.NewKeys(prefix)
	if err != nil {
		return nil, err
	}
	return &Sessions{client: client, keys: keys, accounts: of, known: make(map[string]known)}, nil
}

// Begin returns the cookie of a new session of an API key, which the caller has checked.
func (s *Sessions) Begin(ctx context.Context, key string, now time.Time) (cookie string, err error) {
	secret, err := s.signing(ctx, now)
	if err != nil {
		return "", err
	}
	id := make([]byte, idSize)
	_, _ = rand.Read(id) // never fails
	said := strings.Join([]string{
		version, accounts.HashKey(key), strconv.FormatInt(now.Add(Lasts).Unix(), 10), hex.EncodeToString(id),
	}, ".")
	return said + "." + sign(secret, said), nil
}

// Find returns who a cookie belongs to. ok is false for a cookie that is forged or has ended,
// and for one whose key no longer works. The error says that the store does not answer.
func (s *Sessions) Find(ctx context.Context, cookie string, now time.Time) (_ accounts.Identity, ok bool, err error) {
	if seen, fresh := s.seen(cookie, now); fresh {
		return seen, true, nil
	}
	secret, err := s.signing(ctx, now)
	if err != nil {
		return accounts.Identity{}, false, err
	}
	of, ok := parse(secret, cookie)
	if !ok || !now.Before(of.ends) {
		return accounts.Identity{}, false, nil
	}
	ended, err := s.client.Exists(ctx, s.keys.EndedSession(of.id)).Result()
	if err != nil {
		return accounts.Identity{}, false, store.Explain(err, "looking for a session")
	}
	if ended > 0 {
		s.forget(cookie)
		return accounts.Identity{}, false, nil
	}
	identity, ok, err := s.accounts.Identify(ctx, of.key)
	if err != nil {
		return accounts.Identity{}, false, err
	}
	if !ok {
		s.forget(cookie)
		return accounts.Identity{}, false, nil
	}
	s.remember(cookie, known{identity, now}, now)
	return identity, true, nil
}

// End ends a session before its time. Of other processes, those that have just found it end it
// a second later. A cookie that is no session ends nothing.
func (s *Sessions) End(ctx context.Context, cookie string, now time.Time) error {
	secret, err := s.signing(ctx, now)
	if err != nil {
		return err
	}
	s.forget(cookie)
	of, ok := parse(secret, cookie)
	left := of.ends.Sub(now)
	if !ok || left <= 0 {
		return nil
	}
	if err := s.client.Set(ctx, s.keys.EndedSession(of.id), "", left).Err(); err != nil {
		return store.Explain(err, "ending a session")
	}
	return nil
}

// signing returns the secret of the store, and makes one if there is none.
func (s *Sessions) signing(ctx context.Context, now time.Time) ([]byte, error) {
	const doing = "reading the secret of sessions"
	s.mu.Lock()
	secret, at := s.secret, s.secretAt
	s.mu.Unlock()
	if age := now.Sub(at); secret != nil && age >= 0 && age < secretFresh {
		return secret, nil
	}
	secret, err := s.client.Get(ctx, s.keys.SessionSecret()).Bytes()
	if errors.Is(err, redis.Nil) || err == nil && len(secret) != secretSize {
		made := make([]byte, secretSize)
		_, _ = rand.Read(made) // never fails
		if err := s.client.SetNX(ctx, s.keys.SessionSecret(), made, 0).Err(); err != nil {
			return nil, store.Explain(err, doing)
		}
		secret, err = s.client.Get(ctx, s.keys.SessionSecret()).Bytes() // another process may have been faster
	}
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secret, s.secretAt = secret, now
	return secret, nil
}

// seen returns whom a session belonged to within the last moment.
func (s *Sessions) seen(cookie string, now time.Time) (accounts.Identity, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.known[cookie]
	age := now.Sub(k.at)
	return k.identity, ok && age >= 0 && age < fresh
}

func (s *Sessions) remember(cookie string, k known, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= most {
		for cookie, k := range s.known {
			if now.Sub(k.at) >= fresh {
				delete(s.known, cookie)
			}
		}
	}
	if len(s.known) < most {
		s.known[cookie] = k
	}
}

func (s *Sessions) forget(cookie string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, cookie)
}

// parsed is what a cookie says.
type parsed struct {
	key  string // its SHA-256, hex
	ends time.Time
	id   string
}

// parse reads a cookie that was signed with a secret.
func parse(secret []byte, cookie string) (_ parsed, ok bool) {
	said, signature, _ := cutLast(cookie)
	if !hmac.Equal([]byte(sign(secret, said)), []byte(signature)) {
		return parsed{}, false
	}
	parts := strings.Split(said, ".")
	if len(parts) != 4 || parts[0] != version {
		return parsed{}, false
	}
	ends, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return parsed{}, false
	}
	return parsed{key: parts[1], ends: time.Unix(ends, 0), id: parts[3]}, true
}

// cutLast cuts a text at its last dot.
func cutLast(text string) (before, after string, found bool) {
	i := strings.LastIndexByte(text, '.')
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

func sign(secret []byte, said string) string {
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write([]byte(said)) // a hash never fails
	return hex.EncodeToString(mac.Sum(nil))
}
