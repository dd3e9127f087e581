package bulk

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/cmd/enqueue/internal/ordinal"
	"github.com/sendlimit/sendlimiter/tasks"
)

// autoID is the id of a message that has none: derived from what it says and
// from how many such messages came before it in the file, so that the same file
// gives the same ids, whatever other lines are in between. It is pinned for
// ever: files are run again after years, by newer programs.
func autoID(content ordinal.Key, nth uint32) string {
	id := "auto-" + hex.EncodeToString(content[:])
	if nth > 1 {
		id += fmt.Sprintf("-%d", nth)
	}
	return id
}

// contentOf is what messages have in common that say the same: 128 bits of
// SHA-256 over every field but the id. Each part stands behind its length, so
// that no two messages look alike.
func contentOf(m tasks.Message) ordinal.Key {
	at := "now"
	if !m.Now {
		at = unixMilli(m.SendAt)
	}
	parts := []string{
		m.User, at, m.Category, m.Title, m.Body, unixMilli(m.ExpiresAt), m.OnConflict, unixMilli(m.ShiftUntil),
	}
	for _, key := range slices.Sorted(maps.Keys(m.Data)) {
		parts = append(parts, key, m.Data[key])
	}
	var text []byte
	for _, part := range parts {
		text = binary.AppendUvarint(text, uint64(len(part)))
		text = append(text, part...)
	}
	sum := sha256.Sum256(text)
	return ordinal.Key(sum[:16])
}

func unixMilli(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return strconv.FormatInt(at.UnixMilli(), 10)
}
