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
func (c Cursor) String() string {
	text, _ := json.Marshal(c) // can't fail for this type
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
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(decoded, &c)
	}
	known := err == nil && c.Milliseconds > 0 && c.Milliseconds <= lastMillisecond && keyspace.ValidID(c.ID)
	if !known || users != keyspace.ValidUser(c.User) {
		return Cursor{}, &fault.InvalidError{
			Field: "cursor", Value: text, Want: "the next_cursor of a page of the same list, as it is",
		}
	}
	return c, nil
}
