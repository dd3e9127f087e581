package messagefile

import (
	"encoding/hex"
	"fmt"

	"github.com/sendlimit/sendlimiter/message"
)

// autoID returns the id of a message that has none. It depends on the content and on how
// many equal messages came before in the file, so that the same file gives the same ids,
// whatever lines are in between. It never changes: files are run again after years, by
// newer programs.
func autoID(content lineKey, nth uint32) string {
	id := "auto-" + hex.EncodeToString(content[:])
	if nth > 1 {
		id += fmt.Sprintf("-%d", nth)
	}
	return id
}

// contentOf returns the same key for messages with the same content.
func contentOf(m message.Message) lineKey { return message.Fingerprint(m) }
