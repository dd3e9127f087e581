package client

import (
	"net/url"
	"strings"
)

// userPath is the path of what belongs to a user. The error is an
// *InvalidError: an empty name would make another path.
func userPath(user string, rest ...string) (string, error) {
	if user == "" {
		return "", invalid("user", "is missing")
	}
	return "/v1/users/" + segment(user) + "/" + strings.Join(rest, "/"), nil
}

// messagePath is the path of a user's message, below messages or dead-letters.
func messagePath(user, kind, id string, rest ...string) (string, error) {
	if id == "" {
		return "", invalid("id", "is missing")
	}
	return userPath(user, append([]string{kind, segment(id)}, rest...)...)
}

// segment spells a name of any kind as one segment of a path. One dot or two
// stand for a folder until they are escaped.
func segment(name string) string {
	if name == "." || name == ".." {
		return strings.ReplaceAll(name, ".", "%2E")
	}
	return url.PathEscape(name)
}
