package session

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Session is one that has not ended.
type Session struct {
	ID           string // names it in a list; no cookie can be made from it
	Account, Key string // whose it is, and the id of the API key
	Address      string // of the client that logged in
	Began, Ends  time.Time

	hash string
}

// idLength is how many digits of the hash of its cookie are the id of a session.
const idLength = 16

// List returns the sessions that have not ended, those that end first before others.
func (s *Sessions) List(ctx context.Context, now time.Time) ([]Session, error) {
	all, err := s.client.HGetAll(ctx, s.keys.Sessions()).Result()
	list, _ := decode(all, now)
	return list, store.Explain(err, "listing sessions")
}

// decode returns the sessions that have not ended, in order, and the hashes of the others.
func decode(all map[string]string, now time.Time) (list []Session, ended []string) {
	for hash, text := range all {
		var one stored
		if json.Unmarshal([]byte(text), &one) != nil || one.Ends <= now.UnixMilli() {
			ended = append(ended, hash)
			continue
		}
		list = append(list, Session{
			ID: hash[:min(idLength, len(hash))], Account: one.Account, Key: one.Key, Address: one.Address,
			Began: time.UnixMilli(one.Began).UTC(), Ends: time.UnixMilli(one.Ends).UTC(), hash: hash,
		})
	}
	slices.SortFunc(list, func(a, b Session) int { return cmp.Or(a.Ends.Compare(b.Ends), cmp.Compare(a.hash, b.hash)) })
	return list, ended
}

// Revoke ends the sessions of List that a function selects, and returns how many. Processes that
// have just found one end it a second later.
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
