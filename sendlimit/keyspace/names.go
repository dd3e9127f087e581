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

// MaxUser is the maximum length of a user name, MaxID of a message id, bytes.
const (
	MaxUser = 256
	MaxID   = 128
)

// ValidKey reports whether the key of a counter is 1 to MaxUser bytes of UTF-8 without control
// characters.
func ValidKey(key string) bool {
	if key == "" || len(key) > MaxUser || !utf8.ValidString(key) {
		return false
	}
	return strings.IndexFunc(key, unicode.IsControl) < 0
}

// WantKey describes valid keys, WantUser valid user names.
const (
	WantKey  = "1 to 256 bytes of UTF-8 without control characters"
	WantUser = "1 to 256 bytes of UTF-8 without control or invisible characters, and without a space at its ends"
)

// ValidUser reports whether a user name is 1 to MaxUser bytes of UTF-8 without control and
// invisible characters, and without a space at its ends. Otherwise two names that look the same
// could have separate limits.
func ValidUser(user string) bool {
	if user == "" || len(user) > MaxUser || user[0] == ' ' || user[len(user)-1] == ' ' {
		return false
	}
	return strings.IndexFunc(user, isHidden) < 0 && utf8.ValidString(user)
}

// isHidden reports whether a character is invisible or only space. The plain space is visible
// within a name.
func isHidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return unicode.IsControl(r) || unicode.IsSpace(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) ||
		unicode.Is(unicode.Variation_Selector, r) || r == '\u2800' || // the empty pattern of Braille
		unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// wrongUser returns the error for an invalid user name, which names the first invisible character.
func wrongUser(field, user string) *fault.InvalidError {
	wrong := &fault.InvalidError{Field: field, Value: user, Want: WantUser}
	for _, r := range user {
		if r > unicode.MaxASCII && isHidden(r) {
			return wrong.Noting(fmt.Sprintf("; it has U+%04X", r))
		}
	}
	return wrong
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

// CheckUser checks a user name. The error is an *InvalidError for the field "user".
func CheckUser(user string) error {
	if !ValidUser(user) {
		return wrongUser("user", user)
	}
	return nil
}

// CheckUserPrefix checks the beginning of a user name, which may end with a space. The error is an
// *InvalidError for the field "user_prefix".
func CheckUserPrefix(prefix string) error {
	if !ValidUser(strings.TrimSuffix(prefix, " ")) {
		return wrongUser("user_prefix", prefix)
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

// CheckCategory checks the name of a category; "" means none. The error is an *InvalidError for the
// field "category".
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

// CheckCampaign checks the name of a campaign; "" means none. The error is an *InvalidError for the
// field "campaign".
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
