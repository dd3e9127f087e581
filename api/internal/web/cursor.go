package web

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Cursor is where a page of a list ended. The zero value is the start of the list.
type Cursor struct {
	Milliseconds int64  `json:"t"` // Unix
	ID           string `json:"i"`
	User         string `json:"u,omitempty"` // only in lists with messages of several users
}

// String encodes the cursor. Callers need not know how.
func (c Cursor) String() string { return encodeCursor(c) }

func encodeCursor(c any) string {
	text, _ := json.Marshal(c) // can't fail for the types of cursors
	return base64.RawURLEncoding.EncodeToString(text)
}

// Time returns the time at which the page ended.
func (c Cursor) Time() time.Time { return time.UnixMilli(c.Milliseconds).UTC() }

// lastMillisecond is the end of the year 9999.
const lastMillisecond = 253402300799999

// Cursor returns the parameter cursor, or the zero value if it is not given. With users
// it must be a cursor of a list with messages of several users.
func (q Query) Cursor(users bool) (Cursor, error) {
	text, given := q["cursor"]
	if !given {
		return Cursor{}, nil
	}
	var c Cursor
	known := decodeCursor(text, &c) && c.Milliseconds > 0 && c.Milliseconds <= lastMillisecond && keyspace.ValidID(c.ID)
	if !known || users != keyspace.ValidUser(c.User) {
		return Cursor{}, UnknownCursor(text)
	}
	return c, nil
}

// nameCursor is where a page of a list by name ended.
type nameCursor struct {
	Name string `json:"n"`
}

// NameCursor encodes the name at which a page of a list by name ended. "" is the end of
// the list, which has no cursor.
func NameCursor(name string) string {
	if name == "" {
		return ""
	}
	return encodeCursor(nameCursor{name})
}

// NameCursor returns the name in the parameter cursor, or "" if it is not given.
func (q Query) NameCursor() (string, error) {
	text, given := q["cursor"]
	if !given {
		return "", nil
	}
	var c nameCursor
	if !decodeCursor(text, &c) || !keyspace.ValidName(c.Name) {
		return "", UnknownCursor(text)
	}
	return c.Name, nil
}

// userCursor is where a page of a list of users ended.
type userCursor struct {
	User string `json:"u"`
}

// UserCursor encodes the user at whom a page of a list of users ended. "" is the end of the
// list, which has no cursor.
func UserCursor(user string) string {
	if user == "" {
		return ""
	}
	return encodeCursor(userCursor{user})
}

// UserCursor returns the user in the parameter cursor, or "" if it is not given.
func (q Query) UserCursor() (string, error) {
	text, given := q["cursor"]
	if !given {
		return "", nil
	}
	var c userCursor
	if !decodeCursor(text, &c) || !keyspace.ValidUser(c.User) {
		return "", UnknownCursor(text)
	}
	return c.User, nil
}

// alertCursor is where a page of dead alerts ended.
type alertCursor struct {
	Milliseconds int64  `json:"t"` // Unix
	Alert        string `json:"a"`
}

// AlertCursor encodes the last dead alert of a page, by when it ended and its id.
func AlertCursor(ended time.Time, alert string) string {
	return encodeCursor(alertCursor{ended.UnixMilli(), alert})
}

// AlertCursor returns the alert in the parameter cursor, or "" if it is not given.
func (q Query) AlertCursor() (ended time.Time, alert string, err error) {
	text, given := q["cursor"]
	if !given {
		return time.Time{}, "", nil
	}
	var c alertCursor
	if !decodeCursor(text, &c) || c.Milliseconds <= 0 || c.Milliseconds > lastMillisecond || c.Alert == "" {
		return time.Time{}, "", UnknownCursor(text)
	}
	return time.UnixMilli(c.Milliseconds).UTC(), c.Alert, nil
}

func decodeCursor(text string, into any) bool {
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && json.Unmarshal(decoded, into) == nil
}

// UnknownCursor returns the error for a cursor that no page has.
func UnknownCursor(text string) error {
	return &fault.InvalidError{Field: "cursor", Value: text, Want: "the next_cursor of a page of the same list, as it is"}
}
