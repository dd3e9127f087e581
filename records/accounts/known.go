package accounts

import (
	"context"
	"fmt"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// KeysExist reports for each hash, see HashKey, whether a key has it. The key may have expired. It
// makes one cheap round trip for any number of hashes.
func (a *Accounts) KeysExist(ctx context.Context, hashes ...string) ([]bool, error) {
	const doing = "looking for API keys"
	if len(hashes) == 0 {
		return nil, nil
	}
	found, err := a.client.HMGet(ctx, a.keys.AccountKeys(), hashes...).Result()
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	if len(found) != len(hashes) {
		return nil, fmt.Errorf("%s: %w", doing, fault.ErrReply)
	}
	exist := make([]bool, len(found))
	for i, account := range found {
		exist[i] = account != nil
	}
	return exist, nil
}

// MadeKey reports whether a text has the form of AddKey's keys. Nobody can guess such a key: it has
// 256 random bits.
func MadeKey(secret string) bool {
	id, random, ok := strings.Cut(strings.TrimPrefix(secret, keyPrefix), "_")
	return ok && strings.HasPrefix(secret, keyPrefix) && len(id) == keyIDLength && len(random) == keySecretChars &&
		strings.Trim(id+random, keyAlphabet) == ""
}
