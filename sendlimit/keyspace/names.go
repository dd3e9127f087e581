package keyspace

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// ValidName reports whether a name is 1 to 64 of a-z 0-9 _ -.
func ValidName(name string) bool {
	return name != "" && len(name) <= 64 && OnlyBytes(name, "abcdefghijklmnopqrstuvwxyz0123456789_-")
}

// CheckMessage checks a user and a message id.
func CheckMessage(user, id string) error {
	if err := CheckUser(user); err != nil {
		return err
	}
	return CheckID(id)
}

// MaxUser is the longest user name, MaxID the longest message id, bytes.
const (
	MaxUser = 256
	MaxID   = 128
)

// ValidUser reports whether a user name is 1 to MaxUser bytes of UTF-8 without
// control characters.
func ValidUser(user string) bool {
	if user == "" || len(user) > MaxUser || !utf8.ValidString(user) {
		return false
	}
	return strings.IndexFunc(user, unicode.IsControl) < 0
}

const idBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-"

// ValidID reports whether a message id is 1 to MaxID of A-Z a-z 0-9 . _ : -.
func ValidID(id string) bool {
	return id != "" && len(id) <= MaxID && OnlyBytes(id, idBytes)
}

// OnlyBytes reports whether a text consists of allowed bytes.
func OnlyBytes(s, allowed string) bool {
	for i := range len(s) {
		if strings.IndexByte(allowed, s[i]) < 0 {
			return false
		}
	}
	return true
}

// CheckUser checks a user name. The error is an *InvalidError for the field
// "user".
func CheckUser(user string) error {
	if !ValidUser(user) {
		return &fault.InvalidError{
			Field: "user", Value: user,
			Want: fmt.Sprintf("1 to %d bytes of UTF-8 without control characters", MaxUser),
		}
	}
	return nil
}

// CheckID checks a message id. The error is an *InvalidError for the field "id".
func CheckID(id string) error {
	if !ValidID(id) {
		return &fault.InvalidError{
			Field: "id", Value: id,
			Want: fmt.Sprintf("1 to %d of A-Z a-z 0-9 . _ : -", MaxID),
		}
	}
	return nil
}

// CheckCategory checks the name of a category; "" means none. The error is an
// *InvalidError for the field "category".
func CheckCategory(name string) error {
	if name != "" && !ValidName(name) {
		return &fault.InvalidError{Field: "category", Value: name, Want: WantName}
	}
	return nil
}

// ValidCampaign reports whether the name of a campaign is 1 to 64 of a-z A-Z 0-9 . _ -.
func ValidCampaign(name string) bool {
	return name != "" && len(name) <= 64 && OnlyBytes(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
}

// CheckCampaign checks the name of a campaign; "" means none. The error is an
// *InvalidError for the field "campaign".
func CheckCampaign(name string) error {
	if name != "" && !ValidCampaign(name) {
		return &fault.InvalidError{Field: "campaign", Value: name, Want: WantCampaign}
	}
	return nil
}

// WantCampaign describes what ValidCampaign accepts.
const WantCampaign = "1 to 64 of a-z A-Z 0-9 . _ -"

// WantName describes what ValidName accepts.
const WantName = "a name of 1 to 64 of a-z 0-9 _ -"
