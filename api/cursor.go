package api

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// cursor is where a page of a list ended. The zero value is the start.
type cursor struct {
	Milliseconds int64  `json:"t"` // Unix
	ID           string `json:"i"`
	User         string `json:"u,omitempty"` // of a list of several users' messages
}

// String spells the cursor for callers, who are not to read it.
func (c cursor) String() string {
	text, _ := json.Marshal(c) // of such a value it does not fail
	return base64.RawURLEncoding.EncodeToString(text)
}

func (c cursor) time() time.Time { return time.UnixMilli(c.Milliseconds).UTC() }

// lastMillisecond is that of the last year that has four digits.
const lastMillisecond = 253402300799999

// cursor reads the parameter; it is the zero value where it is not given. With
// users it is one of a list of several users' messages.
func (q query) cursor(users bool) (cursor, error) {
	text, given := q["cursor"]
	if !given {
		return cursor{}, nil
	}
	var c cursor
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(decoded, &c)
	}
	known := err == nil && c.Milliseconds > 0 && c.Milliseconds <= lastMillisecond && keyspace.ValidID(c.ID)
	if !known || users != keyspace.ValidUser(c.User) {
		return cursor{}, &fault.InvalidError{
			Field: "cursor", Value: text, Want: "the next_cursor of a page of the same list, as it is",
		}
	}
	return c, nil
}
