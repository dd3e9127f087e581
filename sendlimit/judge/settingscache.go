package judge

import (
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// SettingsCacheSize is of how many users a SettingsCache knows the settings.
const SettingsCacheSize = 65_536

// SettingsCache knows what is set for single users, so that a decision needs no
// look at it beforehand: the scripts say when something else is set by now. Of
// users for whom nothing is set it knows nothing, and of too many it forgets those
// who were not asked about for the longest time, which costs one more call for the
// next message. Timelines that follow one another on one store and prefix share
// one. It is safe for concurrent use.
type SettingsCache struct {
	users *lru.Cache[string, *cachedSettings]
	zones *calendar.ZoneTables
}

// cachedSettings are a user's settings, and what the rulebook that used them last
// has made of them.
type cachedSettings struct {
	settings policy.UserSettings
	compiled atomic.Pointer[compiledSettings]
}

type compiledSettings struct {
	book  *Rulebook
	rules *Ruleset
}

// NewSettingsCache returns a cache that knows nobody yet.
func NewSettingsCache() *SettingsCache { return newSettingsCache(SettingsCacheSize) }

func newSettingsCache(size int) *SettingsCache {
	users, err := lru.New[string, *cachedSettings](size)
	if err != nil {
		panic(err) // of a size that is not positive alone
	}
	return &SettingsCache{users: users, zones: calendar.NewZoneTables()}
}
