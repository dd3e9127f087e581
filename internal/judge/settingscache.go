package judge

import (
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// settingsCacheSize is the number of users whose settings are cached.
const settingsCacheSize = 65_536

// settingsCache caches the settings of users. Users without settings have no entry. A full cache
// forgets the least recently used entry, which costs one more call for that user's next message.
type settingsCache struct {
	users  *lru.Cache[string, *cachedSettings]
	shared *lru.Cache[sharedSettings, *Ruleset] // for users with the same settings
	zones  *calendar.ZoneTables
}

// sharedRulesets is the number of different settings whose rules are kept besides those of the
// cached users.
const sharedRulesets = 1024

// sharedSettings are settings with the same rules.
type sharedSettings struct {
	own *Ruleset // of the policy
	key string   // policy.UserSettings.RulesKey
}

// cachedSettings has a user's settings, and the rules that were last compiled from them.
type cachedSettings struct {
	settings policy.UserSettings
	compiled atomic.Pointer[compiledSettings]
}

type compiledSettings struct {
	own   *Ruleset // of the policy
	rules *Ruleset
}

func newSettingsCache(size int) *settingsCache {
	users, err := lru.New[string, *cachedSettings](size)
	if err != nil {
		panic(err) // only for a size that is not positive
	}
	shared, err := lru.New[sharedSettings, *Ruleset](sharedRulesets)
	if err != nil {
		panic(err) // the size is positive
	}
	return &settingsCache{users: users, shared: shared, zones: new(calendar.ZoneTables)}
}
