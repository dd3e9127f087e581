package message

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// The numbers of the fields of PushContent that are no text.
const (
	badgeField    = 17
	channelsField = 18
	toField       = 19
)

func (r *draftReader) readPushField(number int) bool {
	switch number {
	case badgeField:
		return r.readBadge()
	case channelsField:
		return r.readChannels()
	default:
		return r.readTarget()
	}
}

func (r *draftReader) readBadge() bool {
	value, err := r.in.ReadValue()
	if err != nil || value.Kind() != '0' {
		return false
	}
	number, err := strconv.Atoi(string(value))
	r.draft.Badge = &number
	return err == nil
}

// readChannels reads an object, and keeps its values as they are.
func (r *draftReader) readChannels() bool {
	if !r.skip('{') {
		return false
	}
	r.draft.Channels = make(map[string]json.RawMessage)
	for r.in.PeekKind() == '"' {
		name, err := r.readText()
		if err != nil {
			return false
		}
		value, err := r.in.ReadValue()
		// The decoder of a draft allows duplicate members.
		if _, twice := r.draft.Channels[name]; err != nil || twice || !value.IsValid() {
			return false
		}
		r.draft.Channels[name] = json.RawMessage(slices.Clone(value))
	}
	return r.skip('}')
}

// readTarget reads an object of texts. Null means absent.
func (r *draftReader) readTarget() bool {
	if !r.skip('{') {
		return false
	}
	r.draft.To = &Target{}
	var given []*string
	for r.in.PeekKind() == '"' {
		name, err := r.in.ReadValue()
		if err != nil {
			return false
		}
		into := r.draft.To.field(name)
		if into == nil || slices.Contains(given, into) {
			return false
		}
		given = append(given, into)
		if r.in.PeekKind() == 'n' {
			if !r.skip('n') {
				return false
			}
			continue
		}
		if *into, err = r.readText(); err != nil {
			return false
		}
	}
	return r.skip('}')
}

// field returns the target of a field's text; nil for an unknown name.
func (t *Target) field(name jsontext.Value) *string {
	switch string(name) {
	case `"channel"`:
		return &t.Channel
	case `"app"`:
		return &t.App
	case `"device"`:
		return &t.Device
	default:
		return nil
	}
}
