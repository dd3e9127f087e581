package keyspace

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// WatchMember returns the member of a message in the watch list: "generation/id/user", in this
// order since only the user may contain a slash. UUIDs are packed, so that the member has at most
// 64 bytes even if id and user are both UUIDs: longer ones prevent Redis' compact encoding of a
// list.
func WatchMember(user, id, generation string) string {
	return generation + WatchSuffix(user, id)
}

// WatchSuffix returns what follows the generation in a WatchMember. A UUID as the id is written as
// "~" and its bytes in base64. So is a UUID as the user, without a slash before it. No id has a
// "~".
func WatchSuffix(user, id string) string {
	if packed, ok := packUUID(id); ok {
		id = packed
	}
	if packed, ok := packUUID(user); ok {
		return "/" + id + packed
	}
	return "/" + id + "/" + user
}

// WatchWord returns the WatchSuffix of a message after the letter of its far list, as
// lua/fragments/watch.lua reads it.
func WatchWord(user, id string) string { return partLetter(farList(id)) + WatchSuffix(user, id) }

// ParseWatchMember parses a watch member; ok is false if it is none.
func ParseWatchMember(member string) (user, id, generation string, ok bool) {
	generation, rest, _ := strings.Cut(member, "/")
	id, rest, packed := cutPacked(rest)
	if !packed {
		end := strings.IndexAny(rest, "/~")
		if end < 0 {
			return "", "", "", false
		}
		id, rest = rest[:end], rest[end:]
	}
	user, rest, packed = cutPacked(rest)
	if !packed {
		user, ok = strings.CutPrefix(rest, "/")
	} else {
		ok = rest == ""
	}
	if !ok || generation == "" || !ValidID(id) || !ValidUser(user) || WatchMember(user, id, generation) != member {
		return "", "", "", false
	}
	return user, id, generation, true
}

// packUUID returns "~" and the bytes of a UUID in base64, together 23 characters. A UUID has the
// form that RFC 9562 prints, in lower case.
func packUUID(text string) (packed string, ok bool) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return "", false
	}
	digits := text[:8] + text[9:13] + text[14:18] + text[19:23] + text[24:]
	bytes, err := hex.DecodeString(digits)
	if err != nil || digits != strings.ToLower(digits) {
		return "", false
	}
	return "~" + base64.RawURLEncoding.EncodeToString(bytes), true
}

// cutPacked cuts a packed UUID from the start of a text; ok is false if there is none.
func cutPacked(text string) (uuid, rest string, ok bool) {
	const size = 1 + 22
	if len(text) < size || text[0] != '~' {
		return "", text, false
	}
	bytes, err := base64.RawURLEncoding.Strict().DecodeString(text[1:size])
	if err != nil {
		return "", text, false
	}
	digits := hex.EncodeToString(bytes)
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:], text[size:], true
}

// DeadLetterMember returns the member of a message in the dead letters: id and user, in this order
// since only the user may contain a slash.
func DeadLetterMember(user, id string) string { return id + "/" + user }

// ParseDeadLetterMember parses a dead-letter member; ok is false if it is none.
func ParseDeadLetterMember(member string) (user, id string, ok bool) {
	id, user, ok = strings.Cut(member, "/")
	if !ok || !ValidID(id) || !ValidUser(user) {
		return "", "", false
	}
	return user, id, true
}
