package keyspace

import "strings"

// RecordsPattern matches the keys of all records, for SCAN.
func (k Keys) RecordsPattern() string { return k.prefix + ":{p[0-9][0-9][0-9][0-9]}:m:*" }

// ParseRecord returns the user and the id of a record's key. ok is false for any other key.
func (k Keys) ParseRecord(key string) (user, id string, ok bool) {
	_, rest, _ := strings.Cut(key, "}:m:")
	end := strings.LastIndexByte(rest, ':')
	if end < 0 {
		return "", "", false
	}
	user, id = rest[:end], strings.ReplaceAll(rest[end+1:], "/", ":")
	return user, id, user != "" && id != "" && key == k.Record(user, id)
}
