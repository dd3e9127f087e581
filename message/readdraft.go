package message

import (
	"bytes"

	"github.com/go-json-experiment/json"
)

// readDraft reads a correct draft. It reports false for any text with a fault, which decodeFaulty
// names.
func readDraft(text []byte) (d Draft, ok bool) {
	strict := json.RejectUnknownMembers(true)
	if json.Unmarshal(text, &d, strict) != nil || string(bytes.TrimSpace(text)) == "null" {
		return Draft{}, false
	}
	if len(d.Data) == 0 {
		d.Data = nil
	}
	if len(d.Metadata) == 0 {
		d.Metadata = nil
	}
	if bytes.Contains(text, []byte(`""`)) || bytes.Contains(text, []byte("null")) {
		var given struct { // with nil for null
			ID       *string            `json:"id"`
			Data     map[string]*string `json:"data"`
			Metadata map[string]*string `json:"metadata"`
		}
		if json.Unmarshal(text, &given) != nil || hasNull(given.Data) || hasNull(given.Metadata) {
			return Draft{}, false
		}
		// An empty id would mean a new id with each attempt.
		if given.ID != nil && *given.ID == "" {
			return Draft{}, false
		}
	}
	return d, true
}

func hasNull(texts map[string]*string) bool {
	for _, text := range texts {
		if text == nil {
			return true
		}
	}
	return false
}
