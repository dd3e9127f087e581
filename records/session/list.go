package session

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Session is an open session.
type Session struct {
	ID           string // for lists; it does not reveal the cookie
	Account, Key string // its owner, and the id of the API key
	Address      string // of the client that logged in
	Began, Ends  time.Time

	hash string
}

// idLength is how many digits of the cookie's hash are the id of a session.
const idLength = 16

// List returns the open sessions by their end.
func (s *Sessions) List(ctx context.Context, now time.Time) ([]Session, error) {
	const doing = "listing sessions"
	later := &redis.ZRangeBy{Min: "(" + strconv.FormatInt(now.UnixMilli(), 10), Max: "+inf"}
	hashes, err := s.client.ZRangeByScore(ctx, s.keys.Sessions(), later).Result()
	if err != nil || len(hashes) == 0 {
		return nil, store.Explain(err, doing)
	}
	keys := make([]string, len(hashes))
	for i, hash := range hashes {
		keys[i] = s.keys.Session(hash)
	}
	texts, err := s.client.MGet(ctx, keys...).Result()
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	var list []Session
	for i, text := range texts {
		var one stored
		if text, there := text.(string); !there || json.Unmarshal([]byte(text), &one) != nil {
			continue // it has just ended
		}
		list = append(list, Session{
			ID: hashes[i][:min(idLength, len(hashes[i]))], Account: one.Account, Key: one.Key, Address: one.Address,
			Began: time.UnixMilli(one.Began).UTC(), Ends: time.UnixMilli(one.Ends).UTC(), hash: hashes[i],
		})
	}
	return list, nil
}

// Revoke ends selected sessions, and returns how many. Processes that have just used one end it a
// second later.
func (s *Sessions) Revoke(ctx context.Context, now time.Time, selects func(Session) bool) (revoked int, err error) {
	list, err := s.List(ctx, now)
	if err != nil {
		return 0, err
	}
	for _, one := range list {
		if !selects(one) {
			continue
		}
		if err := s.remove(ctx, one.hash); err != nil {
			return revoked, err
		}
		revoked++
	}
	return revoked, nil
}
