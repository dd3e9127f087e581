package keyspace

import "strings"

// PlacesPattern matches the keys of all users' places, for SCAN.
func (k Keys) PlacesPattern() string { return k.prefix + ":{p[0-9][0-9][0-9][0-9]}:[uxc]:*" }

// ParsePlaces returns the user of a key of places: a timeline, the uncounted places, or the set of
// a category. ok is false for any other key.
func (k Keys) ParsePlaces(key string) (user string, ok bool) {
	const tag = len(":{p0000}:")
	rest, ok := strings.CutPrefix(key, k.prefix)
	if !ok || len(rest) < tag+2 || rest[tag+1] != ':' {
		return "", false
	}
	switch user = rest[tag+2:]; rest[tag] {
	case 'u':
		ok = key == k.Timeline(user)
	case 'x':
		ok = key == k.Uncounted(user)
	case 'c':
		var category string
		category, user, _ = strings.Cut(user, ":")
		ok = key == k.Category(user, category)
	default:
		ok = false
	}
	return user, ok && user != ""
}
