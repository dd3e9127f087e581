package session

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

const (
	// Lasts is the length of a session.
	Lasts = 12 * time.Hour
	// fresh is how long an identity is cached.
	fresh = time.Second
	// most is the maximum number of cached sessions.
	most = 10_000

	cookieSize = 32 // random bytes
)

// Sessions finds the owners of cookies. It is safe for concurrent use.
type Sessions struct {
	client   redis.Cmdable
	keys     keyspace.Keys
	accounts *accounts.Accounts

	mu    sync.Mutex
	known map[string]known // by the SHA-256 of the cookie
}

// known is a cached owner of a session.
type known struct {
	identity accounts.Identity
	at       time.Time
}

// New returns the sessions of the accounts in a store.
func New(client redis.Cmdable, keys keyspace.Keys, of *accounts.Accounts) *Sessions {
	return &Sessions{client: client, keys: keys, accounts: of, known: make(map[string]known)}
}

// stored is a stored session.
type stored struct {
	Hash    string `json:"hash"` // SHA-256 of the API key, hex
	Account string `json:"account"`
	Key     string `json:"key"`               // id of the API key
	Address string `json:"address,omitempty"` // of the client, for display
	Began   int64  `json:"began"`             // Unix, ms
	Ends    int64  `json:"ends"`              // Unix, ms
}

// Begin returns the cookie of a new session of an API key. The caller has checked the key. address
// is the client's, for display.
func (s *Sessions) Begin(ctx context.Context, key, address string, now time.Time) (cookie string, err error) {
	const doing = "beginning a session"
	hash := accounts.HashKey(key)
	who, _, err := s.accounts.Identify(ctx, hash)
	if err != nil {
		return "", err
	}
	random := make([]byte, cookieSize)
	_, _ = rand.Read(random) // never fails
	cookie = base64.RawURLEncoding.EncodeToString(random)
	text, err := json.Marshal(stored{
		Hash: hash, Account: who.Account.Name, Key: who.Key.ID, Address: address, Began: now.UnixMilli(), Ends: now.Add(Lasts).UnixMilli(),
	})
	if err != nil {
		return "", fmt.Errorf("writing a session: %w", err)
	}
	id := hashed(cookie)
	_, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.ZRemRangeByScore(ctx, s.keys.Sessions(), "-inf", strconv.FormatInt(now.UnixMilli(), 10))
		p.ZAdd(ctx, s.keys.Sessions(), redis.Z{Score: float64(now.Add(Lasts).UnixMilli()), Member: id})
		p.PExpire(ctx, s.keys.Sessions(), Lasts)
		p.Set(ctx, s.keys.Session(id), text, Lasts)
		return nil
	})
	if err != nil {
		return "", store.Explain(err, doing)
	}
	return cookie, nil
}

// Find returns the owner of a cookie. ok is false for a cookie that is forged or has ended, and if
// its key no longer works. An error means that the store does not answer.
func (s *Sessions) Find(ctx context.Context, cookie string, now time.Time) (_ accounts.Identity, ok bool, err error) {
	id := hashed(cookie)
	if seen, fresh := s.seen(id, now); fresh {
		return seen, true, nil
	}
	one, there, err := s.read(ctx, id, now)
	if err != nil {
		return accounts.Identity{}, false, err
	}
	var identity accounts.Identity
	if there {
		if identity, there, err = s.accounts.Identify(ctx, one.Hash); err != nil {
			return accounts.Identity{}, false, err
		}
	}
	if !there {
		s.forget(id)
		return accounts.Identity{}, false, nil
	}
	s.remember(id, known{identity, now}, now)
	return identity, true, nil
}

// End ends a session early. Other processes that have just used it end it a second later. It
// ignores an unknown cookie.
func (s *Sessions) End(ctx context.Context, cookie string) error {
	return s.remove(ctx, hashed(cookie))
}

// read returns a session. ok is false if it has ended.
func (s *Sessions) read(ctx context.Context, id string, now time.Time) (one stored, ok bool, err error) {
	text, err := s.client.Get(ctx, s.keys.Session(id)).Bytes()
	if errors.Is(err, redis.Nil) {
		return stored{}, false, nil
	}
	if err != nil {
		return stored{}, false, store.Explain(err, "looking for a session")
	}
	ok = json.Unmarshal(text, &one) == nil && now.UnixMilli() < one.Ends
	return one, ok, nil
}

func (s *Sessions) remove(ctx context.Context, id string) error {
	s.forget(id)
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, s.keys.Session(id))
		p.ZRem(ctx, s.keys.Sessions(), id)
		return nil
	})
	return store.Explain(err, "ending a session")
}

// hashed returns the id of a cookie's session. The cookie can't be computed from it.
func hashed(cookie string) string {
	sum := sha256.Sum256([]byte(cookie))
	return hex.EncodeToString(sum[:])
}

// seen returns the cached owner of a session.
func (s *Sessions) seen(id string, now time.Time) (accounts.Identity, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.known[id]
	age := now.Sub(k.at)
	return k.identity, ok && age >= 0 && age < fresh
}

func (s *Sessions) remember(id string, k known, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= most {
		for id, k := range s.known {
			if now.Sub(k.at) >= fresh {
				delete(s.known, id)
			}
		}
	}
	if len(s.known) < most {
		s.known[id] = k
	}
}

func (s *Sessions) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, id)
}
