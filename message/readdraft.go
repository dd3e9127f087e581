package message

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// readDraft reads a correct draft in one pass over its text. It reports false for any text with a
// fault, and for a field name with escapes: decodeFaulty reads these.
func readDraft(text []byte) (Draft, bool) {
	in, _ := decoders.Get().(*jsontext.Decoder)
	// draftReader finds duplicate fields. The decoder would keep a list of all names.
	in.Reset(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	r := draftReader{in: in}
	ok := r.read()
	in.Reset(noText{}) // it must not keep the text
	decoders.Put(in)
	if !ok {
		return Draft{}, false
	}
	return r.draft, true
}

// decoders has unused decoders.
//
//nolint:globals // a pool has no visible state
var decoders = sync.Pool{New: func() any { return jsontext.NewDecoder(noText{}) }}

// noText is an empty text.
type noText struct{}

// Read implements io.Reader.
func (noText) Read([]byte) (int, error) { return 0, io.EOF }

type draftReader struct {
	in    *jsontext.Decoder
	draft Draft
	given [fieldCount]bool
}

// fieldCount is the number of fields of a draft.
const fieldCount = 21

func (r *draftReader) read() bool {
	if !r.skip('{') {
		return false
	}
	for r.in.PeekKind() == '"' {
		if !r.readField() {
			return false
		}
	}
	if !r.skip('}') {
		return false
	}
	_, err := r.in.ReadToken()
	return errors.Is(err, io.EOF)
}

// readField reads a field and its value. A null is an absent field.
func (r *draftReader) readField() bool {
	name, err := r.in.ReadValue()
	if err != nil {
		return false
	}
	number, into := r.field(name)
	if number < 0 || r.given[number] {
		return false
	}
	r.given[number] = true
	switch kind := r.in.PeekKind(); {
	case kind == 'n':
		return r.skip('n')
	case number == 9:
		return r.readTexts(&r.draft.Data)
	case number == 10:
		return r.readTexts(&r.draft.Metadata)
	case into == nil:
		return r.readPushField(number)
	default:
		*into, err = r.readText()
		// An empty id would mean a new id with each attempt.
		return err == nil && (*into != "" || into != &r.draft.ID)
	}
}

// field returns the number of a field and the target of its text, nil for a field that is no text.
// The number is negative for an unknown name.
func (r *draftReader) field(name []byte) (number int, into *string) {
	switch string(name) {
	case `"id"`:
		return 0, &r.draft.ID
	case `"user"`:
		return 1, &r.draft.User
	case `"send_at"`:
		return 2, &r.draft.SendAt
	case `"category"`:
		return 3, &r.draft.Category
	case `"title"`:
		return 4, &r.draft.Title
	case `"body"`:
		return 5, &r.draft.Body
	case `"expires_at"`:
		return 6, &r.draft.ExpiresAt
	case `"on_conflict"`:
		return 7, &r.draft.OnConflict
	case `"shift_until"`:
		return 8, &r.draft.ShiftUntil
	case `"data"`:
		return 9, nil
	case `"metadata"`:
		return 10, nil
	case `"campaign"`:
		return 11, &r.draft.Campaign
	case `"image"`:
		return 12, &r.draft.Image
	case `"click_url"`:
		return 13, &r.draft.ClickURL
	case `"sound"`:
		return 14, &r.draft.Sound
	case `"priority"`:
		return 15, &r.draft.Priority
	case `"collapse_key"`:
		return 16, &r.draft.CollapseKey
	case `"late"`:
		return 17, &r.draft.Late
	case `"badge"`:
		return badgeField, nil
	case `"channels"`:
		return channelsField, nil
	case `"to"`:
		return toField, nil
	default:
		return -1, nil
	}
}

func (r *draftReader) readTexts(into *map[string]string) bool {
	if !r.skip('{') {
		return false
	}
	for r.in.PeekKind() == '"' {
		key, err := r.readText()
		if err != nil {
			return false
		}
		value, err := r.readText()
		if _, twice := (*into)[key]; err != nil || twice {
			return false
		}
		if *into == nil {
			*into = make(map[string]string)
		}
		(*into)[key] = value
	}
	return r.skip('}')
}

var errNoText = errors.New("it is no text")

func (r *draftReader) readText() (string, error) {
	value, err := r.in.ReadValue()
	if err != nil {
		return "", err
	}
	if value.Kind() != '"' {
		return "", errNoText
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1]), nil
	}
	text, err := jsontext.AppendUnquote(nil, value)
	return string(text), err
}

// skip reads a token that has no value.
func (r *draftReader) skip(kind jsontext.Kind) bool {
	token, err := r.in.ReadToken()
	return err == nil && token.Kind() == kind
}
