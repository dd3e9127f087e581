package sendlimit

import "fmt"

// searchCursor is how far a search for a free time has come that takes several
// calls. It holds for the settings of the user that it was made under: what was
// passed over may be free under others, so that a call under others begins anew.
type searchCursor struct {
	begin   any    // where the search begins, as the script is told it
	next    any    // where it goes on; nil before a call has said so
	version string // of the settings under which it has come there
	from    any    // where the last call began
}

// under returns where a call by these rules begins.
func (c *searchCursor) under(by userRules) any {
	c.from = c.begin
	if c.next != nil && c.version == by.version {
		c.from = c.next
	}
	return c.from
}

// anew reports whether the last call began where the search does.
func (c *searchCursor) anew() bool { return c.from == c.begin }

// goOn has the search go on where the last call, by these rules, has handed it
// back. A search that goes on where it was would not end: that is an ErrReply.
func (c *searchCursor) goOn(doing string, by userRules, next any) error {
	if next == c.from {
		return replyError(doing, fmt.Sprintf("it goes on where it was, at %v", next))
	}
	c.next, c.version = next, by.version
	return nil
}
