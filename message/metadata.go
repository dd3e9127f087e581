package message

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Bounds of the metadata of a message.
const (
	MaxMetadata      = 8   // entries
	MaxMetadataKey   = 64  // bytes of a key
	MaxMetadataBytes = 512 // of all keys and values together
)

// validateMetadata checks the metadata. Errors do not quote values, which may be private.
func (m Message) validateMetadata(wrong *fault.InvalidErrors) {
	if n := len(m.Metadata); n > MaxMetadata {
		wrong.Add(fault.Wrong("metadata", "metadata has %d entries: the limit is %d", n, MaxMetadata))
		return
	}
	size := 0
	for _, key := range sortedKeys(m.Metadata) {
		size += len(key) + len(m.Metadata[key])
		shown := strings.ToValidUTF8(fault.Clip(key), "�")
		switch {
		case key == "" || len(key) > MaxMetadataKey || !utf8.ValidString(key) || strings.IndexFunc(key, unicode.IsControl) >= 0:
			wrong.Add(fault.Wrong("metadata", "metadata has the key %q: a key is 1 to %d bytes of UTF-8 without control characters",
				shown, MaxMetadataKey))
			return
		case !utf8.ValidString(m.Metadata[key]):
			wrong.Add(fault.Wrong("metadata", "metadata %q is not valid UTF-8", shown))
			return
		}
	}
	if size > MaxMetadataBytes {
		wrong.Add(fault.Wrong("metadata", "the keys and values of metadata are %d bytes together: the limit is %d", size, MaxMetadataBytes))
	}
}

// EncodeMetadata encodes the metadata of a message for its record; nil for none.
func EncodeMetadata(metadata map[string]string) ([]byte, error) {
	if len(metadata) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(metadata)
	if err != nil {
		return nil, fmt.Errorf("metadata of a message: %w", err)
	}
	return text, nil
}

// DecodeMetadata decodes what EncodeMetadata returned. It returns nil for any other text, because
// metadata must not stop a message.
func DecodeMetadata(text []byte) map[string]string {
	var metadata map[string]string
	if len(text) == 0 || json.Unmarshal(text, &metadata) != nil {
		return nil
	}
	return metadata
}
