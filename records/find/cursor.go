package find

import (
	"encoding/base64"
	"encoding/json"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// cursor is the end of a page, with its filter.
type cursor struct {
	place

	Filter int64 `json:"f"`
}

// cursorAt encodes the end of a page.
func (f Filter) cursorAt(p place) string {
	text, _ := json.Marshal(cursor{place: p, Filter: f.fingerprint()}) // can't fail for these types
	return base64.RawURLEncoding.EncodeToString(text)
}

// placeAt returns the beginning of a page; "" is the first one. The error is an *InvalidError.
func (f Filter) placeAt(text string, of lists) (place, error) {
	if text == "" {
		return place{}, nil
	}
	var c cursor
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(decoded, &c) != nil {
		return place{}, &fault.InvalidError{Field: "cursor", Value: text, Want: "the next_cursor of a page of the same list, as it is"}
	}
	if c.Filter != f.fingerprint() {
		return place{}, &fault.InvalidError{
			Field: "cursor", Value: text,
			Says: "the cursor is of a list with other filters: repeat those of the page that it came with, or leave the cursor out",
		}
	}
	_, _, ok := keyspace.ParseIndexMember(c.Member)
	inList := ok && c.Score >= of.first && c.Score <= of.last || c.Member == "" && c.Score == 0
	if c.List < 0 || c.List >= of.count() || !inList {
		return place{}, &fault.InvalidError{Field: "cursor", Value: text, Want: "the next_cursor of a page of the same list, as it is"}
	}
	return c.place, nil
}
