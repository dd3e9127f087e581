package store

import (
	"fmt"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

// OlderZones says in a sentence that a program with a newer release of the time zones than this
// program's has used the store; "" if none has.
func OlderZones(newest string) string {
	if newest <= calendar.ZoneDataVersion {
		return ""
	}
	return fmt.Sprintf("a program with the time zones of %s uses the store, and this program has those of %s:"+
		" they may judge the same time differently; run one version everywhere", newest, calendar.ZoneDataVersion)
}
