package accounts

import (
	"context"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// SeveralActive reports whether several accounts are active. An account is active if it is not
// disabled and has a key with the scope submit, even if it never submitted. It reads accounts until
// it has found two.
func (a *Accounts) SeveralActive(ctx context.Context, now time.Time) (bool, error) {
	const doing, page = "looking for active accounts", 100
	one := ""
	for cursor := uint64(0); ; {
		read, next, err := a.client.HScan(ctx, a.keys.Accounts(), cursor, "", page).Result()
		if err != nil {
			return false, store.Explain(err, doing)
		}
		for pair := range slices.Chunk(read, 2) {
			stored, err := decodeAccount(pair[0], pair[len(pair)-1], doing)
			if err != nil {
				return false, err
			}
			switch {
			case pair[0] == one || !stored.active(now): // a page may repeat an account
			case one != "":
				return true, nil
			default:
				one = pair[0]
			}
		}
		if cursor = next; cursor == 0 {
			return false, nil
		}
	}
}

func (s *storedAccount) active(now time.Time) bool {
	return !s.Disabled && slices.ContainsFunc(s.Keys, func(k storedKey) bool {
		return !k.expired(now) && slices.Contains(k.Scopes, ScopeSubmit)
	})
}
