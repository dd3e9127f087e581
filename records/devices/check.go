package devices

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// The channels that deliver to devices.
const (
	FCM     = "fcm"
	APNs    = "apns"
	WebPush = "webpush"
)

// Bounds of the fields of a Device, in bytes. An account may register Most devices of one user.
const (
	MaxID      = 64
	MaxApp     = 64
	MaxLocale  = 35
	MaxAddress = 4096
	Most       = 100
)

// letters has the letter of each channel in a line. It is upper case for a suspect device.
var letters = map[string]string{FCM: "f", APNs: "a", WebPush: "w"} //nolint:globals // a constant table

// channels has the channel of each letter.
var channels = map[string]string{"f": FCM, "a": APNs, "w": WebPush} //nolint:globals // a constant table

const nameBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

// CheckID checks the id of a device. The error is an *InvalidError for the field "device".
func CheckID(id string) error {
	if id == "" || len(id) > MaxID || !keyspace.OnlyBytes(id, nameBytes) {
		return &fault.InvalidError{Field: "device", Value: id, Want: fmt.Sprintf("1 to %d of A-Z a-z 0-9 . _ -", MaxID)}
	}
	return nil
}

// Complete returns a device as Add stores it: with the canonical spelling of its address, and an
// id generated from account, channel and address if it has none. The error is an *InvalidError,
// which does not show the address.
func Complete(d Device) (Device, error) {
	address, err := canonical(d.Channel, d.Address)
	if err != nil {
		return Device{}, err
	}
	d.Address, d.Locale = address, languageTag(d.Locale)
	if d.ID == "" {
		d.ID = makeID(d)
	}
	return d, check(d)
}

// idChars is the length of a generated id: 60 bits of a hash, so two devices of a user never share one.
const idChars = 12

func makeID(d Device) string {
	hash := sha256.Sum256([]byte(strings.Join([]string{d.Account, d.Channel, d.Address}, " ")))
	return strings.ToLower(base32.HexEncoding.EncodeToString(hash[:8]))[:idChars]
}

// check checks every field but channel and address.
func check(d Device) error {
	if err := CheckID(d.ID); err != nil {
		return fault.InField(err, "id")
	}
	if len(d.App) > MaxApp || !keyspace.OnlyBytes(d.App, nameBytes) {
		return &fault.InvalidError{Field: "app", Value: d.App, Want: fmt.Sprintf("up to %d of A-Z a-z 0-9 . _ -", MaxApp)}
	}
	if d.Account != "" && !keyspace.ValidName(d.Account) {
		return &fault.InvalidError{Field: "account", Value: d.Account, Want: keyspace.WantName}
	}
	if !validLocale(d.Locale) {
		return &fault.InvalidError{
			Field: "locale", Value: d.Locale, Want: fmt.Sprintf("a language tag such as de or pt-BR, of at most %d characters", MaxLocale),
		}
	}
	return nil
}

// checkTime checks when a device was registered, which Add sets.
func checkTime(d Device) error {
	if d.RegisteredAt.Unix() < 0 || d.RegisteredAt.Unix() >= latest {
		return &fault.InvalidError{Field: "registered_at", Value: d.RegisteredAt.String(), Want: "a time from 1970 on"}
	}
	return nil
}

// languageTag returns a locale as a language tag: en_US.UTF-8 and en_US@euro become en-US.
func languageTag(locale string) string {
	if end := strings.IndexAny(locale, ".@"); end > 0 {
		locale = locale[:end]
	}
	return strings.ReplaceAll(locale, "_", "-")
}

// validLocale reports whether a locale has the shape of BCP 47: a language of 2 to 8 letters,
// and subtags of 1 to 8 letters and digits. "" is valid, too.
func validLocale(locale string) bool {
	if locale == "" {
		return true
	}
	language, rest, more := strings.Cut(locale, "-")
	if len(locale) > MaxLocale || len(language) < 2 || len(language) > 8 || !keyspace.OnlyBytes(language, nameBytes[:52]) {
		return false
	}
	if !more {
		return true
	}
	for subtag := range strings.SplitSeq(rest, "-") {
		if subtag == "" || len(subtag) > 8 || !keyspace.OnlyBytes(subtag, nameBytes[:62]) {
			return false
		}
	}
	return true
}
