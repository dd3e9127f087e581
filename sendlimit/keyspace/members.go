package keyspace

import "strings"

// WatchMember returns the member of a message in the watch list: generation, id
// and user, in this order since only the user may contain a slash.
func WatchMember(user, id, generation string) string {
	return generation + WatchSuffix(user, id)
}

// WatchSuffix returns what follows the generation in a WatchMember.
func WatchSuffix(user, id string) string { return "/" + id + "/" + user }

// ParseWatchMember takes a watch member apart; ok is false if it is none.
func ParseWatchMember(member string) (user, id, generation string, ok bool) {
	parts := strings.SplitN(member, "/", 3)
	if len(parts) != 3 || parts[0] == "" || !ValidID(parts[1]) || !ValidUser(parts[2]) {
		return "", "", "", false
	}
	return parts[2], parts[1], parts[0], true
}

// DeadLetterMember returns the member of a message in the dead letters: id and
// user, in this order since only the user may contain a slash.
func DeadLetterMember(user, id string) string { return id + "/" + user }

// ParseDeadLetterMember takes a dead-letter member apart; ok is false if it is
// none.
func ParseDeadLetterMember(member string) (user, id string, ok bool) {
	id, user, ok = strings.Cut(member, "/")
	if !ok || !ValidID(id) || !ValidUser(user) {
		return "", "", false
	}
	return user, id, true
}
