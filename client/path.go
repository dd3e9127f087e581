package client

import (
	"net/url"
	"strings"
)

// userPath returns the path of something that belongs to a user. The error is an
// *InvalidError for an empty name, which would be another path.
func userPath(user string, rest ...string) (string, error) {
	if user == "" {
		return "", invalid("user", "is missing")
	}
	return "/v1/users/" + segment(user) + "/" + strings.Join(rest, "/"), nil
}

// messagePath returns the path of a user's message, below messages or dead-letters.
func messagePath(user, kind, id string, rest ...string) (string, error) {
	if id == "" {
		return "", invalid("id", "is missing")
	}
	return userPath(user, append([]string{kind, segment(id)}, rest...)...)
}

// segment returns a name as one segment of a path. It escapes "." and "..", which would
// mean a folder.
func segment(name string) string {
	if name == "." || name == ".." {
		return strings.ReplaceAll(name, ".", "%2E")
	}
	return url.PathEscape(name)
}
