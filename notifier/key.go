package notifier

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// IdempotencyKey returns a Notification's key, derived from its account ("" for none), its user and
// its id: 32 characters of 0-9 a-f. It fits the field of every provider; the shortest is Web Push's
// Topic. It does not show the user's name, and differs between users and accounts with the same id.
// It is the same in every version, because a message may be retried after an upgrade.
func IdempotencyKey(account, user, id string) string {
	const ofAccount = 1 << 63 // no user is that long
	var text []byte
	if account != "" {
		text = binary.BigEndian.AppendUint64(text, ofAccount|uint64(len(account)))
		text = append(text, account...)
	}
	// The length distinguishes ("ab", "c") from ("a", "bc").
	text = binary.BigEndian.AppendUint64(text, uint64(len(user)))
	text = append(text, user...)
	text = append(text, id...)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
