package web

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// A cursor is where a page of a list ended. The next request sends its String, which UnmarshalText
// reads. Its format is opaque to callers. The zero value is the start of the list; in an answer, it
// means that the list has ended.
type (
	// Cursor is for a list of a user's messages.
	Cursor struct {
		Milliseconds int64  `json:"t"` // Unix
		ID           string `json:"i"`
		User         string `json:"u,omitempty"`
		Before       int64  `json:"b,omitempty"` // Unix milliseconds: nothing that ended later belongs to the list
	}
	// UsersCursor is for a list of messages of several users.
	UsersCursor struct{ Cursor }
	// NameCursor is for a list by name.
	NameCursor string
	// UserCursor is for a list of users.
	UserCursor string
	// AlertCursor is for a list of dead alerts: when the last one ended, and its id.
	AlertCursor struct {
		Milliseconds int64  `json:"t"` // Unix
		Alert        string `json:"a"`
	}
)

// Time returns the time at which the page ended.
func (c Cursor) Time() time.Time { return time.UnixMilli(c.Milliseconds).UTC() }

// Time returns the time at which the last alert of the page ended; zero at the start.
func (c AlertCursor) Time() time.Time {
	if c.Milliseconds == 0 {
		return time.Time{}
	}
	return time.UnixMilli(c.Milliseconds).UTC()
}

// named and ofUser are the encoded forms of cursors of names and users.
type (
	named struct {
		Name string `json:"n"`
	}
	ofUser struct {
		User string `json:"u"`
	}
)

func (c Cursor) String() string      { return encoded(c, c == Cursor{}) }
func (c NameCursor) String() string  { return encoded(named{string(c)}, c == "") }
func (c UserCursor) String() string  { return encoded(ofUser{string(c)}, c == "") }
func (c AlertCursor) String() string { return encoded(c, c == AlertCursor{}) }

// UnmarshalText reads the cursor.
func (c *Cursor) UnmarshalText(text []byte) error {
	type plain Cursor
	return decoded(text, (*plain)(c), func() bool { return timely(c.Milliseconds) && keyspace.ValidID(c.ID) && c.User == "" })
}

// UnmarshalText reads the cursor.
func (c *UsersCursor) UnmarshalText(text []byte) error {
	type plain Cursor
	return decoded(text, (*plain)(&c.Cursor), func() bool { return timely(c.Milliseconds) && keyspace.ValidID(c.ID) && keyspace.ValidUser(c.User) })
}

// UnmarshalText reads the cursor.
func (c *NameCursor) UnmarshalText(text []byte) error {
	var of named
	err := decoded(text, &of, func() bool { return keyspace.ValidName(of.Name) })
	*c = NameCursor(of.Name)
	return err
}

// UnmarshalText reads the cursor.
func (c *UserCursor) UnmarshalText(text []byte) error {
	var of ofUser
	err := decoded(text, &of, func() bool { return keyspace.ValidUser(of.User) })
	*c = UserCursor(of.User)
	return err
}

// UnmarshalText reads the cursor.
func (c *AlertCursor) UnmarshalText(text []byte) error {
	type plain AlertCursor
	return decoded(text, (*plain)(c), func() bool { return timely(c.Milliseconds) && c.Alert != "" })
}

// timely reports whether a time is before the end of the year 9999.
func timely(milliseconds int64) bool { return milliseconds > 0 && milliseconds <= 253402300799999 }

func encoded(c any, none bool) string {
	if none {
		return ""
	}
	text, _ := json.Marshal(c) // can't fail for the types of cursors
	return base64.RawURLEncoding.EncodeToString(text)
}

// decoded decodes a text, and returns an error unless it is a valid cursor.
func decoded(text []byte, into any, valid func() bool) error {
	plain, err := base64.RawURLEncoding.DecodeString(string(text))
	if err != nil || json.Unmarshal(plain, into) != nil || !valid() {
		return UnknownCursor(string(text))
	}
	return nil
}

// UnknownCursor returns the error for an invalid cursor.
func UnknownCursor(text string) error {
	return &fault.InvalidError{Field: "cursor", Value: text, Want: "the next_cursor of a page of the same list, as it is"}
}
