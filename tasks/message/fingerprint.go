package message

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Fingerprint tells a repeated request from another one with the same id: 128
// bits of SHA-256 over what the caller sent, before defaults. Each part stands
// behind its length, so that no two requests look alike; the id is left out. It
// is pinned for ever: records outlive programs.
func Fingerprint(m Message) [16]byte {
	var text []byte
	add := func(part string) {
		text = binary.AppendUvarint(text, uint64(len(part)))
		text = append(text, part...)
	}
	add(m.User)
	if m.Now {
		add("now")
	} else {
		add(unixMilli(m.SendAt))
	}
	for _, part := range []string{
		m.Category, m.Title, m.Body, unixMilli(m.ExpiresAt), m.OnConflict, unixMilli(m.ShiftUntil),
	} {
		add(part)
	}
	for _, key := range slices.Sorted(maps.Keys(m.Data)) {
		add(key)
		add(m.Data[key])
	}
	// An odd part out, which no data can be: requests without an account look as
	// they did before there were any.
	if m.Account != "" {
		add(m.Account)
	}
	sum := sha256.Sum256(text)
	return [16]byte(sum[:16])
}

func unixMilli(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return strconv.FormatInt(at.UnixMilli(), 10)
}
