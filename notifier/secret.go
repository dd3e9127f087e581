package notifier

import (
	"encoding/base64"
	"strings"
	"unicode"
)

// WantSecrets describes the texts that ParseSecrets accepts.
const WantSecrets = "whsec_ followed by 24 to 64 bytes in base64, or two of these with a comma between them"

// ParseSecrets reads the signing secret of Standard Webhooks, or two separated by a comma or white
// space. "" is none. It reports whether the text is valid.
func ParseSecrets(text string) (secrets []string, valid bool) {
	secrets = strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	for _, secret := range secrets {
		encoded, ok := strings.CutPrefix(secret, "whsec_")
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil || len(key) < 24 || len(key) > 64 {
			return nil, false
		}
	}
	return secrets, len(secrets) <= 2 && (len(secrets) > 0 || text == "")
}
