package judge

import (
	"fmt"

	"github.com/sendlimit/sendlimiter/sendlimit/internal/script"
)

// searchCursor is how far a search for a free time has come that takes several
// calls. It holds for the settings of the user that it was made under: what was
// passed over may be free under others, so that a call under others begins anew.
type SearchCursor struct {
	Begin   any    // where the search begins, as the script is told it
	next    any    // where it goes on; nil before a call has said so
	version string // of the settings under which it has come there
	from    any    // where the last call began
}

// under returns where a call by these rules begins.
func (c *SearchCursor) Under(by UserRules) any {
	c.from = c.Begin
	if c.next != nil && c.version == by.Version {
		c.from = c.next
	}
	return c.from
}

// anew reports whether the last call began where the search does.
func (c *SearchCursor) Anew() bool { return c.from == c.Begin }

// goOn has the search go on where the last call, by these rules, has handed it
// back. A search that goes on where it was would not end: that is an ErrReply.
func (c *SearchCursor) GoOn(doing string, by UserRules, next any) error {
	if next == c.from {
		return script.ReplyError(doing, fmt.Sprintf("it goes on where it was, at %v", next))
	}
	c.next, c.version = next, by.Version
	return nil
}
