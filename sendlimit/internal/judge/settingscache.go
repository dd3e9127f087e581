package judge

import (
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// settingsCacheSize is the number of users whose settings are cached.
const settingsCacheSize = 65_536

// settingsCache caches the settings of users. Users without settings have no entry.
// A full cache forgets the least recently used entry, which costs one more call for
// that user's next message.
type settingsCache struct {
	users *lru.Cache[string, *cachedSettings]
	zones *calendar.ZoneTables
}

// cachedSettings has a user's settings, and the rules that the last rulebook made of
// them.
type cachedSettings struct {
	settings policy.UserSettings
	compiled atomic.Pointer[compiledSettings]
}

type compiledSettings struct {
	book  *Rulebook
	rules *Ruleset
}

func newSettingsCache(size int) *settingsCache {
	users, err := lru.New[string, *cachedSettings](size)
	if err != nil {
		panic(err) // only for a size that is not positive
	}
	return &settingsCache{users: users, zones: calendar.NewZoneTables()}
}
