package message

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Fingerprint distinguishes a repeated request from a different request with the same id. It is 128
// bits of SHA-256 over what the caller sent, without the id and before defaults. Each part follows
// its length, so that different requests have different input. It must never change: records
// outlive programs.
func Fingerprint(m Message) [16]byte {
	text := make([]byte, 0, 128+len(m.Title)+len(m.Body)) // enough for most
	add := func(part string) {
		text = binary.AppendUvarint(text, uint64(len(part)))
		text = append(text, part...)
	}
	// The words of local times count, not the instants: the user's zone may change.
	m = m.asked()
	if w := m.Window; w != nil {
		// An empty part can't be a user, and this one is no campaign.
		var l LocalTimes
		if m.Local != nil {
			l = *m.Local
		}
		add("")
		add("~window")
		for _, part := range []string{
			string(cmp.Or(w.Prefer, policy.PreferEarliest)), unixMilli(w.From), l.From.Local, l.From.Zone, unixMilli(w.Until), l.Until.Local, l.Until.Zone,
		} {
			add(part)
		}
	}
	if l := m.Local; l != nil {
		// An empty part can't be a user, and this one is no campaign.
		add("")
		add("~local")
		for _, at := range []LocalTime{l.SendAt, l.ExpiresAt, l.ShiftUntil} {
			add(at.Local)
			add(at.Zone)
		}
		add(strconv.FormatBool(l.Strict))
		if l.FollowZone {
			add("")
			add("~follow")
		}
	}
	if m.Late != "" {
		// An empty part can't be a user, and this one is no campaign.
		add("")
		add("~late")
		add(m.Late)
	}
	if m.Campaign != "" || len(m.Metadata) > 0 {
		// No user is empty, so an empty first part means a campaign or metadata.
		add("")
		add(m.Campaign)
		add(strconv.Itoa(len(m.Metadata)))
		for _, key := range sortedKeys(m.Metadata) {
			add(key)
			add(m.Metadata[key])
		}
	}
	m.addTo(add)
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
	for _, key := range sortedKeys(m.Data) {
		add(key)
		add(m.Data[key])
	}
	// Data has an even number of parts, so a single part at the end is the account.
	if m.Account != "" {
		add(m.Account)
	}
	sum := sha256.Sum256(text)
	return [16]byte(sum[:16])
}

// sortedKeys returns the keys of a map in order. Most messages have none.
func sortedKeys[V any](data map[string]V) []string {
	if len(data) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(data))
}

func unixMilli(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return strconv.FormatInt(at.UnixMilli(), 10)
}
