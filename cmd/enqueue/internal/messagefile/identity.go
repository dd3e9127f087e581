package messagefile

import (
	"encoding/hex"
	"fmt"

	"github.com/sendlimit/sendlimiter/cmd/enqueue/internal/ordinal"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// autoID is the id of a message that has none: derived from what it says and
// from how many such messages came before it in the file, so that the same file
// gives the same ids, whatever other lines are in between. It is pinned for
// ever: files are run again after years, by newer programs.
func autoID(content ordinal.Key, nth uint32) string {
	id := "auto-" + hex.EncodeToString(content[:])
	if nth > 1 {
		id += fmt.Sprintf("-%d", nth)
	}
	return id
}

// contentOf is what messages have in common that say the same.
func contentOf(m message.Message) ordinal.Key { return message.Fingerprint(m) }
